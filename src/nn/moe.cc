#include "nn/moe.h"

#include <algorithm>
#include <limits>

#include "core/aligned.h"
#include "core/check.h"
#include "nn/parallel.h"

namespace spindrift::nn {
namespace {

// Rows that run together: enough that products are bound by arithmetic, few enough that the
// scratch of a long prompt stays small.
constexpr int64_t kMaxRows = 256;

using InPtr = const float*;
using OutPtr = float*;

// Grow-only storage with undefined contents.
class Floats {
 public:
  Rows rows(int64_t rows, int64_t cols) {
    const int64_t stride = padded_columns(cols);
    const auto needed = static_cast<size_t>(rows * stride);
    if (values_.size() < needed) values_.resize(needed);
    return {values_.data(), rows, cols, stride};
  }

 private:
  AlignedFloats values_;
};

}  // namespace

// A slot is one (row, chosen expert) pair; slots are sorted by expert, and by row inside an expert.
struct MoeScratch::State {
  Floats logits, gate, up, routed, shared_gate, shared_up, shared;
  std::vector<float> scores;
  std::vector<Choice> choices;      // [rows, top_k]
  std::vector<float> weights;       // [rows, top_k]
  std::vector<int32_t> slot_begin;  // [experts + 1]
  std::vector<int32_t> next_slot;   // [experts]
  std::vector<InPtr> x, act, shared_x, shared_act, ranked;
  std::vector<OutPtr> gate_out, up_out, down_out, shared_gate_out, shared_up_out, shared_out;
  std::vector<LinearCall> calls;

