#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/rows.h"
#include "engine/draft_history.h"
#include "engine/draft_planner.h"
#include "engine/engine.h"
#include "engine/ledger.h"
#include "engine/prefix_lease.h"
#include "engine/speculation.h"

namespace spindrift {

// One request inside the engine: its ids so far, its caches, and what it does in the current step.
class Engine::Active {
 public:
  // `prefixes` may be null: then the conversation comes from the request and goes to the outcome.
  Active(RequestId id, Request request, const TargetModel& target, const Drafter* drafter,
         PrefixCache* prefixes, Position context);

  RequestId id() const { return id_; }
  bool cancelled() const;
  void cancel() { cancelled_ = true; }
  bool overdue(std::chrono::steady_clock::time_point now) const {
    return request_.deadline && now >= *request_.deadline;
  }
  bool drafting() const { return drafting_; }
  bool started() const { return started_.has_value(); }
  int64_t tokens_left() const { return stop_.tokens_left(); }
  int64_t generated() const { return std::ssize(history_) - prompt_size_; }
  Position committed() const { return conversation_->committed(); }
  // Without what the prefix cache counts.
  int64_t bytes() const { return conversation_->bytes() + lease_.bytes(); }
  // bytes() when all ids so far have been read, draft context aside.
  int64_t bytes_when_read() const;
  std::span<const TokenId> history() const { return history_; }
  // Ids the target has not seen: 1 while decoding (the bonus token), more while a prompt or a
  // replay is being read.
  int64_t unseen() const { return std::ssize(history_) - committed(); }
  bool decoding() const { return unseen() == 1 && generated() > 0; }

  // Makes the caches a prefix of the ids.
  void start(Workspace& ws, const Exec& ex);
  // While reading a prompt: takes over what others have read of it in the meantime.
  void catch_up(Workspace& ws, const Exec& ex);
  // Whether `other` is reading what this request reads next, so that it need not.
  bool waits_for(const Active& other) const {
    return lease_.waits_for(other.lease_, history_, other.history_, committed());
  }
  // Drops the caches of a started request; start() again continues.
  void drop();

  // What this round may draft; for the planner.
  DraftSeat seat(int drafter_nodes, Position context);
  // Takes what was planned. The call's tree is cleared; 0 nodes = a plain round.
  DraftCall plan_draft(const WidthChoice& choice);
  void add_draft_seconds(double seconds) { draft_s_ += seconds; }
  // Lays out the rows of this step: the bonus token with its draft, or the next `prefill_rows` ids.
  SeqRows rows(int64_t prefill_rows);

  // Takes this request's logit rows of the forward: draws tokens, applies the stop rule, reports.
  // Returns the reason when the request ends; error() tells more for kError.
  std::optional<FinishReason> absorb(ConstRows logits, double forward_s, SamplerScratch& scratch);
  // Commits the kept rows, shows them to the drafter (taps: this request's rows), and reports the
  // round.
  void commit(std::span<const ConstRows> taps, const Drafter* drafter, Workspace& ws,
              const Exec& ex, std::vector<float>& gather, DraftPlanner& planner);
  std::optional<Error>& error() { return error_; }
  RequestListener* listener() const { return request_.listener; }
  Outcome outcome(FinishReason reason, std::optional<Error> error);

 private:
  using Clock = std::chrono::steady_clock;
  static double seconds(Clock::time_point from, Clock::time_point to) {
    return std::chrono::duration<double>(to - from).count();
  }
  StopReason emit(TokenId token, bool drafted, std::span<const float> row);
  void show_text(std::string_view piece, bool drafted);
  void count_reused(Position before);
  void observe(Position first, std::span<const ConstRows> taps, const Drafter& drafter,
               Workspace& ws, const Exec& ex, std::vector<float>& gather);
  void record_round(DraftPlanner& planner);

  RequestId id_;
  Request request_;
  std::unique_ptr<Conversation> conversation_;
  PrefixLease lease_;
  bool gives_conversation_;
  int64_t prompt_size_;
  std::vector<TokenId> history_;  // prompt + generated
  StopRule stop_;
  bool drafting_;
  bool cancelled_ = false;
  DraftHistory drafts_;
  Position drafted_at_ = 0;  // rows before it were taken in by a draft, or by an earlier request's
  Ledger ledger_;
  std::string text_, piece_;
  GenerationStats stats_;
  std::optional<Clock::time_point> started_, first_token_;
  std::optional<Error> error_;

  // This step.
  DraftTree tree_;
  std::string_view why_;
  double expected_ = 0;
  double draft_s_ = 0;
  double forward_s_ = 0;
  std::vector<TokenId> row_tokens_;
  std::vector<RowIndex> row_parents_;
  std::vector<RowIndex> path_;  // rows to commit
  std::vector<TokenId> path_ids_;
  std::vector<ConstRows> shown_;  // their taps, to the drafter
  bool in_round_ = false;
  int accepted_ = 0, emitted_ = 0;  // accepted before the cut, emitted after it
  int accepted_first_ = 0;          // of accepted_, on the draft's first path
};

}  // namespace spindrift
