// The engine's laws under load, on the toy target: whoever else is served, whatever is kept of
// earlier requests and however often a request is dropped for memory, its ledger is the one it has
// alone; memory comes back; nobody waits without bound.
#include <gtest/gtest.h>

#include <memory>
#include <random>

#include "core/check.h"
#include "core/thread_pool.h"
#include "engine/engine.h"
#include "support/ledger.h"
#include "support/toy_target.h"

namespace spindrift {
namespace {

using spindrift::testing::Recorded;
using spindrift::testing::Recorder;
using spindrift::testing::ToyTarget;

constexpr Position kSeen = 6;  // rows that the witness below looks at

// What one conversation looks like alone: its ids, and the drafter's view of every position.
struct Reference {
  std::vector<TokenId> ids;
  std::vector<uint64_t> taps;
};

// A drafter with a short memory that proposes from references, right and wrong in turn, and counts
// the rows it is shown that are not those of the conversation alone. It keeps what it was shown, so
// it is exact about where it started.
class Witness final : public Drafter {
 public:
  explicit Witness(const std::vector<Reference>* references) : references_(references) {}

  struct State final : DraftState {
    Position observed() const override { return first + std::ssize(ids); }
    void reset() override { first = 0, ids.clear(), taps.clear(); }
    void start_at(Position start) override { first = start; }
    int64_t bytes() const override { return 64; }
    Position first = 0;
    std::vector<TokenId> ids;
    std::vector<uint64_t> taps;
    int64_t round = 0;
  };

  std::string_view kind() const override { return "witness"; }
  std::span<const Tap> taps() const override { return kTaps; }
  int max_nodes() const override { return 6; }
  std::unique_ptr<DraftState> open() const override { return std::make_unique<State>(); }
  Position first_seen(Position next) const override { return std::max<Position>(0, next - kSeen); }

  void observe(DraftState& state, const Accepted& rows, Workspace&, const Exec&) const override {
    auto& s = static_cast<State&>(state);
    SPINDRIFT_CHECK(rows.first == s.observed(), "observed rows have no gap");
    for (size_t i = 0; i < rows.tokens.size(); ++i) {
      s.ids.push_back(rows.tokens[i]);
      uint64_t hash = 0;
      for (const ConstRows& tap : rows.taps)
        hash = hash * 31 + hash_logits(tap.row(static_cast<int64_t>(i)));
      s.taps.push_back(hash);
    }
    if (references_ != nullptr) check(s);
  }

  void propose(std::span<const DraftCall> calls, Workspace&, const Exec&) const override {
    for (const DraftCall& call : calls) {
      auto& s = static_cast<State&>(*call.state);
      SPINDRIFT_CHECK(s.first <= std::max<Position>(0, s.observed() - kSeen), "rows to look at");
      if (references_ == nullptr) continue;
      const int64_t wrong_from = s.round++ % 5;
      for (const Reference& reference : *references_) {
        if (!begins(reference, s, s.ids.size())) continue;
        auto next = static_cast<size_t>(s.observed()) + 1;
        for (int i = 0; i < call.max_nodes && next < reference.ids.size(); ++i, ++next) {
          const TokenId right = reference.ids[next];
          call.out->tokens.push_back(i < wrong_from ? right : (right + 1) % 97);
          call.out->parents.push_back(static_cast<RowIndex>(i) - 1);
        }
        break;
      }
    }
  }

  int64_t wrong() const { return *wrong_; }
  int64_t checked() const { return *checked_; }

 private:
  static constexpr Tap kTaps[] = {{.kind = Tap::Kind::kAfterLayer, .layer = 0},
                                  {.kind = Tap::Kind::kFinalNorm, .layer = 0}};

  static bool begins(const Reference& reference, const State& s, size_t count) {
    const auto first = static_cast<size_t>(s.first);
    return reference.ids.size() >= first + count &&
           std::equal(s.ids.begin(), s.ids.begin() + static_cast<ptrdiff_t>(count),
                      reference.ids.begin() + static_cast<ptrdiff_t>(first));
  }
  void check(const State& s) const {
    bool known = false, right = false;
    for (const Reference& reference : *references_) {
      if (reference.taps.size() < static_cast<size_t>(s.observed()) ||
          !begins(reference, s, s.ids.size()))
        continue;
      known = true;
      right = right || std::equal(s.taps.begin(), s.taps.end(), reference.taps.begin() + s.first);
    }
    *checked_ += known ? 1 : 0;
    *wrong_ += known && !right ? 1 : 0;
  }

