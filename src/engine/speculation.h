#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/result.h"
#include "core/types.h"

namespace spindrift {

// What verification found: the rows whose token the target itself would have produced, and the
// tokens it draws there. |path| == |emitted|; every emitted token but the last was drafted; the
// last is the next bonus. On an error the walk ends before the row that caused it.
struct Walk {
  std::vector<RowIndex> path;
  std::vector<TokenId> emitted;
  std::optional<Error> error;
};

// Verification by replay. `tokens` and `parents` are the rows of one sequence: row 0 is the bonus
// token, the others the draft. Draws the target's own token at row 0 with draw(row, history) ->
// Result<TokenId>, steps to the child row that holds it, and so on until no child does. `history`
// ends with the bonus token and is as before on return. Since the draw is a pure function of row
// and history, the tokens are those of plain decoding, at any temperature.
template <class Draw>
Walk replay(std::span<const TokenId> tokens, std::span<const RowIndex> parents,
            std::vector<TokenId>& history, const Draw& draw) {
  Walk walk;
  const size_t before = history.size();
  for (RowIndex at = 0; at != kRoot;) {
    Result<TokenId> drawn = draw(at, std::span<const TokenId>(history));
    if (!drawn.ok()) {
      walk.error = drawn.error();
      break;
    }
    const TokenId token = drawn.value();
    walk.path.push_back(at);
    walk.emitted.push_back(token);
    history.push_back(token);
    RowIndex next = kRoot;
    for (size_t row = static_cast<size_t>(at) + 1; row < tokens.size() && next == kRoot; ++row)
      if (parents[row] == at && tokens[row] == token) next = static_cast<RowIndex>(row);
    at = next;
  }
  history.resize(before);
  return walk;
}

// Depth of every draft node below the bonus token (its children have depth 1).
inline int draft_depth(std::span<const RowIndex> draft_parents) {
  std::vector<int> depth(draft_parents.size());
  int deepest = 0;
  for (size_t i = 0; i < draft_parents.size(); ++i) {
    depth[i] = draft_parents[i] == kRoot ? 1 : depth[static_cast<size_t>(draft_parents[i])] + 1;
    deepest = std::max(deepest, depth[i]);
  }
  return deepest;
}

}  // namespace spindrift
