#include "engine/engine_thread.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "core/thread_pool.h"
#include "support/ledger.h"
#include "support/toy_target.h"

namespace spindrift {
namespace {

using spindrift::testing::Recorder;
using spindrift::testing::ToyTarget;
using ::testing::HasSubstr;

Request request(TokenId first, int64_t tokens, RequestListener* listener) {
  Request r;
  r.prompt = {first, 14, 15, 92, 65};
  r.sampling = {.temperature = 0.9F, .seed = static_cast<uint64_t>(first)};
  r.stop.max_new_tokens = tokens;
  r.ledger = true;
  r.listener = listener;
  return r;
}

std::vector<std::string> alone(TokenId first, int64_t tokens, Position window = 0) {
  const ToyTarget target({.window = window});
  Engine engine(target, nullptr, {}, {});
  Recorder recorder;
  EXPECT_TRUE(engine.run(request(first, tokens, &recorder)).ok());
  return recorder.run.ledger;
}

// Holds the engine's thread in the first token until it is let go.
class Gate final : public RequestListener {
 public:
  void on_token(const TokenEvent&) override {
    std::unique_lock lock(mutex_);
    reached_ = true;
    changed_.notify_all();
    changed_.wait(lock, [this] { return open_; });
  }
  void on_finish(Outcome outcome) override {
    const std::lock_guard lock(mutex_);
    reason_ = outcome.reason;
  }
  void wait_until_reached() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return reached_; });
  }
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  std::optional<FinishReason> reason() {
    const std::lock_guard lock(mutex_);
    return reason_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool reached_ = false, open_ = false;
  std::optional<FinishReason> reason_;
};

TEST(EngineThread, RequestsFromManyThreadsHaveTheLedgersOfRequestsAlone) {
  const ToyTarget target;
  Engine engine(target, nullptr, {}, {.prefill_chunk = 7, .max_running = 5});
  EngineThread thread(engine, {});
  constexpr int kClients = 6, kEach = 4;
  std::vector<Recorder> recorders(kClients * kEach);
  std::vector<std::thread> clients;
  for (int c = 0; c < kClients; ++c)
    clients.emplace_back([&, c] {
      for (int i = c * kEach; i < (c + 1) * kEach; ++i)
        EXPECT_TRUE(thread.submit(request(i, 10 + i, &recorders[static_cast<size_t>(i)])).ok());
    });
  for (std::thread& client : clients) client.join();
  thread.drain();
  for (int i = 0; i < kClients * kEach; ++i) {
    const auto& run = recorders[static_cast<size_t>(i)].run;
    ASSERT_TRUE(run.finished);
    EXPECT_EQ(run.ledger, alone(i, 10 + i)) << i;
  }
  const EngineSnapshot now = thread.snapshot();
  EXPECT_EQ(now.waiting + now.running, 0);
  EXPECT_EQ(now.prompt_tokens, 5 * kClients * kEach);
}

TEST(EngineThread, SubmittingCancellingAndLookingFromManyThreadsLeavesEveryLedgerRight) {
  const ToyTarget target({.window = 9});
  ThreadPool pool(2);
  Engine engine(
      target, nullptr, {.pool = &pool},
      {.prefill_chunk = 7, .max_running = 5, .memory_budget = 40000, .prefix_cache = 20000});
  EngineThread thread(engine, {.max_queue = 3});
  constexpr int kClients = 4, kEach = 8;
  std::vector<Recorder> recorders(kClients * kEach);
  std::vector<std::thread> clients;
  for (int c = 0; c < kClients; ++c)
    clients.emplace_back([&, c] {
      for (int i = c * kEach; i < (c + 1) * kEach; ++i) {
        // Neighbours ask for the same, so that they share what is kept.
        const auto ask = [&] {
          return thread.submit(request(i / 2, 10 + i / 2, &recorders[static_cast<size_t>(i)]));
        };
        Result<RequestId> id = ask();
        for (; !id.ok(); id = ask()) {
          EXPECT_EQ(id.error().code, ErrorCode::kBusy);
          std::this_thread::yield();
        }
        if (i % 3 == 0) thread.cancel(id.value());
        EXPECT_LE(thread.snapshot().running, 5);
      }
    });
  for (std::thread& client : clients) client.join();
  thread.drain();
  for (int i = 0; i < kClients * kEach; ++i) {
    const auto& run = recorders[static_cast<size_t>(i)].run;
    ASSERT_TRUE(run.finished);
    const std::vector<std::string> whole = alone(i / 2, 10 + i / 2, 9);
    if (i % 3 != 0) {
      EXPECT_EQ(run.ledger, whole) << i;
    } else {
      EXPECT_TRUE(std::equal(run.ledger.begin(), run.ledger.end(), whole.begin()));
    }
  }
  EXPECT_EQ(thread.snapshot().context_bytes, thread.snapshot().prefix_bytes);
}

