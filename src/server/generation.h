#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "app/assemble.h"
#include "core/result.h"
#include "engine/engine_thread.h"
#include "engine/request.h"
#include "server/metrics.h"

namespace spindrift::server {

// What one answer brought since it was last asked for.
struct Progress {
  struct Text {
    std::string text;
    bool drafted = false;
  };
  struct Token {
    TokenId id = 0;
    std::optional<Logprobs> logprobs;
  };
  std::vector<Text> texts;         // in order; neighbours of one kind joined
  std::vector<Token> tokens;       // with keep_tokens
  std::optional<Outcome> outcome;  // the answer has ended

  bool empty() const { return texts.empty() && tokens.empty() && !outcome; }
};

// The answers to one HTTP request, each a request to the engine. The engine's thread leaves here
// what it makes and never waits; one other thread takes it. What nobody takes is kept up to a
// limit, beyond which the answers are cancelled. Destruction cancels what has not ended and waits
// for it: at most one forward.
class Generation {
 public:
  using Clock = std::chrono::steady_clock;
  struct Options {
    bool keep_text = false;  // off: the text comes with the outcome alone
    bool keep_tokens = false;
  };
  Generation(EngineThread& engine, Metrics& metrics, Clock::time_point arrived, Options options);
  ~Generation();
  Generation(const Generation&) = delete;
  Generation& operator=(const Generation&) = delete;

  // Submits the next answer's request; listener is set here. After an error the whole is of no use.
  Status submit(Request request);
  size_t answers() const { return answers_.size(); }

  // Waits until some answer brought something or `longest` is over; false in the second case.
  bool wait(std::chrono::milliseconds longest);
  // Moves out what one answer has left.
  Progress take(size_t answer);
  // The reader was too slow for the buffers; the answers were cancelled.
  bool overflowed() const;
  // Seconds from arrival to the first token of the first answer that has one.
  std::optional<double> first_token_s() const;

 private:
  class Answer;
  void cancel();

  static constexpr int64_t kMaxBuffered = 8 * 1024 * 1024;  // bytes nobody has taken, all answers

  EngineThread& engine_;
  Metrics& metrics_;
  const Clock::time_point arrived_;
  const Options options_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool news_ = false;
  bool overflowed_ = false;
  int64_t buffered_ = 0;
  size_t running_ = 0;
  std::optional<double> first_token_s_;
  std::vector<std::unique_ptr<Answer>> answers_;
};

}  // namespace spindrift::server
