#include "engine/sampler.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <string>

#include "engine/fixed_math.h"
#include "engine/philox.h"

namespace spindrift {
namespace {

Error bad_parameter(const char* name, const char* expected, double found) {
  return Error{ErrorCode::kUsage, std::string("sampling parameter ") + name + ": expected " +
                                      expected + ", found " + std::to_string(found)};
}

bool finite(float x) { return (std::bit_cast<uint32_t>(x) & 0x7F800000U) != 0x7F800000U; }

Status check_finite(std::span<const float> logits, size_t position) {
  uint32_t bad = 0;
  for (const float l : logits) bad |= finite(l) ? 0U : 1U;
  if (bad == 0) return ok_status();
  const auto at = std::find_if(logits.begin(), logits.end(), [](float l) { return !finite(l); });
  return Error{ErrorCode::kCorrupt,
               "logits for position " + std::to_string(position) + ", token id " +
                   std::to_string(at - logits.begin()) + ": expected a finite number, found " +
                   (std::isnan(*at) ? "nan" : "infinity"),
               "a weight or scale of the model is damaged"};
}

// score = logits with the bias, and then the repetition penalty on every id of the history, each
// once.
void penalised_scores(std::span<const float> logits, const SamplingParams& p,
                      std::span<const TokenId> history, SamplerScratch& s) {
  s.score.assign(logits.begin(), logits.end());
  for (const LogitBias& b : p.bias)
    if (const auto id = static_cast<size_t>(b.id); id < s.score.size())
      s.score[id] += static_cast<double>(b.bias);
  const float penalty = p.repetition_penalty;
  if (penalty == 1.0F) return;
  if (s.stamp.size() != logits.size() || ++s.stamped == 0) {
    s.stamp.assign(logits.size(), 0);
    s.stamped = 1;
  }
  for (const TokenId token : history) {
    const auto id = static_cast<size_t>(token);
    if (s.stamp[id] == s.stamped) continue;
    s.stamp[id] = s.stamped;
    double& score = s.score[id];
    score = score > 0 ? score / static_cast<double>(penalty) : score * static_cast<double>(penalty);
  }
}

// Likelier first, then the lower id: a total order, so every cut below is unambiguous.
struct Likelier {
  const std::vector<double>& score;
  bool operator()(int32_t a, int32_t b) const {
    const double x = score[static_cast<size_t>(a)];
    const double y = score[static_cast<size_t>(b)];
    return x > y || (x == y && a < b);
  }
};

// Orders s.order so that its first `count` entries are the likeliest ids, in order.
void order_first(SamplerScratch& s, size_t count) {
  std::partial_sort(s.order.begin(), s.order.begin() + static_cast<ptrdiff_t>(count), s.order.end(),
                    Likelier{s.score});
}

// How many of the likeliest ids hold `mass` of the `among` likeliest; they end up ordered in front.
size_t nucleus(SamplerScratch& s, size_t among, double mass) {
  double total = 0;
  for (size_t i = 0; i < among; ++i) total += s.weight[static_cast<size_t>(s.order[i])];
  double sum = 0;
  size_t counted = 0;
  for (size_t sorted = std::min<size_t>(among, 256);; sorted = std::min(among, sorted * 16)) {
    order_first(s, sorted);
    for (; counted < sorted; ++counted) {
      sum += s.weight[static_cast<size_t>(s.order[counted])];
      if (sum >= mass * total) return counted + 1;
    }
    if (sorted == among) return among;
  }
}

// Leaves the ids that survive the filters in s.order, ascending.
void filter(const SamplingParams& p, SamplerScratch& s) {
  size_t kept = s.score.size();
  s.order.resize(kept);
  std::iota(s.order.begin(), s.order.end(), 0);
  if (p.top_k > 0 && static_cast<size_t>(p.top_k) < kept) {
    kept = static_cast<size_t>(p.top_k);
    order_first(s, kept);
    s.order.resize(kept);
  }
  if (p.top_p < 1.0F) s.order.resize(nucleus(s, kept, static_cast<double>(p.top_p)));
  if (p.min_p > 0.0F)
    std::erase_if(s.order, [&](int32_t id) {
      return s.weight[static_cast<size_t>(id)] < static_cast<double>(p.min_p);
    });
  std::sort(s.order.begin(), s.order.end());
}

// Inverse CDF over `count` ids given ascending by id_at(i): sums run in id order, so a filter that
// keeps everything changes nothing.
template <class IdAt>
TokenId draw(const std::vector<double>& weight, size_t count, const IdAt& id_at, double u) {
  double total = 0;
  for (size_t i = 0; i < count; ++i) total += weight[id_at(i)];
  const double target = u * total;
  double sum = 0;
  size_t last = id_at(0);
  for (size_t i = 0; i < count; ++i) {
    const double w = weight[id_at(i)];
    if (w == 0) continue;
    last = id_at(i);
    sum += w;
    if (sum > target) break;
  }
  return static_cast<TokenId>(last);
}

}  // namespace

Status validate(const SamplingParams& p) {
  if (!(p.temperature >= 0.0F) || !finite(p.temperature))
    return bad_parameter("temperature", "a finite number >= 0", static_cast<double>(p.temperature));
  if (p.top_k < 0) return bad_parameter("top_k", "a whole number >= 0", p.top_k);
  if (!(p.top_p >= 0.0F && p.top_p <= 1.0F))
    return bad_parameter("top_p", "a number from 0 to 1", static_cast<double>(p.top_p));
  if (!(p.min_p >= 0.0F && p.min_p <= 1.0F))
    return bad_parameter("min_p", "a number from 0 to 1", static_cast<double>(p.min_p));
  if (!(p.repetition_penalty > 0.0F) || !finite(p.repetition_penalty))
    return bad_parameter("repetition_penalty", "a finite number > 0",
                         static_cast<double>(p.repetition_penalty));
  for (const LogitBias& b : p.bias)
    if (!finite(b.bias))
      return bad_parameter("bias", "a finite number", static_cast<double>(b.bias));
  return ok_status();
}

Result<TokenId> sample(std::span<const float> logits, const SamplingParams& p,
                       std::span<const TokenId> history, SamplerScratch& s) {
  SPINDRIFT_CHECK(!logits.empty(), "a row of logits is not empty");
  SPINDRIFT_TRY_STATUS(check_finite(logits, history.size()));
  if (p.temperature == 0.0F && p.repetition_penalty == 1.0F && p.bias.empty())
    return static_cast<TokenId>(std::max_element(logits.begin(), logits.end()) - logits.begin());

  penalised_scores(logits, p, history, s);
  const auto best = std::max_element(s.score.begin(), s.score.end());
  if (p.temperature == 0.0F) return static_cast<TokenId>(best - s.score.begin());

  const double max = *best;
  const auto temperature = static_cast<double>(p.temperature);
  s.weight.resize(s.score.size());
  for (size_t i = 0; i < s.score.size(); ++i)
    s.weight[i] = fixed_exp((s.score[i] - max) / temperature);
  const double u = uniform(p.seed, p.stream, history.size());
  const bool filtered = p.top_k > 0 || p.top_p < 1.0F || p.min_p > 0.0F;
  if (!filtered)
    return draw(
        s.weight, s.weight.size(), [](size_t i) { return i; }, u);
  filter(p, s);
  return draw(
      s.weight, s.order.size(), [&](size_t i) { return static_cast<size_t>(s.order[i]); }, u);
}

Logprobs logprobs(std::span<const float> logits, TokenId chosen, int32_t top) {
  const auto max = static_cast<double>(*std::max_element(logits.begin(), logits.end()));
  double sum = 0;
  for (const float l : logits) sum += fixed_exp(static_cast<double>(l) - max);
  const double log_sum = fixed_log(sum);
  const auto of = [&](TokenId id) {
    return static_cast<float>((static_cast<double>(logits[static_cast<size_t>(id)]) - max) -
                              log_sum);
  };
  Logprobs out{.chosen = of(chosen), .top = {}};
  std::vector<TokenId> ids(logits.size());
  std::iota(ids.begin(), ids.end(), 0);
  const auto count = std::min<ptrdiff_t>(std::max(top, 0), static_cast<ptrdiff_t>(ids.size()));
  std::partial_sort(ids.begin(), ids.begin() + count, ids.end(), [&](TokenId a, TokenId b) {
    const float x = logits[static_cast<size_t>(a)];
    const float y = logits[static_cast<size_t>(b)];
    return x > y || (x == y && a < b);
  });
  for (ptrdiff_t i = 0; i < count; ++i) {
    const TokenId id = ids[static_cast<size_t>(i)];
    out.top.push_back({.id = id, .logprob = of(id)});
  }
  return out;
}

}  // namespace spindrift
