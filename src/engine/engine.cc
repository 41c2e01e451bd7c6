#include "engine/engine.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "core/check.h"
#include "engine/active_request.h"

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

// By arrival.
constexpr auto kOlder = [](const auto& a, const auto& b) { return a->id() < b->id(); };

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

DraftLimits limits_of(const Drafter* drafter) {
  if (drafter == nullptr) return {};
  return {.nodes = drafter->max_nodes(), .depth = drafter->max_depth()};
}

}  // namespace

Engine::Engine(const TargetModel& target, const Drafter* drafter, const Exec& ex,
               EngineOptions options)
    : target_(target),
      drafter_(drafter),
      ex_(ex),
      options_(options),
      planner_(limits_of(drafter), options.costs, options.max_draft_rows) {
  const Position model = target.info().max_context;
  context_ = options.context > 0 ? std::min(options.context, model) : model;
  SPINDRIFT_CHECK(options.prefill_chunk > 0 && options.max_running > 0 &&
                      options.max_draft_rows >= 0 && options.prefix_cache >= 0,
                  "engine options");
  blank_ = target.open();
  if (options.prefix_cache > 0) prefixes_ = std::make_unique<PrefixCache>(options.prefix_cache);
}

Engine::~Engine() = default;

Status Engine::check(const Request& request) const {
  SPINDRIFT_TRY_STATUS(validate(request.sampling));
  SPINDRIFT_TRY_STATUS(validate(request.stop, request.text != nullptr));
  SPINDRIFT_TRY_STATUS(validate_prompt(request.prompt, target_.info().vocab, context_));
  const int64_t least = blank_->bytes_at(std::ssize(request.prompt));
  if (options_.memory_budget > 0 && least > options_.memory_budget)
    return Error{ErrorCode::kLimit,
                 "prompt: expected keys and values of at most " +
                     std::to_string(options_.memory_budget) + " bytes, found " +
                     std::to_string(least) + " for " + std::to_string(request.prompt.size()) +
                     " tokens",
                 "raise --memory-limit or shorten the prompt"};
  if (request.draft.mode == DraftWidth::Mode::kFixed && request.draft.tokens < 0)
    return Error{ErrorCode::kUsage, "draft tokens: expected a whole number >= 0, found " +
                                        std::to_string(request.draft.tokens)};
  if (request.conversation != nullptr)
    SPINDRIFT_CHECK(
        &request.conversation->target() == &target_ && request.conversation->drafter() == drafter_,
        "a conversation belongs to one target and drafter");
  return ok_status();
}

Result<RequestId> Engine::submit(Request request) {
  SPINDRIFT_TRY_STATUS(check(request));
  return add(std::move(request));
}

RequestId Engine::add(Request checked) {
  const RequestId id = next_id_++;
  waiting_.push_back(std::make_unique<Active>(id, std::move(checked), target_, drafter_,
                                              prefixes_.get(), context_));
  return id;
}

int64_t Engine::pending() const { return std::ssize(waiting_) + std::ssize(running_); }

int64_t Engine::memory_in_use() const {
  int64_t bytes = prefixes_ == nullptr ? 0 : prefixes_->bytes();
  for (const ActivePtr& active : running_) bytes += active->bytes();
  return bytes;
}

void Engine::finish(ActivePtr& active, FinishReason reason, std::optional<Error> error) {
  const ActivePtr done = std::move(active);
  hold_admission_ = false;
  Outcome outcome = done->outcome(reason, std::move(error));
  counted_.prompt_tokens += outcome.stats.prompt_tokens;
  counted_.generated_tokens += outcome.stats.generated_tokens;
  if (prefixes_ != nullptr && done->started()) {
    ++(outcome.stats.reused_tokens > 0 ? counted_.prefix_hits : counted_.prefix_misses);
    counted_.prefix_tokens += outcome.stats.reused_tokens;
  }
  if (done->listener() != nullptr) done->listener()->on_finish(std::move(outcome));
}

bool Engine::sweep() {
  const auto now = Clock::now();
  const auto of = [&](auto& list) {
    bool any = false;
    for (ActivePtr& active : list) {
      if (active->cancelled())
        finish(active, FinishReason::kInterrupted);
      else if (active->overdue(now))
        finish(active, FinishReason::kError,
               Error{ErrorCode::kTimeout, "request " + std::to_string(active->id()) +
                                              ": expected to end by its deadline, found " +
                                              std::to_string(active->generated()) +
                                              " tokens generated by then"});
      any = any || active == nullptr;
    }
    if (any) std::erase(list, nullptr);
    return any;
  };
  const bool waiting = of(waiting_);
  return of(running_) || waiting;
}

void Engine::cancel(RequestId id) {
  const auto of = [id](auto& list) {
    for (ActivePtr& active : list)
      if (active->id() == id) active->cancel();
  };
  of(waiting_);
  of(running_);
}

void Engine::cancel_all() {
  for (ActivePtr& active : waiting_) active->cancel();
  for (ActivePtr& active : running_) active->cancel();
}

