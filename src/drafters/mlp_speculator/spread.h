#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/exec.h"
#include "core/rows.h"
#include "core/types.h"
#include "drafters/mlp_speculator/best_tokens.h"
#include "drafters/mlp_speculator/forward.h"
#include "models/target_model.h"

namespace spindrift::mlp_speculator {

// A token tried after a stage.
struct Beam {
  int64_t state = 0;   // row of the stage's states that it came from
  int64_t parent = 0;  // beam of the level above; 0 in the first
  TokenId token = 0;
  float score = 0.0F;  // sum of the values of the picks up to this one
};

// What the stages tried for one conversation: levels[i] are stage i's beams, those of one parent
// together and best first, so that levels[i][0] is the greedy token. Ends early where a head had no
// numbers to offer.
struct Spread {
  std::vector<std::vector<Beam>> levels;
};

// Where a spread starts: the token after the hidden row, and how many tokens are tried after each
// stage (at most as many numbers as there are stages).
struct SpreadRoot {
  TokenId token = 0;
  std::span<const int> top_k;
};

// Spreads every root, which go on from the rows of `hidden` in order. One pass over each stage's
// weights serves all of them. Row law: a root's beams depend on its row, token and top_k alone.
std::vector<Spread> spread(const Model& model, ConstRows hidden, std::span<const SpreadRoot> roots,
                           PickValue value, Workspace& ws, const Exec& ex);

// A continuation: the tokens of one path.
struct Candidate {
  std::vector<TokenId> ids;
  float score = 0.0F;
};

// The `keep` (or all) best paths of the last level, by score; equal ones in the order of the beams
// (fms-extras leaves that order to torch.topk, which promises none).
std::vector<Candidate> best_candidates(const Spread& spread, int keep);

// The best token after each stage, given the best before it.
std::vector<TokenId> greedy_path(const Spread& spread);

}  // namespace spindrift::mlp_speculator
