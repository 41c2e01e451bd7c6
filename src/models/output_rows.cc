#include "models/output_rows.h"

#include <algorithm>

namespace spindrift {
namespace {

void copy(ConstRows from, Rows to) {
  for (int64_t r = 0; r < from.rows(); ++r)
    std::copy_n(from.row(r).data(), from.cols(), to.row(r).data());
}

}  // namespace

OutputRows::OutputRows(const BatchLayout& batch, const ForwardOptions& options, int64_t hidden,
                       Workspace& ws, size_t first_slot)
    : batch_(batch), options_(options), ws_(ws), first_slot_(first_slot) {
  const auto taps = static_cast<int64_t>(options.taps.size());
  taps_ = ws.rows(first_slot + kTaps, taps * batch.rows(), hidden);
}

void OutputRows::record(Tap tap, ConstRows state) {
  for (size_t t = 0; t < options_.taps.size(); ++t)
    if (options_.taps[t] == tap)
      copy(state, taps_.slice(static_cast<int64_t>(t) * batch_.rows(), batch_.rows()));
}

ForwardResult OutputRows::finish(const TargetModel& model, const std::function<void(Rows)>& norm,
                                 ConstRows state, const Exec& ex) {
  const int64_t R = batch_.rows(), H = state.cols(), V = model.info().vocab;
  const std::span<const int64_t> asked = batch_.logit_rows();
  const auto L = static_cast<int64_t>(asked.size());
  const Rows last = ws_.rows(first_slot_ + kLast, L, H);      // [L, H]
  const Rows logits = ws_.rows(first_slot_ + kLogits, L, V);  // [L, V]
  for (int64_t l = 0; l < L; ++l)
    copy(state.slice(asked[static_cast<size_t>(l)], 1), last.slice(l, 1));
  norm(last);
  const bool norm_all = std::any_of(options_.taps.begin(), options_.taps.end(), [](const Tap& tap) {
    return tap.kind == Tap::Kind::kFinalNorm;
  });
  if (norm_all) {
    const Rows normed = ws_.rows(first_slot_ + kNormed, R, H);  // [R, H]
    copy(state, normed);
    norm(normed);
    record({Tap::Kind::kFinalNorm, 0}, normed);
  }
  model.lm_head(last, logits, ex);
  ws_.tap_views.clear();
  for (size_t t = 0; t < options_.taps.size(); ++t)
    ws_.tap_views.push_back(taps_.slice(static_cast<int64_t>(t) * R, R));
  return {.logits = logits, .taps = ws_.tap_views};
}

}  // namespace spindrift