TEST(EngineThread, AFullQueueIsBusyAndADrainingOneStops) {
  const ToyTarget target;
  Engine engine(target, nullptr, {}, {.max_running = 1});
  EngineThread thread(engine, {.max_queue = 2});
  Gate gate;
  Recorder second, third, never;
  ASSERT_TRUE(thread.submit(request(1, 3, &gate)).ok());
  gate.wait_until_reached();
  ASSERT_TRUE(thread.submit(request(2, 3, &second)).ok());
  ASSERT_TRUE(thread.submit(request(3, 3, &third)).ok());
  const auto refused = thread.submit(request(4, 3, &never));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kBusy);
  EXPECT_THAT(refused.error().message, HasSubstr("fewer than 3"));
  EXPECT_EQ(thread.snapshot().waiting + thread.snapshot().running, 3);
  std::thread opener([&] {
    while (thread.submit(request(4, 3, &never)).error().code != ErrorCode::kStopping)
      std::this_thread::yield();
    gate.open();
  });
  thread.drain();
  opener.join();
  EXPECT_EQ(gate.reason(), FinishReason::kLength);
  EXPECT_TRUE(second.run.finished && third.run.finished);
  EXPECT_FALSE(never.run.finished);
}

TEST(EngineThread, WhatCheckRefusesIsRefusedAtOnce) {
  const ToyTarget target;
  Engine engine(target, nullptr, {}, {});
  EngineThread thread(engine, {});
  EXPECT_EQ(thread.submit(request(97, 3, nullptr)).error().code, ErrorCode::kUsage);
}

TEST(EngineThread, ACancelledRequestEndsBeforeItsNextForward) {
  const ToyTarget target({.max_context = 100000});
  Engine engine(target, nullptr, {}, {});
  EngineThread thread(engine, {});
  Gate gate;
  Recorder waiting;
  const RequestId id = thread.submit(request(1, 90000, &gate)).value();
  gate.wait_until_reached();
  const RequestId other = thread.submit(request(2, 90000, &waiting)).value();
  EXPECT_EQ(other, id + 1);
  thread.cancel(id);
  thread.cancel(other);
  thread.cancel(12345);
  gate.open();
  thread.drain();
  EXPECT_EQ(gate.reason(), FinishReason::kInterrupted);
  EXPECT_EQ(waiting.run.outcome.reason, FinishReason::kInterrupted);
  EXPECT_EQ(waiting.run.outcome.tokens.size(), 0U);
  EXPECT_EQ(thread.snapshot().forwards, 1);
}

TEST(EngineThread, StoppingEndsEveryRequestAndTheThread) {
  const ToyTarget target({.max_context = 100000});
  Engine engine(target, nullptr, {}, {.max_running = 2});
  std::vector<Recorder> recorders(5);
  {
    EngineThread thread(engine, {});
    for (TokenId i = 0; i < 5; ++i)
      ASSERT_TRUE(thread.submit(request(i, 90000, &recorders[static_cast<size_t>(i)])).ok());
    thread.stop();
    EXPECT_EQ(thread.submit(request(1, 3, nullptr)).error().code, ErrorCode::kStopping);
    thread.drain();
  }
  for (const Recorder& recorder : recorders) {
    EXPECT_TRUE(recorder.run.finished);
    EXPECT_EQ(recorder.run.outcome.reason, FinishReason::kInterrupted);
  }
  EXPECT_EQ(engine.memory_in_use(), 0);
}

TEST(EngineThread, ADeadlineThatHasPassedEndsARequestWithATimeout) {
  const ToyTarget target({.max_context = 100000});
  Engine engine(target, nullptr, {}, {});
  EngineThread thread(engine, {});
  Recorder late, other;
  Request r = request(1, 90000, &late);
  r.deadline = std::chrono::steady_clock::now();
  ASSERT_TRUE(thread.submit(std::move(r)).ok());
  ASSERT_TRUE(thread.submit(request(2, 20, &other)).ok());
  thread.drain();
  EXPECT_EQ(late.run.outcome.reason, FinishReason::kError);
  EXPECT_EQ(late.run.outcome.error->code, ErrorCode::kTimeout);
  EXPECT_EQ(other.run.ledger, alone(2, 20));
}

}  // namespace
}  // namespace spindrift
