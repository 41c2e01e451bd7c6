#include "engine/engine.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "core/check.h"
#include "engine/active_request.h"
#include "engine/prefill_share.h"

namespace spindrift {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

Status validate_prompt(std::span<const TokenId> prompt, int64_t vocab, Position context) {
  if (prompt.empty())
    return Error{ErrorCode::kUsage, "prompt: expected at least one token id, found none"};
  for (const TokenId id : prompt)
    if (id < 0 || id >= vocab)
      return Error{ErrorCode::kUsage, "prompt: expected token ids from 0 to " +
                                          std::to_string(vocab - 1) + ", found " +
                                          std::to_string(id)};
  if (std::ssize(prompt) >= context)
    return Error{ErrorCode::kLimit, "prompt: expected fewer than " + std::to_string(context) +
                                        " tokens (the context, with room for an answer), found " +
                                        std::to_string(prompt.size())};
  return ok_status();
}

// Passes everything on and keeps the outcome.
class KeepOutcome final : public RequestListener {
 public:
  explicit KeepOutcome(RequestListener* next) : next_(next) {}
  void on_prefill(int64_t done, int64_t total) override {
    if (next_ != nullptr) next_->on_prefill(done, total);
  }
  void on_token(const TokenEvent& token) override {
    if (next_ != nullptr) next_->on_token(token);
  }
  void on_text(std::string_view piece, bool drafted) override {
    if (next_ != nullptr) next_->on_text(piece, drafted);
  }
  void on_round(const RoundRecord& round) override {
    if (next_ != nullptr) next_->on_round(round);
  }
  void on_finish(Outcome outcome) override { outcome_ = std::move(outcome); }
  std::optional<Outcome>& outcome() { return outcome_; }

 private:
  RequestListener* next_;
  std::optional<Outcome> outcome_;
};

}  // namespace

Engine::Engine(const TargetModel& target, const Drafter* drafter, const Exec& ex,
               EngineOptions options)
    : target_(target), drafter_(drafter), ex_(ex), options_(options) {
  const Position model = target.info().max_context;
  context_ = options.context > 0 ? std::min(options.context, model) : model;
  SPINDRIFT_CHECK(options.prefill_chunk > 0 && options.max_running > 0, "engine options");
}

Engine::~Engine() = default;

Result<RequestId> Engine::submit(Request request) {
  SPINDRIFT_TRY_STATUS(validate(request.sampling));
  SPINDRIFT_TRY_STATUS(validate(request.stop, request.text != nullptr));
  SPINDRIFT_TRY_STATUS(validate_prompt(request.prompt, target_.info().vocab, context_));
  if (request.draft.mode == DraftWidth::Mode::kFixed && request.draft.tokens < 0)
    return Error{ErrorCode::kUsage, "draft tokens: expected a whole number >= 0, found " +
                                        std::to_string(request.draft.tokens)};
  if (request.conversation != nullptr)
    SPINDRIFT_CHECK(
        &request.conversation->target() == &target_ && request.conversation->drafter() == drafter_,
        "a conversation belongs to one target and drafter");
  const RequestId id = next_id_++;
  waiting_.push_back(std::make_unique<Active>(id, std::move(request), target_, drafter_, context_));
  return id;
}

int64_t Engine::pending() const { return std::ssize(waiting_) + std::ssize(running_); }

int64_t Engine::memory_in_use() const {
  int64_t bytes = 0;
  for (const ActivePtr& active : running_) bytes += active->bytes();
  return bytes;
}

void Engine::finish(ActivePtr& active, FinishReason reason, std::optional<Error> error) {
  const ActivePtr done = std::move(active);
  hold_admission_ = false;
  Outcome outcome = done->outcome(reason, std::move(error));
  if (done->listener() != nullptr) done->listener()->on_finish(std::move(outcome));
}

bool Engine::sweep_cancelled() {
  const auto sweep = [this](auto& list) {
    bool any = false;
    for (ActivePtr& active : list)
      if (active->cancelled()) finish(active, FinishReason::kInterrupted), any = true;
    std::erase(list, nullptr);
    return any;
  };
  const bool waiting = sweep(waiting_);
  return sweep(running_) || waiting;
}

bool Engine::preempt(RequestId id) {
  const auto at = std::find_if(running_.begin(), running_.end(),
                               [id](const ActivePtr& active) { return active->id() == id; });
  if (at == running_.end()) return false;
  (*at)->drop();
  waiting_.push_front(std::move(*at));
  running_.erase(at);
  return true;
}