EngineSnapshot Engine::snapshot() const {
  EngineSnapshot out = counted_;
  out.waiting = std::ssize(waiting_);
  out.running = std::ssize(running_);
  out.context_bytes = memory_in_use();
  out.memory_budget = options_.memory_budget;
  if (prefixes_ != nullptr) {
    out.prefix_bytes = prefixes_->bytes() - prefixes_->pinned_bytes();
    out.prefix_evictions = prefixes_->evictions();
  }
  return out;
}

bool Engine::preempt(RequestId id) {
  const auto at = std::find_if(running_.begin(), running_.end(),
                               [id](const ActivePtr& active) { return active->id() == id; });
  if (at == running_.end()) return false;
  (*at)->drop();
  ++counted_.preemptions;
  waiting_.insert(std::upper_bound(waiting_.begin(), waiting_.end(), *at, kOlder), std::move(*at));
  running_.erase(at);
  return true;
}

void Engine::keep_to_budget() {
  const int64_t budget = options_.memory_budget;
  if (budget <= 0) return;
  int64_t in_use = memory_in_use();
  // What is kept goes first. Giving up what a request holds too frees nothing, hence the counting.
  for (bool gave = true; gave && in_use > budget && prefixes_ != nullptr;) {
    gave = false;
    const int64_t goal = prefixes_->bytes() - (in_use - budget);
    while (prefixes_->bytes() > goal && prefixes_->evict()) gave = true;
    in_use = memory_in_use();
  }
  if (in_use <= budget) return;
  if (running_.size() > 1) {
    preempt(running_.back()->id());
    hold_admission_ = true;
    keep_to_budget();
    return;
  }
  if (running_.empty()) return;
  ActivePtr alone = std::move(running_.front());
  running_.clear();
  const Error error{ErrorCode::kLimit,
                    "memory for keys and values at position " + std::to_string(alone->committed()) +
                        ": expected at most " + std::to_string(budget) + " bytes, found " +
                        std::to_string(in_use),
                    "raise --memory-limit or shorten the request"};
  finish(alone, FinishReason::kError, error);
  keep_to_budget();
}

// Whether the next request can be read to the end of its ids beside the running ones. They may grow
// out of it later; then the youngest is dropped.
bool Engine::fits(const Active& next) const {
  if (options_.memory_budget <= 0) return true;
  int64_t bytes = next.bytes_when_read();
  if (prefixes_ != nullptr) {
    bytes += prefixes_->pinned_bytes() -
             prefixes_->pinned_bytes(next.history(), blank_->block_positions());
  }
  for (const ActivePtr& active : running_) bytes += active->bytes_when_read();
  return bytes <= options_.memory_budget;
}

void Engine::insert_running(ActivePtr active) {
  const auto at = std::upper_bound(running_.begin(), running_.end(), active, kOlder);
  running_.insert(at, std::move(active));
}

void Engine::admit() {
  while (!waiting_.empty() && std::ssize(running_) < options_.max_running) {
    if (!running_.empty()) {
      hold_admission_ = hold_admission_ || !fits(*waiting_.front());
      if (hold_admission_) return;
    }
    ActivePtr next = std::move(waiting_.front());
    waiting_.pop_front();
    next->start(draft_ws_, ex_);
    if (next->tokens_left() <= 0)
      finish(next, FinishReason::kLength);
    else
      insert_running(std::move(next));
  }
}

bool Engine::step() {
  const bool swept = sweep();
  const int64_t before = pending();
  admit();
  if (running_.empty()) return swept || pending() != before;
  share_prefill_rows();
  choose_drafts();
  forward();
  keep_to_budget();
  return true;
}

void Engine::choose_drafts() {
  decoding_.clear();
  seats_.clear();
  draft_calls_.clear();
  drafting_.clear();
  round_ = {};
  for (const ActivePtr& active : running_) {
    if (!active->decoding()) continue;
    decoding_.push_back(active.get());
    seats_.push_back(active->seat(drafter_ == nullptr ? 0 : drafter_->max_nodes(), context_));
  }
  planner_.choose(seats_);
  int64_t nodes = 0;
  int trees = 0;
  for (size_t i = 0; i < seats_.size(); ++i) {
    const DraftCall call = decoding_[i]->plan_draft(seats_[i].choice);
    if (call.max_nodes == 0) continue;
    nodes += call.max_nodes;
    trees += call.max_nodes > call.max_depth ? 1 : 0;
    round_.waiting += seats_[i].waiting;
    draft_calls_.push_back(call);
    drafting_.push_back(decoding_[i]);
  }
  if (draft_calls_.empty()) return;
  if (nodes > options_.max_draft_rows) bound_drafts();
  const auto start = Clock::now();
  drafter_->propose(draft_calls_, draft_ws_, ex_);
  round_.draft_s = seconds_since(start);
  round_.calls = static_cast<int>(draft_calls_.size());
  round_.tree = trees == round_.calls;
  round_.mixed = trees > 0 && !round_.tree;
  for (size_t i = 0; i < draft_calls_.size(); ++i) {
    round_.nodes += draft_calls_[i].max_nodes;
    const DraftTree& tree = *draft_calls_[i].out;
    SPINDRIFT_CHECK(tree.tokens.size() == tree.parents.size() &&
                        std::ssize(tree.tokens) <= draft_calls_[i].max_nodes,
                    "a draft holds at most the nodes asked for, each with a parent");
    drafting_[i]->add_draft_seconds(round_.draft_s);
  }
}