  const std::vector<Reference>* references_;
  std::unique_ptr<int64_t> wrong_ = std::make_unique<int64_t>(0);
  std::unique_ptr<int64_t> checked_ = std::make_unique<int64_t>(0);
};

// Requests as a server sees them: prompts of three families that share beginnings, some of them
// asked for twice; all lengths, temperatures, widths and choices.
constexpr int kRequests = 36;

std::vector<TokenId> prompt(int i) {
  std::vector<TokenId> ids;
  const int family = i % 3;
  for (int k = 0; k < 11 + 16 * family; ++k) ids.push_back((k * k + 5 * k + 31 * family) % 97);
  const int tail = (i * 7) % 30;  // equal for some
  for (int k = 0; k < tail; ++k) ids.push_back((k * 13 + tail) % 97);
  return ids;
}

Request request(int i, RequestListener* listener) {
  Request r;
  r.prompt = prompt(i);
  r.sampling = {.temperature = static_cast<float>(i % 4) * 0.5F,
                .repetition_penalty = i % 5 == 0 ? 1.2F : 1.0F,
                .seed = static_cast<uint64_t>(i / 6),
                .stream = static_cast<uint32_t>(i % 2)};
  r.stop.max_new_tokens = 3 + (i * 11) % 60;
  switch (i % 3) {
    case 0:
      r.draft = {.mode = DraftWidth::Mode::kFixed, .tokens = 1 + i % 6};
      break;
    case 1:
      r.draft = {.mode = DraftWidth::Mode::kOff};
      break;
    default:
      break;
  }
  r.ledger = true;
  r.listener = listener;
  return r;
}

struct Load {
  int64_t chunk = 16;
  int64_t memory_budget = 0;
  int64_t prefix_cache = 0;
  int64_t max_draft_rows = 256;
  int running = 8;
  int drop_every = 0;    // steps between forced drops of a random request
  int cancel_every = 0;  // of requests, the share that is cancelled: 1 of so many
  uint32_t order = 1;
};

class ServingLaws : public ::testing::TestWithParam<Position> {
 protected:
  void SetUp() override {
    for (int i = 0; i < kRequests; ++i) {
      const Witness drafter(nullptr);
      Engine engine(target_, &drafter, {}, {});
      Recorder recorder;
      Request plain = request(i, &recorder);
      // Drafts of no tokens: the rows are shown to the drafter and decoding is plain.
      plain.draft = {.mode = DraftWidth::Mode::kFixed, .tokens = 1};
      const Outcome out = run(engine, std::move(plain), recorder);
      Reference reference{.ids = prompt(i), .taps = {}};
      reference.ids.insert(reference.ids.end(), out.tokens.begin(), out.tokens.end());
      reference.taps = static_cast<Witness::State*>(out.conversation->draft())->taps;
      references_.push_back(std::move(reference));
      alone_.push_back(std::move(recorder.run.ledger));
      largest_ = std::max(largest_, out.conversation->bytes());
    }
  }

  static Outcome run(Engine& engine, Request r, Recorder& recorder) {
    EXPECT_TRUE(engine.submit(std::move(r)).ok());
    while (!recorder.run.finished) engine.step();
    return std::move(recorder.run.outcome);
  }

