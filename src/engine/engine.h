#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "core/exec.h"
#include "core/result.h"
#include "drafters/drafter.h"
#include "engine/draft_planner.h"
#include "engine/prefill_share.h"
#include "engine/prefix_cache.h"
#include "engine/request.h"
#include "engine/snapshot.h"
#include "models/target_model.h"

namespace spindrift {

struct EngineOptions {
  int64_t prefill_chunk = 256;   // prompt rows in one forward, all requests together
  int64_t max_draft_rows = 256;  // draft tokens in one forward, all requests together
  int max_running = 64;          // requests stepped at once; others wait in order of arrival
  int64_t memory_budget = 0;     // bytes of keys, values and draft context; 0 = no limit
  // Of them, bytes that may be kept for later requests that begin with the same ids. 0 = nothing is
  // kept, and conversations are the callers' (Request::conversation, Outcome::conversation);
  // otherwise the engine keeps them all itself.
  int64_t prefix_cache = 0;
  Position context = 0;   // positions a request may use; 0 or more than the model's = the model's
  RoundCosts costs = {};  // of drafting, as measured before; auto learns what is missing
};

// Runs requests: one loop for plain and speculative decoding, for one conversation and many. Each
// step is one forward that holds the bonus token with a draft of every request that is decoding,
// and the next parts of prompts: a share of the chunk goes to the oldest prompt, which so never
// stands still, and the rest to those with the least left to read, so that a short prompt does not
// wait for long ones. By the row law a request's tokens do not depend on the others, on the chunk,
// on what was kept of earlier requests, or on being dropped for memory and replayed. One thread
// uses an engine at a time; only Request::cancelled may be set from others. Target and drafter must
// outlive it.
class Engine {
 public:
  Engine(const TargetModel& target, const Drafter* drafter, const Exec& ex, EngineOptions options);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // Whether submit() would accept the request. From any thread: it reads what never changes.
  Status check(const Request& request) const;
  // Queues a request. kUsage for a parameter out of range or an id outside the vocabulary, kLimit
  // when the prompt leaves no room in the context or can never fit the memory budget; then nothing
  // was queued and the listener hears nothing.
  Result<RequestId> submit(Request request);
  // Queues a request that check() has accepted.
  RequestId add(Request checked);
  // The id that the next request gets; ids ascend by one.
  RequestId next_id() const { return next_id_; }
  // One forward (or less, when requests only end). False when there was nothing to do.
  bool step();
  // Waiting and running requests.
  int64_t pending() const;
  // Drops the caches of a running request and puts it back at the head of the queue; it continues
  // by replaying its ids. False when it is not running.
  bool preempt(RequestId id);
  // Ends a request, waiting or running, before its next forward; an id that is neither is ignored.
  void cancel(RequestId id);
  void cancel_all();
  EngineSnapshot snapshot() const;
  // Bytes of keys, values and draft context: of running requests and of what is kept.
  int64_t memory_in_use() const;
  // Positions a request may use, prompt and answer together.
  Position context() const { return context_; }
  const EngineOptions& options() const { return options_; }
  // What drafting has cost so far, to be kept for the next engine.
  const RoundCosts& costs() const { return planner_.costs(); }

  // Submits and steps until this request ends. For an engine with one request: the command line.
  Result<Outcome> run(Request request);

 private:
  class Active;
  using ActivePtr = std::unique_ptr<Active>;

  // Ends what was cancelled or is past its deadline.
  bool sweep();
  void keep_to_budget();
  bool fits(const Active& next) const;
  void insert_running(ActivePtr active);
  void admit();
  void choose_drafts();
  void bound_drafts();
  void share_prefill_rows();
  void leave_shared_blocks();
  void forward();
  void count_forward(double seconds);
  void finish(ActivePtr& active, FinishReason reason, std::optional<Error> error = {});

  const TargetModel& target_;
  const Drafter* drafter_;
  Exec ex_;
  EngineOptions options_;
  Position context_;
  DraftPlanner planner_;
  Workspace target_ws_,
      draft_ws_;  // apart: a draft pass may run while taps of the last forward are held
  RequestId next_id_ = 1;
  bool hold_admission_ = false;      // after dropping a request for memory, until another one ends
  std::unique_ptr<Sequence> blank_;  // asked what conversations would need; never read into
  std::unique_ptr<PrefixCache> prefixes_;  // null = off; before the requests, which hold on to it
  std::deque<ActivePtr> waiting_;          // by arrival
  std::vector<ActivePtr> running_;         // by arrival
  EngineSnapshot counted_;                 // of it, what only ever grows

  // Of the current step; members so that a step allocates nothing.
  std::vector<Active*> decoding_;
  std::vector<DraftSeat> seats_;  // of decoding_
  std::vector<DraftCall> draft_calls_;
  std::vector<Active*> drafting_;
  RoundCost round_;
  std::vector<PromptRows> prompts_;
  std::vector<bool> followers_;
  std::vector<size_t> stepped_;  // of running_, those with a part in batch_
  std::vector<SeqRows> batch_;
  std::vector<ConstRows> taps_;
  std::vector<float> gathered_;
  SamplerScratch scratch_;
};

}  // namespace spindrift
