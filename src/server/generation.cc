#include "server/generation.h"

#include <exception>
#include <thread>
#include <utility>

namespace spindrift::server {
namespace {

double seconds(std::chrono::steady_clock::duration time) {
  return std::chrono::duration<double>(time).count();
}

}  // namespace

class Generation::Answer final : public RequestListener {
 public:
  explicit Answer(Generation& owner) : owner_(owner) {}

  // On the engine's thread.
  void on_token(const TokenEvent& token) override {
    const auto now = Clock::now();
    if (token.index == 0) {
      owner_.metrics_.first_token(seconds(now - owner_.arrived_));
      const std::lock_guard lock(owner_.mutex_);
      if (!owner_.first_token_s_) owner_.first_token_s_ = seconds(now - owner_.arrived_);
    } else {
      owner_.metrics_.next_token(seconds(now - last_));
    }
    last_ = now;
    if (!owner_.options_.keep_tokens) return;
    Progress::Token kept{.id = token.id, .logprobs = {}};
    int64_t bytes = sizeof kept;
    if (token.logprobs != nullptr) {
      kept.logprobs = *token.logprobs;
      bytes += std::ssize(kept.logprobs->top) * int64_t{sizeof(TokenLogprob)};
    }
    const std::lock_guard lock(owner_.mutex_);
    if (owner_.overflowed_) return;
    progress_.tokens.push_back(std::move(kept));
    note(bytes);
  }

  void on_text(std::string_view piece, bool drafted) override {
    if (!owner_.options_.keep_text) return;
    const std::lock_guard lock(owner_.mutex_);
    if (owner_.overflowed_) return;
    int64_t bytes = std::ssize(piece);
    if (progress_.texts.empty() || progress_.texts.back().drafted != drafted) {
      progress_.texts.push_back({.text = {}, .drafted = drafted});
      bytes += sizeof(Progress::Text);
    }
    progress_.texts.back().text += piece;
    note(bytes);
  }

  void on_round(const RoundRecord& round) override { owner_.metrics_.round(round); }

  void on_finish(Outcome outcome) override {
    outcome.conversation.reset();
    owner_.metrics_.finished(outcome);
    const std::lock_guard lock(owner_.mutex_);
    progress_.outcome = std::move(outcome);
    --owner_.running_;
    note(0);
    owner_.changed_.notify_all();
  }

  RequestId id = 0;

 private:
  friend class Generation;
  // With the mutex held: something new is there.
  void note(int64_t bytes) {
    bytes_ += bytes;
    owner_.buffered_ += bytes;
    if (owner_.buffered_ > kMaxBuffered) owner_.overflowed_ = true;
    if (!owner_.news_) {
      owner_.news_ = true;
      owner_.changed_.notify_all();
    }
  }

  Generation& owner_;
  Progress progress_;
  int64_t bytes_ = 0;  // of progress_
  Clock::time_point last_;
};

Generation::Generation(EngineThread& engine, Metrics& metrics, Clock::time_point arrived,
                       Options options)
    : engine_(engine), metrics_(metrics), arrived_(arrived), options_(options) {}

Generation::~Generation() {
  for (bool cancelled = false; !cancelled;) {
    try {
      cancel();
      cancelled = true;
    } catch (const std::exception&) {
      // Out of memory. The engine still refers to the answers, so they cannot go yet.
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return running_ == 0; });
}

Status Generation::submit(Request request) {
  auto answer = std::make_unique<Answer>(*this);
  request.listener = answer.get();
  {
    const std::lock_guard lock(mutex_);
    ++running_;
  }
  auto id = engine_.submit(std::move(request));
  if (!id.ok()) {
    const std::lock_guard lock(mutex_);
    --running_;
    return id.error();
  }
  answer->id = id.value();
  answers_.push_back(std::move(answer));
  return ok_status();
}

void Generation::cancel() {
  for (const auto& answer : answers_) engine_.cancel(answer->id);
}

bool Generation::wait(std::chrono::milliseconds longest) {
  std::unique_lock lock(mutex_);
  const bool some = changed_.wait_for(lock, longest, [this] { return news_; });
  news_ = false;
  if (!overflowed_) return some;
  lock.unlock();
  cancel();
  return some;
}

Progress Generation::take(size_t answer) {
  Answer& from = *answers_[answer];
  const std::lock_guard lock(mutex_);
  buffered_ -= std::exchange(from.bytes_, 0);
  return std::exchange(from.progress_, {});
}

bool Generation::overflowed() const {
  const std::lock_guard lock(mutex_);
  return overflowed_;
}

std::optional<double> Generation::first_token_s() const {
  const std::lock_guard lock(mutex_);
  return first_token_s_;
}

}  // namespace spindrift::server
