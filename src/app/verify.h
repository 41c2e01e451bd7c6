#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "app/assemble.h"
#include "core/result.h"
#include "core/types.h"

namespace spindrift {

struct VerifyOptions {
  bool quick = false;                         // fewer settings, shorter runs
  std::vector<std::vector<TokenId>> prompts;  // at least one, none empty
  int64_t new_tokens = 48;
};

// One way of running, compared with the plain run of the same prompts and temperatures.
struct VerifyRow {
  std::string setting;  // "drafter dflash, 7 draft tokens"
  int runs = 0;
  int different = 0;             // runs whose ledger differs
  double mean_accepted = 0;      // over the rounds that drafted
  std::string first_difference;  // "prompt 0, temperature 0.7", or empty
};

// Runs every prompt at several temperatures plainly, then with every draft width (the model's
// drafter where there is one, and a scripted one that hits and misses in turn), thread count,
// prefill chunk and instruction set, and compares ledgers. `progress` hears each setting before it
// runs.
Result<std::vector<VerifyRow>> verify(const Assembly& assembly, const VerifyOptions& options,
                                      const std::function<void(std::string_view)>& progress);

}  // namespace spindrift
