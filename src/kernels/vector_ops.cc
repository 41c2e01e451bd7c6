#include "kernels/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/vector_ops.cc"
#include <hwy/foreach_target.h>
//
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/math.h"
#include "kernels/contract.h"
#include "kernels/lane16-inl.h"
#include "kernels/math-inl.h"
#include "kernels/simd.h"

#if SPINDRIFT_VECTOR_TARGET

HWY_BEFORE_NAMESPACE();
namespace spindrift::kernels::HWY_NAMESPACE {
namespace {

constexpr size_t kStep = static_cast<size_t>(kLanes);

HWY_INLINE Floats At(const float* p) { return hn::LoadU(FloatTag(), p); }
HWY_INLINE void Put(Floats v, float* p) { hn::StoreU(v, FloatTag(), p); }

// Lane16 sum of squares.
float SumOfSquares(std::span<const float> x) {
  Vec16 acc = Zero16();
  size_t i = 0;
  for (; i + 16 <= x.size(); i += 16) {
    const Vec16 v = Load16(x.data() + i);
    acc = Fma16(v, v, acc);
  }
  HWY_ALIGN float lanes[16];
  Store16(acc, lanes);
  for (size_t lane = 0; i < x.size(); ++i, ++lane) lanes[lane] = std::fma(x[i], x[i], lanes[lane]);
  return Fold16(Load16(lanes));
}

void RmsNorm(std::span<const float> x, std::span<const float> weight, float eps,
             std::span<float> y) {
  const float mean = SumOfSquares(x) / static_cast<float>(x.size());
  const float inverse = 1.0F / std::sqrt(mean + eps);
  const Floats factor = Splat(inverse);
  size_t i = 0;
  for (; i + kStep <= x.size(); i += kStep) {
    Put(hn::Mul(hn::Mul(At(x.data() + i), factor), At(weight.data() + i)), y.data() + i);
  }
  for (; i < x.size(); ++i) y[i] = x[i] * inverse * weight[i];
}

void LayerNorm(std::span<const float> x, std::span<const float> weight, std::span<const float> bias,
               float eps, std::span<float> y) {
  const auto size = static_cast<float>(x.size());
  HWY_ALIGN float lanes[16];
  Vec16 acc = Zero16();
  size_t i = 0;
  for (; i + 16 <= x.size(); i += 16) acc = Add16(acc, Load16(x.data() + i));
  Store16(acc, lanes);
  for (size_t lane = 0; i < x.size(); ++i, ++lane) lanes[lane] += x[i];
  const float mean = Fold16(Load16(lanes)) / size;

  const Floats shift = Splat(mean);
  acc = Zero16();
  i = 0;
  for (; i + 16 <= x.size(); i += 16) {
    Vec16 v = Load16(x.data() + i);
    for (Floats& part : v.v) part = hn::Sub(part, shift);
    acc = Fma16(v, v, acc);
  }
  Store16(acc, lanes);
  for (size_t lane = 0; i < x.size(); ++i, ++lane)
    lanes[lane] = std::fma(x[i] - mean, x[i] - mean, lanes[lane]);
  const float inverse = 1.0F / std::sqrt(Fold16(Load16(lanes)) / size + eps);

  const Floats factor = Splat(inverse);
  i = 0;
  for (; i + kStep <= x.size(); i += kStep) {
    const Floats normed = hn::Mul(hn::Sub(At(x.data() + i), shift), factor);
    Put(hn::Add(hn::Mul(normed, At(weight.data() + i)), At(bias.data() + i)), y.data() + i);
  }
  for (; i < x.size(); ++i) y[i] = (x[i] - mean) * inverse * weight[i] + bias[i];
}

void GeluAll(std::span<float> x) {
  size_t i = 0;
  for (; i + kStep <= x.size(); i += kStep) Put(Gelu(At(x.data() + i)), x.data() + i);
  for (; i < x.size(); ++i) x[i] = math::gelu(x[i]);
}

void GeluTanhAll(std::span<float> x) {
  size_t i = 0;
  for (; i + kStep <= x.size(); i += kStep) Put(GeluTanh(At(x.data() + i)), x.data() + i);
  for (; i < x.size(); ++i) x[i] = math::gelu_tanh(x[i]);
}

void Rope(std::span<float> head, std::span<const float> cos, std::span<const float> sin) {
  const size_t n = cos.size();
  float* first = head.data();
  float* second = head.data() + n;
  size_t i = 0;
  for (; i + kStep <= n; i += kStep) {
    const Floats a = At(first + i);
    const Floats b = At(second + i);
    const Floats c = At(cos.data() + i);
    const Floats s = At(sin.data() + i);
    Put(Fma(a, c, hn::Neg(hn::Mul(b, s))), first + i);
    Put(Fma(b, c, hn::Mul(a, s)), second + i);
  }
  for (; i < n; ++i) {
    const float a = first[i];
    const float b = second[i];
    first[i] = std::fma(a, cos[i], -(b * sin[i]));
    second[i] = std::fma(b, cos[i], a * sin[i]);
  }
}

void SiluMul(std::span<const float> gate, std::span<const float> up, std::span<float> out) {
  size_t i = 0;
  for (; i + kStep <= out.size(); i += kStep) {
    Put(hn::Mul(Silu(At(gate.data() + i)), At(up.data() + i)), out.data() + i);
  }
  for (; i < out.size(); ++i) out[i] = math::silu(gate[i]) * up[i];
}

HWY_INLINE void Scale(float* x, size_t count, float factor) {
  const Floats f = Splat(factor);
  size_t i = 0;
  for (; i + kStep <= count; i += kStep) Put(hn::Mul(At(x + i), f), x + i);
  for (; i < count; ++i) x[i] *= factor;
}

void SoftplusGate(std::span<const float> gate, std::span<float> x) {
  const size_t run = x.size() / gate.size();
  size_t g = 0;
  for (; g + kStep <= gate.size(); g += kStep) {
    const Floats factor = Softplus(At(gate.data() + g));
    if (run == 1) {
      Put(hn::Mul(At(x.data() + g), factor), x.data() + g);
      continue;
    }
    HWY_ALIGN float factors[kStep];
    Put(factor, factors);
    for (size_t i = 0; i < kStep; ++i) Scale(x.data() + (g + i) * run, run, factors[i]);
  }
  for (; g < gate.size(); ++g) Scale(x.data() + g * run, run, math::softplus(gate[g]));
}

void AddTo(std::span<float> x, std::span<const float> delta) {
  size_t i = 0;
  for (; i + kStep <= x.size(); i += kStep) {
    Put(hn::Add(At(x.data() + i), At(delta.data() + i)), x.data() + i);
  }
  for (; i < x.size(); ++i) x[i] += delta[i];
}

void WeightedSum(InRows rows, std::span<const float> weights, std::span<float> y) {
  size_t i = 0;
  for (; i + kStep <= y.size(); i += kStep) {
    Floats acc = Splat(0.0F);
    for (size_t r = 0; r < rows.size(); ++r) acc = Fma(Splat(weights[r]), At(rows[r] + i), acc);
    Put(acc, y.data() + i);
  }
  for (; i < y.size(); ++i) {
    float acc = 0.0F;
    for (size_t r = 0; r < rows.size(); ++r) acc = std::fma(weights[r], rows[r][i], acc);
    y[i] = acc;
  }
}

void ScaleAdd(std::span<float> x, float scale, std::span<const float> y) {
  const Floats factor = Splat(scale);
  size_t i = 0;
  for (; i + kStep <= x.size(); i += kStep) {
    Put(hn::Add(hn::Mul(At(x.data() + i), factor), At(y.data() + i)), x.data() + i);
  }
  for (; i < x.size(); ++i) x[i] = x[i] * scale + y[i];
}

void Softcap(float softcap, std::span<const float> logits, std::span<float> scores) {
  if (!(softcap > 0.0F)) {
    std::copy(logits.begin(), logits.end(), scores.begin());
    return;
  }
  const Floats cap = Splat(softcap);
  size_t i = 0;
  for (; i + kStep <= logits.size(); i += kStep) {
    Put(hn::Mul(cap, Tanh(hn::Div(At(logits.data() + i), cap))), scores.data() + i);
  }
  for (; i < logits.size(); ++i) scores[i] = softcap * math::tanh(logits[i] / softcap);
}

void Softmax(std::span<float> scores) {
  float top = -std::numeric_limits<float>::infinity();
  for (const float s : scores) top = s > top ? s : top;
  const Floats shift = Splat(top);
  Vec16 acc = Zero16();
  size_t i = 0;
  for (; i + 16 <= scores.size(); i += 16) {
    Vec16 e = Load16(scores.data() + i);
    for (Floats& v : e.v) v = Exp(hn::Sub(v, shift));
    Store16(e, scores.data() + i);
    acc = Add16(acc, e);
  }
  HWY_ALIGN float lanes[16];
  Store16(acc, lanes);
  for (size_t lane = 0; i < scores.size(); ++i, ++lane) {
    scores[i] = math::exp(scores[i] - top);
    lanes[lane] += scores[i];
  }
  const float sum = Fold16(Load16(lanes));
  const Floats divisor = Splat(sum);
  i = 0;
  for (; i + kStep <= scores.size(); i += kStep) {
    Put(hn::Div(At(scores.data() + i), divisor), scores.data() + i);
  }
  for (; i < scores.size(); ++i) scores[i] /= sum;
}

void RouterScores(ScoreFunc func, float softcap, std::span<const float> logits,
                  std::span<float> scores) {
  Softcap(softcap, logits, scores);
  size_t i = 0;
  switch (func) {
    case ScoreFunc::kSigmoid:
      for (; i + kStep <= scores.size(); i += kStep) {
        Put(Sigmoid(At(scores.data() + i)), scores.data() + i);
      }
      for (; i < scores.size(); ++i) scores[i] = math::sigmoid(scores[i]);
      break;
    case ScoreFunc::kSqrtSoftplus:
      for (; i + kStep <= scores.size(); i += kStep) {
        Put(SqrtSoftplus(At(scores.data() + i)), scores.data() + i);
      }
      for (; i < scores.size(); ++i) scores[i] = math::sqrt_softplus(scores[i]);
      break;
    case ScoreFunc::kSoftmax:
      Softmax(scores);
      break;
  }
}

}  // namespace

void FillVectorOps(Table& table) {
  table.target = hwy::TargetName(HWY_TARGET);
  table.rms_norm = RmsNorm;
  table.layer_norm = LayerNorm;
  table.gelu = GeluAll;
  table.gelu_tanh = GeluTanhAll;
  table.rope = Rope;
  table.silu_mul = SiluMul;
  table.softplus_gate = SoftplusGate;
  table.add = AddTo;
  table.weighted_sum = WeightedSum;
  table.scale_add = ScaleAdd;
  table.router_scores = RouterScores;
}

}  // namespace spindrift::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // SPINDRIFT_VECTOR_TARGET

#if HWY_ONCE
#include "kernels/dispatch-inl.h"

namespace spindrift::kernels {

void simd::fill_vector_ops(Isa isa, Table& table) { SPINDRIFT_FILL(FillVectorOps, isa, table); }

}  // namespace spindrift::kernels
#endif