  void route(const Moe& layer, ConstRows rows, const Exec& ex);
  void assign_slots(const Moe& layer, ConstRows rows);
  void run_experts(const Moe& layer, const Exec& ex);
  void combine(const Moe& layer, Rows y, const Exec& ex);
};

MoeScratch::MoeScratch() : state_(std::make_unique<State>()) {}
MoeScratch::~MoeScratch() = default;
MoeScratch::MoeScratch(MoeScratch&&) noexcept = default;
MoeScratch& MoeScratch::operator=(MoeScratch&&) noexcept = default;

void select_experts(const RouterRule& rule, std::span<const float> scores,
                    std::span<const float> bias, std::span<Choice> chosen) {
  const auto taken = [&](size_t rank, size_t expert) {
    for (size_t r = 0; r < rank; ++r)
      if (chosen[r].expert == static_cast<int32_t>(expert)) return true;
    return false;
  };
  float sum = 0.0F;
  for (size_t rank = 0; rank < chosen.size(); ++rank) {
    size_t best = scores.size();
    float best_score = -std::numeric_limits<float>::infinity();
    for (size_t e = 0; e < scores.size(); ++e) {
      const float score = bias.empty() ? scores[e] : scores[e] + bias[e];
      if ((best == scores.size() || score > best_score) && score >= best_score && !taken(rank, e)) {
        best = e;
        best_score = score;
      }
    }
    for (size_t e = 0; best == scores.size(); ++e)  // only NaN is left: lowest id first
      if (!taken(rank, e)) best = e;
    chosen[rank] = {static_cast<int32_t>(best), scores[best]};
    sum += scores[best];
  }
  if (!rule.renormalize) return;
  for (Choice& choice : chosen) choice.weight /= sum;
}

void MoeScratch::State::route(const Moe& layer, ConstRows rows, const Exec& ex) {
  const auto experts = static_cast<int64_t>(layer.experts.size());
  const auto k = static_cast<size_t>(layer.rule.top_k);
  const Rows z = logits.rows(rows.rows(), experts);
  nn::apply(*layer.router, rows, z, ex);
  scores.resize(static_cast<size_t>(experts));
  choices.resize(static_cast<size_t>(rows.rows()) * k);
  weights.resize(choices.size());
  for (int64_t r = 0; r < rows.rows(); ++r) {
    ex.kernels->router_scores(layer.rule.score, layer.rule.softcap, z.row(r), scores);
    const auto chosen = std::span(choices).subspan(static_cast<size_t>(r) * k, k);
    select_experts(layer.rule, scores, layer.bias, chosen);
    for (size_t i = 0; i < k; ++i) weights[static_cast<size_t>(r) * k + i] = chosen[i].weight;
  }
}

void MoeScratch::State::assign_slots(const Moe& layer, ConstRows rows) {
  const size_t experts = layer.experts.size(), slots = choices.size();
  const auto k = static_cast<size_t>(layer.rule.top_k);
  const int64_t inner = layer.experts.front().inner();
  slot_begin.assign(experts + 1, 0);
  for (const Choice& choice : choices) ++slot_begin[static_cast<size_t>(choice.expert) + 1];
  for (size_t e = 0; e < experts; ++e) slot_begin[e + 1] += slot_begin[e];
  next_slot.assign(slot_begin.begin(), slot_begin.end() - 1);

  const Rows g = gate.rows(static_cast<int64_t>(slots), inner);
  const Rows u = up.rows(static_cast<int64_t>(slots), inner);
  const Rows d = routed.rows(static_cast<int64_t>(slots), rows.cols());  // by row and rank
  x.resize(slots);
  act.resize(slots);
  gate_out.resize(slots);
  up_out.resize(slots);
  down_out.resize(slots);
  for (size_t i = 0; i < slots; ++i) {
    const auto slot = static_cast<size_t>(next_slot[static_cast<size_t>(choices[i].expert)]++);
    x[slot] = rows.row(static_cast<int64_t>(i / k)).data();
    act[slot] = gate_out[slot] = g.row(static_cast<int64_t>(slot)).data();
    up_out[slot] = u.row(static_cast<int64_t>(slot)).data();
    down_out[slot] = d.row(static_cast<int64_t>(i)).data();
  }
  ranked.resize(slots);
  for (size_t i = 0; i < slots; ++i) ranked[i] = d.row(static_cast<int64_t>(i)).data();

  if (!layer.shared) return;
  const auto count = static_cast<size_t>(rows.rows());
  const Rows sg = shared_gate.rows(rows.rows(), layer.shared->inner());
  const Rows su = shared_up.rows(rows.rows(), layer.shared->inner());
  const Rows sd = shared.rows(rows.rows(), rows.cols());
  shared_x.resize(count);
  shared_act.resize(count);
  shared_gate_out.resize(count);
  shared_up_out.resize(count);
  shared_out.resize(count);
  for (size_t r = 0; r < count; ++r) {
    const auto row = static_cast<int64_t>(r);
    shared_x[r] = rows.row(row).data();
    shared_act[r] = shared_gate_out[r] = sg.row(row).data();
    shared_up_out[r] = su.row(row).data();
    shared_out[r] = sd.row(row).data();
  }
}

void MoeScratch::State::run_experts(const Moe& layer, const Exec& ex) {
  const auto for_active = [&](auto&& fn) {
    for (size_t e = 0; e < layer.experts.size(); ++e) {
      const auto begin = static_cast<size_t>(slot_begin[e]);
      const auto count = static_cast<size_t>(slot_begin[e + 1]) - begin;
      if (count > 0) fn(layer.experts[e], begin, count);
    }
  };
  calls.clear();
  for_active([&](const SwiGlu& expert, size_t begin, size_t count) {
    const auto in = std::span(x).subspan(begin, count);
    calls.push_back({expert.gate.get(), in, std::span(gate_out).subspan(begin, count)});
    calls.push_back({expert.up.get(), in, std::span(up_out).subspan(begin, count)});
  });
  if (layer.shared) {
    calls.push_back({layer.shared->gate.get(), shared_x, shared_gate_out});
    calls.push_back({layer.shared->up.get(), shared_x, shared_up_out});
  }
  nn::apply(calls, ex);

  const auto slots = static_cast<int64_t>(choices.size());
  silu_mul(gate.rows(slots, layer.experts.front().inner()),
           up.rows(slots, layer.experts.front().inner()), ex);
  if (layer.shared) {
    const auto rows = static_cast<int64_t>(shared_x.size());
    silu_mul(shared_gate.rows(rows, layer.shared->inner()),
             shared_up.rows(rows, layer.shared->inner()), ex);
  }

  calls.clear();
  for_active([&](const SwiGlu& expert, size_t begin, size_t count) {
    calls.push_back({expert.down.get(), std::span(act).subspan(begin, count),
                     std::span(down_out).subspan(begin, count)});
  });
  if (layer.shared) calls.push_back({layer.shared->down.get(), shared_act, shared_out});
  nn::apply(calls, ex);
}

void MoeScratch::State::combine(const Moe& layer, Rows y, const Exec& ex) {
  const auto k = static_cast<size_t>(layer.rule.top_k);
  const std::vector<float> none(layer.shared ? 0 : static_cast<size_t>(y.cols()), 0.0F);
  for_rows(ex, y.rows(), y.cols() * (layer.rule.top_k + 2), [&](int64_t first, int64_t last) {
    for (int64_t r = first; r < last; ++r) {
      const size_t at = static_cast<size_t>(r) * k;
      ex.kernels->weighted_sum(std::span(ranked).subspan(at, k),
                               std::span<const float>(weights).subspan(at, k), y.row(r));
      const std::span<const float> plus =
          layer.shared ? std::span<const float>(shared_out[static_cast<size_t>(r)],
                                                static_cast<size_t>(y.cols()))
                       : std::span<const float>(none);
      ex.kernels->scale_add(y.row(r), layer.rule.routed_scale, plus);
    }
  });
}

void moe(const Moe& layer, ConstRows x, Rows y, MoeScratch& scratch, const Exec& ex) {
  SPINDRIFT_CHECK(
      layer.rule.top_k >= 1 && layer.rule.top_k <= static_cast<int64_t>(layer.experts.size()),
      "a row chooses among the experts there are");
  SPINDRIFT_CHECK(x.rows() == y.rows() && x.cols() == y.cols(), "same shape");
  MoeScratch::State& s = *scratch.state_;
  for (int64_t first = 0; first < x.rows(); first += kMaxRows) {
    const int64_t rows = std::min(kMaxRows, x.rows() - first);
    s.route(layer, x.slice(first, rows), ex);
    s.assign_slots(layer, x.slice(first, rows));
    s.run_experts(layer, ex);
    s.combine(layer, y.slice(first, rows), ex);
  }
}

}  // namespace spindrift::nn