void Engine::keep_to_budget() {
  if (options_.memory_budget <= 0) return;
  while (running_.size() > 1 && memory_in_use() > options_.memory_budget) {
    const auto youngest =
        std::max_element(running_.begin(), running_.end(),
                         [](const ActivePtr& a, const ActivePtr& b) { return a->id() < b->id(); });
    preempt((*youngest)->id());
    hold_admission_ = true;
  }
  if (running_.size() != 1 || memory_in_use() <= options_.memory_budget) return;
  ActivePtr alone = std::move(running_.front());
  running_.clear();
  const Error error{ErrorCode::kLimit,
                    "memory for keys and values at position " + std::to_string(alone->committed()) +
                        ": expected at most " + std::to_string(options_.memory_budget) +
                        " bytes, found " + std::to_string(alone->bytes()),
                    "raise --memory-limit or shorten the request"};
  finish(alone, FinishReason::kError, error);
}

void Engine::admit() {
  while (!waiting_.empty() && std::ssize(running_) < options_.max_running &&
         (running_.empty() || !hold_admission_)) {
    ActivePtr next = std::move(waiting_.front());
    waiting_.pop_front();
    next->start();
    if (next->tokens_left() <= 0)
      finish(next, FinishReason::kLength);
    else
      running_.push_back(std::move(next));
  }
}

bool Engine::step() {
  const bool swept = sweep_cancelled();
  const int64_t before = pending();
  admit();
  if (running_.empty()) return swept || pending() != before;
  choose_drafts();
  forward();
  keep_to_budget();
  return true;
}

void Engine::choose_drafts() {
  std::vector<DraftCall> calls;
  std::vector<Active*> callers;
  for (const ActivePtr& active : running_) {
    if (!active->decoding()) continue;
    const DraftCall call =
        active->plan_draft(drafter_ == nullptr ? 0 : drafter_->max_nodes(), context_);
    if (call.max_nodes == 0) continue;
    calls.push_back(call);
    callers.push_back(active.get());
  }
  if (calls.empty()) return;
  const auto start = Clock::now();
  drafter_->propose(calls, draft_ws_, ex_);
  const double seconds = seconds_since(start);
  for (size_t i = 0; i < calls.size(); ++i) {
    const DraftTree& tree = *calls[i].out;
    SPINDRIFT_CHECK(
        tree.tokens.size() == tree.parents.size() && std::ssize(tree.tokens) <= calls[i].max_nodes,
        "a draft holds at most the nodes asked for, each with a parent");
    callers[i]->add_draft_seconds(seconds);
  }
}

void Engine::forward() {
  std::vector<int64_t> wanted;
  bool record_taps = false;
  for (const ActivePtr& active : running_) {
    if (!active->decoding()) wanted.push_back(active->unseen());
    record_taps = record_taps || active->drafting();
  }
  const std::vector<int64_t> shares = share_prefill(wanted, options_.prefill_chunk);
  std::vector<SeqRows> batch;
  size_t share = 0;
  for (const ActivePtr& active : running_)
    batch.push_back(active->rows(active->decoding() ? 0 : shares[share++]));

  const auto start = Clock::now();
  const ForwardOptions options{.taps = record_taps ? drafter_->taps() : std::span<const Tap>{}};
  const ForwardResult result = target_.forward(batch, options, target_ws_, ex_);
  const double seconds = seconds_since(start);

  int64_t row = 0;
  int64_t logit_row = 0;
  for (size_t i = 0; i < batch.size(); ++i) {
    ActivePtr& active = running_[i];
    const int64_t rows = std::ssize(batch[i].tokens);
    const int64_t logit_rows = batch[i].logits == LogitRows::kAll    ? rows
                               : batch[i].logits == LogitRows::kLast ? 1
                                                                     : 0;
    const auto reason =
        active->absorb(result.logits.slice(logit_row, logit_rows), seconds, scratch_);
    std::vector<ConstRows> taps;
    for (const ConstRows& tap : result.taps) taps.push_back(tap.slice(row, rows));
    active->commit(taps, drafter_, draft_ws_, ex_, gathered_);
    row += rows;
    logit_row += logit_rows;
    if (reason) finish(active, *reason, std::move(active->error()));
  }
  std::erase(running_, nullptr);
}

Result<Outcome> Engine::run(Request request) {
  KeepOutcome keep(request.listener);
  request.listener = &keep;
  SPINDRIFT_TRY_STATUS(submit(std::move(request)));
  while (!keep.outcome()) SPINDRIFT_CHECK(step(), "a submitted request ends");
  return std::move(*keep.outcome());
}

}  // namespace spindrift