  // Serves all requests, in an order of its own, submitted while others run; checks every ledger.
  EngineSnapshot serve(const Load& load, const Drafter* drafter, const Exec& ex = {}) {
    Engine engine(target_, drafter, ex,
                  {.prefill_chunk = load.chunk,
                   .max_draft_rows = load.max_draft_rows,
                   .max_running = load.running,
                   .memory_budget = load.memory_budget,
                   .prefix_cache = load.prefix_cache});
    std::mt19937 random(load.order);
    std::vector<int> order(kRequests);
    for (int i = 0; i < kRequests; ++i) order[static_cast<size_t>(i)] = i;
    std::shuffle(order.begin(), order.end(), random);
    std::vector<Recorder> recorders(kRequests);
    std::vector<RequestId> ids(kRequests);
    size_t submitted = 0;
    for (int steps = 1; submitted < order.size() || engine.pending() > 0; ++steps) {
      while (submitted < order.size() && (random() % 3 != 0 || engine.pending() == 0)) {
        const auto i = static_cast<size_t>(order[submitted++]);
        ids[i] = engine.submit(request(static_cast<int>(i), &recorders[i])).value();
      }
      if (load.drop_every > 0 && steps % load.drop_every == 0)
        engine.preempt(ids[static_cast<size_t>(order[random() % submitted])]);
      if (load.cancel_every > 0 && random() % 4 == 0)
        for (size_t i = 0; i < ids.size(); i += static_cast<size_t>(load.cancel_every))
          engine.cancel(ids[i]);
      engine.step();
      if (load.memory_budget > 0) {
        EXPECT_LE(engine.memory_in_use(), load.memory_budget);
      }
      EXPECT_LE(engine.snapshot().prefix_bytes, load.prefix_cache);
    }
    for (size_t i = 0; i < recorders.size(); ++i) {
      const Recorded& run = recorders[i].run;
      EXPECT_TRUE(run.finished);
      if (run.outcome.reason == FinishReason::kInterrupted) {
        EXPECT_TRUE(std::equal(run.ledger.begin(), run.ledger.end(), alone_[i].begin()));
      } else {
        EXPECT_EQ(run.ledger, alone_[i]) << i;
      }
      EXPECT_EQ(run.outcome.conversation == nullptr, load.prefix_cache > 0);
    }
    const EngineSnapshot end = engine.snapshot();
    EXPECT_EQ(end.context_bytes, end.prefix_bytes);
    EXPECT_LE(end.forwards_by_rows
                  [EngineSnapshot::bucket(load.chunk + load.running + load.max_draft_rows) + 1],
              0);
    return end;
  }

