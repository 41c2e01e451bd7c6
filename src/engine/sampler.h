#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/result.h"
#include "core/types.h"

namespace spindrift {

// Added to the logit of one token.
struct LogitBias {
  TokenId id = 0;
  float bias = 0.0F;
  friend bool operator==(const LogitBias&, const LogitBias&) = default;
};

// How the next token is drawn from a row of logits. The order is the one of transformers: bias,
// repetition penalty, temperature, top-k, top-p (over what top-k left, renormalised), min-p.
struct SamplingParams {
  float temperature = 0.0F;          // 0 = greedy: the largest logit after the penalty, no noise
  int32_t top_k = 0;                 // 0 = off; exactly k survive, ties to the lowest ids
  float top_p = 1.0F;                // 1 = off; the fewest likeliest tokens that hold this mass
  float min_p = 0.0F;                // 0 = off; at least this share of the likeliest token
  float repetition_penalty = 1.0F;   // 1 = off; positive logits of seen ids / p, negative ones * p
  std::vector<LogitBias> bias = {};  // ids beyond the row count for nothing
  uint64_t seed = 0;
  uint32_t stream = 0;  // choice i of several answers to one request draws with stream i
  friend bool operator==(const SamplingParams&, const SamplingParams&) = default;
};

// kUsage, naming the parameter, when one is out of range.
Status validate(const SamplingParams& params);

// Buffers that sampling reuses from token to token; contents have no meaning between calls.
struct SamplerScratch {
  std::vector<double> score;
  std::vector<double> weight;
  std::vector<int32_t> order;
  std::vector<uint32_t> stamp;
  uint32_t stamped = 0;
};

// The token at position history.size(): a pure function of the row's bits, the parameters and the
// history (prompt + generated ids, all in [0, logits.size())). Noise is keyed by (seed, stream,
// position), so drafting, batching or replaying a conversation cannot change it. Arithmetic is
// double in a fixed order with a fixed exp. kCorrupt, naming position and id, when a logit is not
// finite.
Result<TokenId> sample(std::span<const float> logits, const SamplingParams& params,
                       std::span<const TokenId> history, SamplerScratch& scratch);

struct TokenLogprob {
  TokenId id = 0;
  float logprob = 0.0F;
};

// Natural log-probabilities of the model itself (temperature 1, no filter): of the chosen token,
// and of the `top` likeliest ones, ties to the lowest id. The logits must be finite.
struct Logprobs {
  float chosen = 0.0F;
  std::vector<TokenLogprob> top;
};
Logprobs logprobs(std::span<const float> logits, TokenId chosen, int32_t top);

}  // namespace spindrift
