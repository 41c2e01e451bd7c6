#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/types.h"
#include "support/npy_reader.h"

namespace spindrift::testing {

// A block drafted by the reference with `position` context rows. Row 0 is the bonus token's own.
struct GoldenBlock {
  Position position = 0;
  TokenId bonus = 0;
  std::vector<std::vector<TokenId>> top_ids;    // [row][3], best first
  std::vector<std::vector<double>> top_logits;  // of those
  NpyArray hidden;                              // [block size, hidden], after the last norm
};

struct GoldenRound {
  Position position = 0;
  TokenId bonus = 0;
  std::vector<TokenId> draft;
  std::vector<double> draft_margins;  // best minus second logit, for each drafted token
  double verify_margin = 0.0;         // the smallest of the target's rows that decided the round
  int accepted = 0;                   // before the cut at a stop or the limit
  int emitted = 0;                    // after it
};

struct GoldenRun {
  std::vector<TokenId> prompt_ids;
  std::vector<TokenId> ids;
  std::vector<GoldenRound> rounds;
};

// The `golden` folder beside a DFlash drafter: outputs of the published forward in PyTorch.
struct DFlashGolden {
  std::string target;                 // the target they were computed on
  double tolerance = 1e-3;            // of a hidden value or logit
  std::vector<TokenId> ids;           // the context
  std::vector<int64_t> context_rows;  // positions of the rows in `context`
  NpyArray context;                   // what keys and values are projected from
  std::vector<GoldenBlock> blocks;

  static DFlashGolden read(const std::filesystem::path& folder);
};

// Reference rounds of `label`; empty when the folder has none.
std::vector<GoldenRun> read_golden_runs(const std::filesystem::path& folder,
                                        std::string_view label);

}  // namespace spindrift::testing
