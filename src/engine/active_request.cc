#include "engine/active_request.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/check.h"

namespace spindrift {
namespace {

int64_t room(const Request& request, Position context) {
  const int64_t left = context - std::ssize(request.prompt);
  return std::min(left, request.stop.max_new_tokens.value_or(left));
}

bool wants_draft(const DraftWidth& width, const Drafter* drafter) {
  return drafter != nullptr && drafter->max_nodes() > 0 && width.mode != DraftWidth::Mode::kOff &&
         !(width.mode == DraftWidth::Mode::kFixed && width.tokens == 0);
}

DraftLimits limits_of(const Drafter& drafter) {
  return {.nodes = drafter.max_nodes(), .depth = drafter.max_depth()};
}

bool is_prefix_of_rows(std::span<const RowIndex> path) {
  for (size_t i = 0; i < path.size(); ++i)
    if (path[i] != static_cast<RowIndex>(i)) return false;
  return true;
}

}  // namespace

Engine::Active::Active(RequestId id, Request request, const TargetModel& target,
                       const Drafter* drafter, PrefixCache* prefixes, Position context)
    : id_(id),
      request_(std::move(request)),
      conversation_(std::move(request_.conversation)),
      lease_(prefixes, drafter),
      gives_conversation_(prefixes == nullptr),
      prompt_size_(std::ssize(request_.prompt)),
      history_(request_.prompt),
      stop_(request_.stop, room(request_, context), std::move(request_.text)),
      drafting_(wants_draft(request_.draft, drafter)),
      drafts_(request_.draft, drafting_ ? limits_of(*drafter) : DraftLimits{}) {
  if (conversation_ == nullptr || prefixes != nullptr)
    conversation_ = std::make_unique<Conversation>(target, drafter);
  stats_.prompt_tokens = prompt_size_;
}

bool Engine::Active::cancelled() const {
  return cancelled_ ||
         (request_.cancelled != nullptr && request_.cancelled->load(std::memory_order_relaxed));
}

void Engine::Active::start(Workspace& ws, const Exec& ex) {
  if (!started()) started_ = Clock::now();
  conversation_->reuse(history_, drafting_);
  lease_.begin(*conversation_, history_, drafting_, ws, ex);
  drafted_at_ = committed();
  count_reused(0);
}

void Engine::Active::catch_up(Workspace& ws, const Exec& ex) {
  const Position before = committed();
  lease_.extend(*conversation_, history_, drafting_, ws, ex);
  count_reused(before);
}

// What a replay finds again is not counted.
void Engine::Active::count_reused(Position before) {
  if (stats_.replays == 0) stats_.reused_tokens += committed() - before;
}

int64_t Engine::Active::bytes_when_read() const {
  const Sequence& sequence = conversation_->sequence();
  return bytes() + std::max<int64_t>(
                       0, sequence.bytes_at(std::ssize(history_)) - sequence.bytes_at(committed()));
}

void Engine::Active::drop() {
  lease_.release();
  conversation_->reset();
  ++stats_.replays;
}

DraftSeat Engine::Active::seat(int drafter_nodes, Position context) {
  const Position room_left = context - std::ssize(history_) - 1;
  return {.history = &drafts_,
          .room = static_cast<int>(std::clamp<Position>(room_left, 0, drafter_nodes)),
          .tokens_left = tokens_left(),
          .waiting = committed() - drafted_at_,
          .choice = {}};
}

DraftCall Engine::Active::plan_draft(const WidthChoice& choice) {
  tree_.clear();
  draft_s_ = 0;
  if (choice.nodes > 0) drafted_at_ = committed();
  why_ = choice.why;
  expected_ = choice.expected;
  return {.state = conversation_->draft(),
          .bonus = history_.back(),
          .max_nodes = choice.nodes,
          .max_depth = choice.depth,
          .out = &tree_};
}

SeqRows Engine::Active::rows(int64_t prefill_rows) {
  in_round_ = decoding();
  row_tokens_.clear();
  row_parents_.clear();
  if (in_round_) {
    row_tokens_.push_back(history_.back());
    row_parents_.push_back(kRoot);
    for (size_t i = 0; i < tree_.tokens.size(); ++i) {
      SPINDRIFT_CHECK(tree_.parents[i] >= kRoot && tree_.parents[i] < static_cast<RowIndex>(i),
                      "a draft is in topological order");
      row_tokens_.push_back(tree_.tokens[i]);
      row_parents_.push_back(tree_.parents[i] + 1);
    }
    return {&conversation_->sequence(), row_tokens_, row_parents_, LogitRows::kAll};
  }
  const auto next = history_.begin() + committed();
  const int64_t count = std::min(prefill_rows, unseen());
  row_tokens_.assign(next, next + count);
  row_parents_.resize(row_tokens_.size());
  std::iota(row_parents_.begin(), row_parents_.end(), kRoot);
  return {&conversation_->sequence(), row_tokens_, row_parents_,
          count == unseen() ? LogitRows::kLast : LogitRows::kNone};
}

std::optional<FinishReason> Engine::Active::absorb(ConstRows logits, double forward_s,
                                                   SamplerScratch& scratch) {
  forward_s_ = forward_s;
  accepted_ = accepted_first_ = emitted_ = 0;
  if (!in_round_) {
    path_.resize(row_tokens_.size());
    std::iota(path_.begin(), path_.end(), 0);
    if (logits.rows() == 0) return std::nullopt;
  }
  const auto draw = [&](RowIndex row, std::span<const TokenId> history) {
    return sample(logits.row(row), request_.sampling, history, scratch);
  };
  constexpr RowIndex kSingle[] = {kRoot};
  const Walk walk = in_round_ ? replay(row_tokens_, row_parents_, history_, draw)
                              : replay(std::span(&history_.back(), 1), kSingle, history_, draw);
  const size_t drafted = walk.emitted.size() - (walk.error ? 0U : 1U);
  StopReason stop = StopReason::kNone;
  size_t kept = 0;
  while (kept < walk.emitted.size() && stop == StopReason::kNone) {
    const std::span<const float> row = logits.row(walk.path[kept]);
    stop = emit(walk.emitted[kept], kept < drafted, row);
    ++kept;
  }
  accepted_ = static_cast<int>(drafted);
  // The path ends before a row that could not be drawn from.
  for (size_t i = 1; i < walk.path.size() && walk.path[i] == static_cast<RowIndex>(i); ++i)
    ++accepted_first_;
  emitted_ = static_cast<int>(kept);
  if (in_round_) path_.assign(walk.path.begin(), walk.path.begin() + emitted_);
  if (stop == StopReason::kStopId || stop == StopReason::kStopText) return FinishReason::kStop;
  if (stop == StopReason::kLength) return FinishReason::kLength;
  if (walk.error) {
    error_ = walk.error;
    return FinishReason::kError;
  }
  return std::nullopt;
}

StopReason Engine::Active::emit(TokenId token, bool drafted, std::span<const float> row) {
  history_.push_back(token);
  const int64_t index = generated() - 1;
  if (index == 0) {
    first_token_ = Clock::now();
    stats_.prefill_s = seconds(*started_, *first_token_);
  }
  TokenEvent event{.index = index, .id = token, .drafted = drafted, .logits_hash = 0};
  if (request_.ledger) {
    event.logits_hash = hash_logits(row);
    ledger_.add(token, event.logits_hash);
  }
  Logprobs probabilities;
  if (request_.top_logprobs) {
    probabilities = logprobs(row, token, *request_.top_logprobs);
    event.logprobs = &probabilities;
  }
  const StopReason reason = stop_.push(token, piece_);
  if (listener() != nullptr) listener()->on_token(event);
  show_text(piece_, drafted);
  return reason;
}

void Engine::Active::show_text(std::string_view piece, bool drafted) {
  if (piece.empty()) return;
  text_ += piece;
  if (listener() != nullptr) listener()->on_text(piece, drafted);
}

void Engine::Active::commit(std::span<const ConstRows> taps, const Drafter* drafter, Workspace& ws,
                            const Exec& ex, std::vector<float>& gather, DraftPlanner& planner) {
  path_ids_.clear();
  for (const RowIndex row : path_) path_ids_.push_back(row_tokens_[static_cast<size_t>(row)]);
  const Position first = committed();
  conversation_->commit(path_, path_ids_);
  lease_.add(*conversation_, taps, path_);
  if (drafting_) {
    const auto start = Clock::now();
    observe(first, taps, *drafter, ws, ex, gather);
    draft_s_ += seconds(start, Clock::now());
  }
  if (in_round_) record_round(planner);
  if (generated() == 0 && listener() != nullptr) listener()->on_prefill(committed(), prompt_size_);
}

void Engine::Active::observe(Position first, std::span<const ConstRows> taps,
                             const Drafter& drafter, Workspace& ws, const Exec& ex,
                             std::vector<float>& gather) {
  shown_.clear();
  const std::span<const TokenId> ids =
      std::span(conversation_->tokens()).subspan(static_cast<size_t>(first));
  if (is_prefix_of_rows(path_)) {
    for (const ConstRows& tap : taps) shown_.push_back(tap.slice(0, std::ssize(path_)));
  } else {
    int64_t floats = 0;
    for (const ConstRows& tap : taps) floats += std::ssize(path_) * tap.cols();
    gather.resize(static_cast<size_t>(floats));
    float* out = gather.data();
    for (const ConstRows& tap : taps) {
      shown_.emplace_back(out, std::ssize(path_), tap.cols());
      for (const RowIndex row : path_) out = std::copy_n(tap.row(row).data(), tap.cols(), out);
    }
  }
  drafter.observe(*conversation_->draft(), {.first = first, .tokens = ids, .taps = shown_}, ws, ex);
}

void Engine::Active::record_round(DraftPlanner& planner) {
  DraftStats& d = stats_.draft;
  const auto drafted = static_cast<int>(tree_.tokens.size());
  const RoundRecord record{.round = d.rounds + d.plain_rounds,
                           .position = committed() - std::ssize(path_),
                           .bonus = row_tokens_.front(),
                           .draft = tree_.tokens,
                           .parents = tree_.parents,
                           .accepted = accepted_,
                           .emitted = emitted_,
                           .draft_s = draft_s_,
                           .verify_s = forward_s_,
                           .why = why_,
                           .expected = expected_};
  const int depth = draft_depth(tree_.parents);
  if (drafted > 0) {
    planner.record(drafts_, {.nodes = drafted,
                             .depth = depth,
                             .accepted = accepted_,
                             .accepted_first = accepted_first_});
  }
  ++(drafted > 0 ? d.rounds : d.plain_rounds);
  d.draft_s += draft_s_;
  if (drafted > 0) {
    const int kept = std::min(accepted_, emitted_);
    const auto levels = static_cast<size_t>(depth);
    d.verify_s += forward_s_;
    d.drafted += drafted;
    d.accepted += kept;
    if (levels > d.drafted_to_depth.size()) {
      d.drafted_to_depth.resize(levels);
      d.accepted_at_depth.resize(levels);
    }
    for (size_t i = 0; i < levels; ++i) ++d.drafted_to_depth[i];
    for (size_t i = 0; i < static_cast<size_t>(kept); ++i) ++d.accepted_at_depth[i];
  }
  if (listener() != nullptr) listener()->on_round(record);
  draft_s_ = 0;
}

Outcome Engine::Active::outcome(FinishReason reason, std::optional<Error> error) {
  const auto now = Clock::now();
  show_text(stop_.finish(), false);
  stats_.generated_tokens = generated();
  if (first_token_)
    stats_.decode_s = seconds(*first_token_, now);
  else if (started_)
    stats_.prefill_s = seconds(*started_, now);
  stats_.draft.decision = drafts_.decision();
  return {.id = id_,
          .tokens = {history_.begin() + prompt_size_, history_.end()},
          .text = std::move(text_),
          .reason = reason,
          .error = std::move(error),
          .stats = std::move(stats_),
          .ledger_digest = request_.ledger ? ledger_.digest() : std::string(),
          .conversation = gives_conversation_ ? std::move(conversation_) : nullptr};
}

}  // namespace spindrift
