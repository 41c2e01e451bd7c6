#include "drafters/mlp_speculator/spread.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace spindrift::mlp_speculator {
namespace {

// Stage rows of all roots, and where each root's begin.
struct StageInput {
  std::vector<StageRow> rows;
  std::vector<int64_t> first;  // of each root; one more at the end
  int64_t most = 0;            // the largest top_k of the stage
};

bool takes_part(const SpreadRoot& root, const Spread& spread, int stage) {
  return std::ssize(root.top_k) > stage && std::ssize(spread.levels) == stage;
}

StageInput stage_input(std::span<const SpreadRoot> roots, std::span<const Spread> spreads,
                       int stage) {
  StageInput input;
  for (size_t i = 0; i < roots.size(); ++i) {
    input.first.push_back(std::ssize(input.rows));
    if (!takes_part(roots[i], spreads[i], stage)) continue;
    input.most = std::max<int64_t>(input.most, roots[i].top_k[static_cast<size_t>(stage)]);
    if (stage == 0) {
      input.rows.push_back({static_cast<int64_t>(i), roots[i].token});
    } else {
      for (const Beam& beam : spreads[i].levels.back())
        input.rows.push_back({beam.state, beam.token});
    }
  }
  input.first.push_back(std::ssize(input.rows));
  return input;
}

// The beams of one root: rows [first, last) of the stage, of whose picks it takes the best k.
void add_level(const StageInput& input, size_t root, int k, std::span<const Pick> picks,
               Spread& spread) {
  std::vector<Beam> level;
  const int64_t first = input.first[root];
  for (int64_t row = first; row < input.first[root + 1]; ++row) {
    const float before =
        spread.levels.empty() ? 0.0F : spread.levels.back()[static_cast<size_t>(row - first)].score;
    for (const Pick& pick :
         picks.subspan(static_cast<size_t>(row * input.most)).first(static_cast<size_t>(k))) {
      if (pick.token == kNoToken) continue;
      const float score = before + pick.value;
      level.push_back(
          {.state = row,
           .parent = row - first,
           .token = pick.token,
           .score = std::isfinite(score) ? score : std::numeric_limits<float>::lowest()});
    }
  }
  if (!level.empty()) spread.levels.push_back(std::move(level));
}

std::vector<TokenId> path_to(const Spread& spread, size_t leaf) {
  std::vector<TokenId> ids(spread.levels.size());
  for (size_t level = ids.size(); level-- > 0;) {
    const Beam& beam = spread.levels[level][leaf];
    ids[level] = beam.token;
    leaf = static_cast<size_t>(beam.parent);
  }
  return ids;
}

}  // namespace

std::vector<Spread> spread(const Model& model, ConstRows hidden, std::span<const SpreadRoot> roots,
                           PickValue value, Workspace& ws, const Exec& ex) {
  std::vector<Spread> spreads(roots.size());
  ConstRows states = input_states(model, hidden, ws, ex);
  for (int stage = 0; stage < model.config.stages; ++stage) {
    const StageInput input = stage_input(roots, spreads, stage);
    if (input.rows.empty()) break;
    states = run_stage(model, stage, states, input.rows, ws, ex);
    const Head& head = *model.weights.stages[static_cast<size_t>(stage)].head;
    const std::vector<Pick> picks = best_tokens(head, states, input.most, value, ex);
    for (size_t i = 0; i < roots.size(); ++i) {
      if (!takes_part(roots[i], spreads[i], stage)) continue;
      add_level(input, i, roots[i].top_k[static_cast<size_t>(stage)], picks, spreads[i]);
    }
  }
  return spreads;
}

std::vector<Candidate> best_candidates(const Spread& spread, int keep) {
  if (spread.levels.empty()) return {};
  const std::vector<Beam>& leaves = spread.levels.back();
  std::vector<size_t> order(leaves.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return leaves[a].score > leaves[b].score; });
  order.resize(std::min(order.size(), static_cast<size_t>(keep)));
  std::vector<Candidate> best;
  best.reserve(order.size());
  for (const size_t leaf : order) best.push_back({path_to(spread, leaf), leaves[leaf].score});
  return best;
}

std::vector<TokenId> greedy_path(const Spread& spread) { return path_to(spread, 0); }

}  // namespace spindrift::mlp_speculator
