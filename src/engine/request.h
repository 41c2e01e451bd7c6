#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "core/types.h"
#include "engine/conversation.h"
#include "engine/draft_width.h"
#include "engine/sampler.h"
#include "engine/stats.h"
#include "engine/stop_rule.h"

namespace spindrift {

using RequestId = int64_t;

enum class FinishReason : uint8_t { kStop, kLength, kInterrupted, kError };
// "stop", "length", "interrupted", "error".
std::string_view name(FinishReason reason);

// One generated token, as soon as it is certain.
struct TokenEvent {
  int64_t index = 0;  // from 0
  TokenId id = 0;
  bool drafted = false;                // an accepted draft token, not the target's own step
  uint64_t logits_hash = 0;            // with Request::ledger
  const Logprobs* logprobs = nullptr;  // with Request::top_logprobs
};

// One target forward after prefill. Spans live for the call.
struct RoundRecord {
  int64_t round = 0;      // from 0
  Position position = 0;  // of the bonus token
  TokenId bonus = 0;
  std::span<const TokenId> draft;
  std::span<const RowIndex> parents;  // of `draft`, kRoot = child of the bonus token
  int accepted = 0;                   // before the cut at a stop or the limit
  int emitted = 0;                    // after it
  double draft_s = 0;
  double verify_s = 0;
  std::string_view why;  // of the width
  double expected = 0;   // tokens per second of this width against plain ones; 0 = not known
};
// One JSON object, no newline. `parents` only when the draft is not a chain.
std::string to_json(const RoundRecord& round);

// What a finished request leaves. On kError the partial output is kept beside the error.
struct Outcome {
  RequestId id = 0;
  std::vector<TokenId> tokens;  // the stop id included
  std::string text;             // valid UTF-8 if the decoder's is
  FinishReason reason = FinishReason::kStop;
  std::optional<Error> error;
  GenerationStats stats;
  std::string ledger_digest;                   // with Request::ledger, else empty
  std::unique_ptr<Conversation> conversation;  // to hand to the next turn's request
};

// Hears about one request, on the engine's thread. What it does delays every other request: it must
// return soon, never wait for a reader, and not throw. After on_finish it is not called again.
class RequestListener {
 public:
  virtual ~RequestListener() = default;
  virtual void on_prefill(int64_t /*done*/, int64_t /*total*/) {}  // prompt tokens
  virtual void on_token(const TokenEvent& /*token*/) {}
  // Text that is certain; `drafted` as of the token that released it. All pieces together are
  // Outcome::text.
  virtual void on_text(std::string_view /*piece*/, bool /*drafted*/) {}
  virtual void on_round(const RoundRecord& /*round*/) {}
  virtual void on_finish(Outcome /*outcome*/) {}
};

struct Request {
  std::vector<TokenId> prompt;
  SamplingParams sampling;
  StopSpec stop;
  DraftWidth draft;
  bool ledger = false;
  std::optional<int32_t> top_logprobs;  // 0 = the chosen token's only
  std::unique_ptr<TextDecoder> text;    // null = ids only
  // The cache of an earlier turn (or nothing); comes back in the outcome.
  std::unique_ptr<Conversation> conversation;
  // When it is not done by then it ends before its next forward with kTimeout.
  std::optional<std::chrono::steady_clock::time_point> deadline;
  // Set from any thread to end the request before its next forward; may be null; must outlive it.
  const std::atomic<bool>* cancelled = nullptr;
  RequestListener* listener = nullptr;  // may be null; must outlive the request
};

}  // namespace spindrift
