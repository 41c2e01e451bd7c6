#include "drafters/dflash/drafter.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/check.h"
#include "drafters/argmax.h"
#include "nn/parallel.h"

namespace spindrift::dflash {
namespace {

// Waiting rows that one pass takes along; after a long prefill the others go first, in passes of
// their own, so that scratch stays small.
constexpr int64_t kContextRows = 64;

State& as_state(DraftState& state) { return static_cast<State&>(state); }

}  // namespace

DFlashDrafter::DFlashDrafter(Config config, Weights weights, const TargetModel& target)
    : model_{.config = std::move(config), .weights = std::move(weights), .rope = {}},
      target_(target) {
  model_.rope = nn::Rope::plain(model_.config.rope_theta, model_.config.head_dim);
  for (const int layer : model_.config.target_layer_ids) {
    taps_.push_back({.kind = Tap::Kind::kAfterLayer, .layer = layer});
  }
}

std::unique_ptr<DraftState> DFlashDrafter::open() const {
  return std::make_unique<State>(model_.config);
}

Position DFlashDrafter::first_seen(Position next) const {
  return State::first_needed(model_.config, next);
}

int64_t DFlashDrafter::block_rows(const DraftCall& call) const {
  const int masks = std::min({call.max_nodes, call.max_depth, max_nodes()});
  return masks > 0 ? 1 + masks : 0;
}

void DFlashDrafter::norm_taps(std::span<const ConstRows> taps, Rows out, const Exec& ex) const {
  const int64_t hidden = model_.config.hidden;
  SPINDRIFT_CHECK(std::ssize(taps) == model_.config.taps(), "one matrix of rows for each tap");
  for (size_t t = 0; t < taps.size(); ++t) {
    const Rows columns = out.columns(static_cast<int64_t>(t) * hidden, hidden);
    model_.weights.aux_norms[t].apply(taps[t], columns, ex);
  }
}

void DFlashDrafter::observe(DraftState& state, const Accepted& rows, Workspace& /*ws*/,
                            const Exec& ex) const {
  State& s = as_state(state);
  SPINDRIFT_CHECK(rows.first == s.observed(), "rows are observed without gaps");
  const int64_t count = std::ssize(rows.tokens);
  const Rows waiting = s.add_pending(rows.first + count);
  if (waiting.rows() == 0) return;
  std::vector<ConstRows> newest;
  for (const ConstRows& tap : rows.taps) {
    SPINDRIFT_CHECK(tap.rows() == count, "a tap row for each token");
    newest.push_back(tap.slice(count - waiting.rows(), waiting.rows()));
  }
  norm_taps(newest, waiting, ex);
}

ConstRows DFlashDrafter::context_rows(std::span<const ConstRows> taps, Workspace& ws,
                                      const Exec& ex) const {
  const int64_t rows = taps.empty() ? 0 : taps.front().rows();
  const Rows normed = ws.rows(kTapsSlot, rows, model_.config.taps() * model_.config.hidden);
  norm_taps(taps, normed, ex);
  std::vector<const float*> pointers;
  for (int64_t r = 0; r < rows; ++r) pointers.push_back(normed.row(r).data());
  const Rows out = ws.rows(kRowsSlot, rows, model_.config.hidden);
  project_taps(model_, pointers, out, ex);
  return out;
}

void DFlashDrafter::fill_context(std::span<const Part> parts, Rows x, const Exec& ex) const {
  std::vector<const float*> normed_taps;
  for (const Part& part : parts) part.state->append_pending(part.context, normed_taps);
  project_taps(model_, normed_taps, x.slice(0, std::ssize(normed_taps)), ex);
}

void DFlashDrafter::catch_up(State& state, Workspace& ws, const Exec& ex) const {
  state.drop_unseen();
  while (state.observed() - state.projected() > kContextRows) {
    const Part part{.state = &state, .context = kContextRows, .block = 0};
    const Rows x = ws.rows(kRowsSlot, part.context, model_.config.hidden);
    fill_context(std::span(&part, 1), x, ex);
    run_pass(model_, std::span(&part, 1), x, ws, ex);
  }
}

ConstRows DFlashDrafter::block_hidden(std::span<const DraftCall> calls, Workspace& ws,
                                      const Exec& ex) const {
  std::vector<Part> parts;
  std::vector<TokenId> ids;
  int64_t context = 0;
  for (const DraftCall& call : calls) {
    const int64_t rows = block_rows(call);
    if (rows == 0) continue;
    State& state = as_state(*call.state);
    catch_up(state, ws, ex);
    parts.push_back({&state, state.observed() - state.projected(), rows});
    context += parts.back().context;
    ids.push_back(call.bonus);
    ids.insert(ids.end(), static_cast<size_t>(rows - 1), model_.config.mask_token);
  }
  const Rows x = ws.rows(kRowsSlot, context + std::ssize(ids), model_.config.hidden);
  const Rows block = x.slice(context, std::ssize(ids));
  if (parts.empty()) return block;
  fill_context(parts, x, ex);
  target_.embed(ids, block);
  run_pass(model_, parts, x, ws, ex);
  return block;
}

void DFlashDrafter::propose(std::span<const DraftCall> calls, Workspace& ws,
                            const Exec& given) const {
  const Exec ex = given.drafting();
  const ConstRows hidden = block_hidden(calls, ws, ex);
  int64_t drafted = 0;
  for (const DraftCall& call : calls) {
    call.out->clear();
    drafted += std::max<int64_t>(0, block_rows(call) - 1);
  }
  if (drafted == 0) return;
  const Rows rows = ws.rows(kDraftedSlot, drafted, model_.config.hidden);
  int64_t from = 0, to = 0;
  for (const DraftCall& call : calls) {
    const int64_t block = block_rows(call);
    for (int64_t i = 1; i < block; ++i) {  // row 0, the bonus token's own, drafts nothing
      std::ranges::copy(hidden.row(from + i), rows.row(to++).begin());
    }
    from += block;
  }
  const Rows logits = ws.rows(kLogitsSlot, drafted, model_.config.vocab);
  target_.lm_head(rows, logits, ex);
  std::vector<TokenId> best(static_cast<size_t>(drafted));
  nn::for_rows(ex, drafted, logits.cols(), [&](int64_t first, int64_t last) {
    for (int64_t r = first; r < last; ++r) best[static_cast<size_t>(r)] = argmax(logits.row(r));
  });
  auto next = best.begin();
  for (const DraftCall& call : calls) {
    for (int64_t i = 1; i < block_rows(call); ++i) {
      call.out->parents.push_back(static_cast<RowIndex>(i) - 2);
      call.out->tokens.push_back(*next++);
    }
  }
}

}  // namespace spindrift::dflash