// The widest drafts give way; every request keeps its own width as long as that is small.
void Engine::bound_drafts() {
  std::vector<int64_t> widths;
  for (const DraftCall& call : draft_calls_) widths.push_back(call.max_nodes);
  const auto share = static_cast<int>(largest_share(widths, options_.max_draft_rows));
  for (DraftCall& call : draft_calls_) call.max_nodes = std::min(call.max_nodes, share);
}

void Engine::share_prefill_rows() {
  prompts_.clear();
  for (const ActivePtr& active : running_) {
    if (!active->decoding()) active->catch_up(draft_ws_, ex_);
    prompts_.push_back({.wanted = active->decoding() ? 0 : active->unseen()});
  }
  if (prefixes_ != nullptr) leave_shared_blocks();
  share_prefill(prompts_, options_.prefill_chunk);
}

// Of requests that read the same block next, only the one that share_prefill() prefers reads it.
void Engine::leave_shared_blocks() {
  const auto prefers = [this](size_t a, size_t b) {
    return prompts_[a].wanted < prompts_[b].wanted ||
           (prompts_[a].wanted == prompts_[b].wanted && a < b);
  };
  followers_.assign(running_.size(), false);
  for (size_t i = 0; i < running_.size(); ++i)
    for (size_t k = 0; k < running_.size() && !followers_[i]; ++k)
      followers_[i] = prompts_[i].wanted > 0 && prompts_[k].wanted > 0 && prefers(k, i) &&
                      running_[i]->waits_for(*running_[k]);
  for (size_t i = 0; i < running_.size(); ++i)
    if (followers_[i]) prompts_[i].wanted = 0;
}

void Engine::forward() {
  bool record_taps = prefixes_ != nullptr && drafter_ != nullptr;
  batch_.clear();
  stepped_.clear();
  for (size_t i = 0; i < running_.size(); ++i) {
    Active& active = *running_[i];
    if (!active.decoding() && prompts_[i].rows == 0) continue;
    record_taps = record_taps || active.drafting();
    batch_.push_back(active.rows(prompts_[i].rows));
    stepped_.push_back(i);
  }

  const auto start = Clock::now();
  const ForwardOptions options{.taps = record_taps ? drafter_->taps() : std::span<const Tap>{}};
  const ForwardResult result = target_.forward(batch_, options, target_ws_, ex_);
  const double seconds = seconds_since(start);
  const int64_t read_before = counted_.prefill_rows;
  count_forward(seconds);
  round_.verify_s = seconds;
  if (counted_.prefill_rows == read_before)
    for (const SeqRows& rows : batch_) round_.rows += static_cast<int>(rows.tokens.size());
  if (drafter_ != nullptr) planner_.record(round_);

  int64_t row = 0;
  int64_t logit_row = 0;
  for (size_t i = 0; i < batch_.size(); ++i) {
    ActivePtr& active = running_[stepped_[i]];
    const int64_t rows = std::ssize(batch_[i].tokens);
    const int64_t logit_rows = batch_[i].logits == LogitRows::kAll    ? rows
                               : batch_[i].logits == LogitRows::kLast ? 1
                                                                      : 0;
    const auto reason =
        active->absorb(result.logits.slice(logit_row, logit_rows), seconds, scratch_);
    taps_.clear();
    for (const ConstRows& tap : result.taps) taps_.push_back(tap.slice(row, rows));
    active->commit(taps_, drafter_, draft_ws_, ex_, gathered_, planner_);
    row += rows;
    logit_row += logit_rows;
    if (reason) finish(active, *reason, std::move(active->error()));
  }
  std::erase(running_, nullptr);
}

void Engine::count_forward(double seconds) {
  int64_t rows = 0;
  for (size_t i = 0; i < batch_.size(); ++i) {
    const int64_t own = std::ssize(batch_[i].tokens);
    rows += own;
    if (!running_[stepped_[i]]->decoding()) counted_.prefill_rows += own;
  }
  counted_.rows += rows;
  ++counted_.forwards;
  ++counted_.forwards_by_rows[EngineSnapshot::bucket(rows)];
  counted_.forward_s += seconds;
}

Result<Outcome> Engine::run(Request request) {
  KeepOutcome keep(request.listener);
  request.listener = &keep;
  SPINDRIFT_TRY_STATUS(submit(std::move(request)));
  while (!keep.outcome()) SPINDRIFT_CHECK(step(), "a submitted request ends");
  return std::move(*keep.outcome());
}

}  // namespace spindrift
