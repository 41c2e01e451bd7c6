#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/exec.h"
#include "core/rows.h"
#include "core/types.h"
#include "drafters/mlp_speculator/weights.h"

namespace spindrift::mlp_speculator {

inline constexpr TokenId kNoToken = -1;

// A token that a head likes. `value` is its logit, or its log-probability where that was asked for.
struct Pick {
  TokenId token = kNoToken;
  float value = 0.0F;
};

enum class PickValue : uint8_t { kLogit, kLogProbability };

// For each row of `states` [rows, inner] the k tokens with the largest logits under `head`, best
// first, equal ones by token: [rows * k]. A row with fewer logits above minus infinity (a NaN is
// none) ends in picks of kNoToken. Logits are searched block by block while they are made, and not
// kept. Row law.
std::vector<Pick> best_tokens(const Head& head, ConstRows states, int64_t k, PickValue value,
                              const Exec& ex);

}  // namespace spindrift::mlp_speculator
