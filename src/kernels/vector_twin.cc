#include <cmath>
#include <limits>

#include "core/math.h"
#include "kernels/lane16.h"
#include "kernels/twins.h"

namespace spindrift::kernels::twin {

void rms_norm(std::span<const float> x, std::span<const float> weight, float eps,
              std::span<float> y) {
  Lane16 acc{};
  lane16_accumulate(
      x.data(), static_cast<int64_t>(x.size()),
      [&](int64_t k) { return x[static_cast<size_t>(k)]; }, acc);
  const float mean = lane16_fold(acc) / static_cast<float>(x.size());
  const float inverse = 1.0F / std::sqrt(mean + eps);
  for (size_t i = 0; i < x.size(); ++i) y[i] = x[i] * inverse * weight[i];
}

void layer_norm(std::span<const float> x, std::span<const float> weight,
                std::span<const float> bias, float eps, std::span<float> y) {
  const auto size = static_cast<float>(x.size());
  Lane16 sum{};
  for (size_t i = 0; i < x.size(); ++i) sum[i % 16] += x[i];
  const float mean = lane16_fold(sum) / size;
  Lane16 squares{};
  for (size_t i = 0; i < x.size(); ++i)
    squares[i % 16] = std::fma(x[i] - mean, x[i] - mean, squares[i % 16]);
  const float inverse = 1.0F / std::sqrt(lane16_fold(squares) / size + eps);
  for (size_t i = 0; i < x.size(); ++i) y[i] = (x[i] - mean) * inverse * weight[i] + bias[i];
}

void gelu(std::span<float> x) {
  for (float& v : x) v = math::gelu(v);
}

void gelu_tanh(std::span<float> x) {
  for (float& v : x) v = math::gelu_tanh(v);
}

void rope(std::span<float> head, std::span<const float> cos, std::span<const float> sin) {
  const size_t n = cos.size();
  for (size_t i = 0; i < n; ++i) {
    const float a = head[i];
    const float b = head[i + n];
    head[i] = std::fma(a, cos[i], -(b * sin[i]));
    head[i + n] = std::fma(b, cos[i], a * sin[i]);
  }
}

void silu_mul(std::span<const float> gate, std::span<const float> up, std::span<float> out) {
  for (size_t i = 0; i < out.size(); ++i) out[i] = math::silu(gate[i]) * up[i];
}

void softplus_gate(std::span<const float> gate, std::span<float> x) {
  const size_t run = x.size() / gate.size();
  for (size_t i = 0; i < x.size(); ++i) x[i] *= math::softplus(gate[i / run]);
}

void add(std::span<float> x, std::span<const float> delta) {
  for (size_t i = 0; i < x.size(); ++i) x[i] += delta[i];
}

void weighted_sum(InRows rows, std::span<const float> weights, std::span<float> y) {
  for (size_t i = 0; i < y.size(); ++i) {
    float acc = 0.0F;
    for (size_t r = 0; r < rows.size(); ++r) acc = std::fma(weights[r], rows[r][i], acc);
    y[i] = acc;
  }
}

void scale_add(std::span<float> x, float scale, std::span<const float> y) {
  for (size_t i = 0; i < x.size(); ++i) x[i] = x[i] * scale + y[i];
}

void router_scores(ScoreFunc func, float softcap, std::span<const float> logits,
                   std::span<float> scores) {
  for (size_t i = 0; i < logits.size(); ++i) {
    const float z = logits[i];
    scores[i] = softcap > 0.0F ? softcap * math::tanh(z / softcap) : z;
  }
  switch (func) {
    case ScoreFunc::kSigmoid:
      for (float& s : scores) s = math::sigmoid(s);
      break;
    case ScoreFunc::kSqrtSoftplus:
      for (float& s : scores) s = math::sqrt_softplus(s);
      break;
    case ScoreFunc::kSoftmax: {
      float top = -std::numeric_limits<float>::infinity();
      for (const float s : scores) top = s > top ? s : top;
      Lane16 acc{};
      for (size_t i = 0; i < scores.size(); ++i) {
        scores[i] = math::exp(scores[i] - top);
        acc[i % 16] += scores[i];
      }
      const float sum = lane16_fold(acc);
      for (float& s : scores) s /= sum;
      break;
    }
  }
}

}  // namespace spindrift::kernels::twin