  ToyTarget target_{{.window = GetParam()}};
  std::vector<Reference> references_;
  std::vector<std::vector<std::string>> alone_;
  int64_t largest_ = 0;
};

INSTANTIATE_TEST_SUITE_P(Caches, ServingLaws, ::testing::Values(0, 9), [](const auto& param) {
  return param.param == 0 ? std::string("Full") : std::string("Window");
});

TEST_P(ServingLaws, ManyMixedRequestsHaveTheLedgersTheyHaveAlone) {
  ThreadPool pool(3);
  for (uint32_t order = 1; order <= 4; ++order) {
    const Witness drafter(&references_);
    serve({.order = order}, nullptr);
    serve({.chunk = 5, .running = 64, .order = order}, &drafter, {.pool = &pool});
    const EngineSnapshot narrow = serve({.max_draft_rows = 3, .order = order}, &drafter);
    EXPECT_EQ(narrow.preemptions, 0);
    EXPECT_EQ(drafter.wrong(), 0);
    EXPECT_GT(drafter.checked(), 500);
  }
}

TEST_P(ServingLaws, WhatIsKeptOfOtherRequestsChangesNoLedgerAndNoRowADrafterSees) {
  for (uint32_t order = 1; order <= 4; ++order)
    for (const int64_t kept : {int64_t{3000}, int64_t{20000}, int64_t{1} << 30}) {
      const Witness drafter(&references_);
      for (const Drafter* with :
           {static_cast<const Drafter*>(nullptr), static_cast<const Drafter*>(&drafter)}) {
        const EngineSnapshot end = serve({.prefix_cache = kept, .order = order}, with);
        EXPECT_GT(end.prefix_bytes, 0);
        if (kept > 3000) {
          EXPECT_GT(end.prefix_hits, 3);
          EXPECT_GT(end.prefix_tokens, 40);
        }
        EXPECT_EQ(end.prefix_evictions > 0, kept <= 20000) << kept;
      }
      EXPECT_EQ(drafter.wrong(), 0);
      EXPECT_GT(drafter.checked(), 100);
    }
}

TEST_P(ServingLaws, DroppingAndReplayingChangesNoLedgerWithAndWithoutKeptBlocks) {
  for (uint32_t order = 1; order <= 3; ++order)
    for (const int64_t kept : {int64_t{0}, int64_t{4000}, int64_t{1} << 30}) {
      const Witness drafter(&references_);
      const EngineSnapshot forced =
          serve({.chunk = 7, .prefix_cache = kept, .drop_every = 2, .order = order}, &drafter);
      EXPECT_GT(forced.preemptions, 5);
      EXPECT_EQ(drafter.wrong(), 0);
    }
}

TEST_P(ServingLaws, ASmallBudgetIsKeptAndChangesNoLedger) {
  int64_t dropped = 0;
  for (uint32_t order = 1; order <= 3; ++order)
    for (const int64_t kept : {int64_t{0}, int64_t{1} << 30}) {
      const int64_t scale = kept > 0 ? 2 : 1;  // the toy's kept blocks are copies
      for (const int64_t budget : {scale * largest_ + 2000, 2 * scale * largest_}) {
        const Witness drafter(&references_);
        const EngineSnapshot end =
            serve({.memory_budget = budget, .prefix_cache = kept, .order = order}, &drafter);
        dropped += end.preemptions;
        EXPECT_EQ(drafter.wrong(), 0);
      }
    }
  // A window's memory is known from the start, so there nothing may have to be dropped.
  if (GetParam() == 0) {
    EXPECT_GT(dropped, 0);
  }
}

TEST_P(ServingLaws, CancellingManyGivesAllMemoryBack) {
  for (const int64_t kept : {int64_t{0}, int64_t{5000}}) {
    const Witness drafter(&references_);
    const EngineSnapshot end =
        serve({.prefix_cache = kept, .drop_every = 5, .cancel_every = 2}, &drafter);
    if (kept == 0) {
      EXPECT_EQ(end.context_bytes, 0);
    }
  }
}

TEST_P(ServingLaws, ChoicesOfOneRequestReadItsPromptOnceAndDifferOnlyInTheirNoise) {
  const Witness drafter(&references_);
  Engine engine(target_, &drafter, {}, {.prefill_chunk = 16, .prefix_cache = 1 << 20});
  std::vector<Recorder> recorders(4);
  for (uint32_t choice = 0; choice < 4; ++choice) {
    Request r = request(5, &recorders[choice]);
    r.sampling.temperature = 1.5F;
    r.sampling.stream = choice;
    ASSERT_TRUE(engine.submit(std::move(r)).ok());
  }
  while (engine.step()) continue;
  const int64_t tokens = std::ssize(prompt(5));
  const int64_t blocks = (tokens - 1) / ToyTarget::kBlock * ToyTarget::kBlock;
  EXPECT_EQ(engine.snapshot().prefill_rows, tokens + 3 * (tokens - blocks));
  for (uint32_t choice = 0; choice < 4; ++choice) {
    Engine single(target_, nullptr, {}, {});
    Recorder alone;
    Request r = request(5, &alone);
    r.sampling.temperature = 1.5F;
    r.sampling.stream = choice;
    run(single, std::move(r), alone);
    EXPECT_EQ(recorders[choice].run.ledger, alone.run.ledger);
    EXPECT_EQ(recorders[choice].run.ledger == recorders[0].run.ledger, choice == 0);
  }
}

TEST_P(ServingLaws, AShortPromptWaitsAtMostThreeForwardsForLongOnes) {
  const ToyTarget target({.window = GetParam(), .max_context = 5000});
  for (const int long_ones : {1, 4})
    for (const int length : {1, 16, 33, 70})
      for (const int64_t kept : {int64_t{0}, int64_t{1} << 30}) {
        constexpr int64_t kChunk = 16;
        Engine engine(target, nullptr, {}, {.prefill_chunk = kChunk, .prefix_cache = kept});
        std::vector<Recorder> others(static_cast<size_t>(long_ones));
        for (size_t i = 0; i < others.size(); ++i) {
          Request r = request(0, &others[i]);
          r.stop.max_new_tokens = 2;
          r.prompt.assign(350 + 10 * i, static_cast<TokenId>(i));
          ASSERT_TRUE(engine.submit(std::move(r)).ok());
        }
        for (int i = 0; i < 3; ++i) engine.step();
        Recorder recorder;
        Request r = request(1, &recorder);
        r.prompt.assign(static_cast<size_t>(length), 50);
        ASSERT_TRUE(engine.submit(std::move(r)).ok());
        int64_t forwards = 0;
        while (recorder.run.ledger.empty()) {
          engine.step();
          ++forwards;
        }
        EXPECT_LE(forwards, (length + kChunk - 1) / kChunk + 3) << length;
        // The oldest goes on meanwhile, and everyone gets there.
        while (engine.step()) continue;
        for (const Recorder& other : others) EXPECT_TRUE(other.run.finished);
      }
}

TEST_P(ServingLaws, APromptThatCanNeverFitIsRefusedWithItsNumbers) {
  Engine engine(target_, nullptr, {}, {.memory_budget = 2000});
  Request r = request(0, nullptr);
  r.prompt.assign(200, 1);
  const auto refused = engine.submit(std::move(r));
  if (GetParam() > 0) {
    EXPECT_TRUE(refused.ok());
    return;
  }
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kLimit);
  EXPECT_NE(refused.error().message.find("at most 2000 bytes, found 25600 for 200 tokens"),
            std::string::npos)
      << refused.error().message;
}

}  // namespace
}  // namespace spindrift
