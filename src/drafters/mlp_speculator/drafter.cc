#include "drafters/mlp_speculator/drafter.h"

#include <algorithm>
#include <utility>

#include "core/check.h"
#include "drafters/mlp_speculator/state.h"

namespace spindrift::mlp_speculator {
namespace {

constexpr Tap kFinalRow[] = {{.kind = Tap::Kind::kFinalNorm, .layer = 0}};

State& as_state(DraftState& state) { return static_cast<State&>(state); }

// Nodes of the largest tree: on each level the beams, of which the candidates and the chain keep
// one each at most.
int largest_tree(const Config& config) {
  int64_t beams = 1, nodes = 0;
  for (const int k : config.top_k) {
    beams *= k;
    nodes += std::min<int64_t>(beams, config.candidates + 1);
  }
  return static_cast<int>(nodes);
}

// The child of `parent` that holds `token`; kRoot when there is none.
RowIndex find_child(const DraftTree& tree, RowIndex parent, TokenId token) {
  for (size_t i = 0; i < tree.tokens.size(); ++i) {
    if (tree.parents[i] == parent && tree.tokens[i] == token) return static_cast<RowIndex>(i);
  }
  return kRoot;
}

// Adds what the tree lacks of a path; false, and nothing added, when it does not fit.
bool add_path(std::span<const TokenId> path, int max_nodes, DraftTree& tree) {
  RowIndex at = kRoot;
  size_t shared = 0;
  for (; shared < path.size(); ++shared) {
    const RowIndex child = find_child(tree, at, path[shared]);
    if (child == kRoot) break;
    at = child;
  }
  if (std::ssize(tree.tokens) + std::ssize(path.subspan(shared)) > max_nodes) return false;
  for (const TokenId token : path.subspan(shared)) {
    tree.parents.push_back(at);
    at = static_cast<RowIndex>(tree.tokens.size());
    tree.tokens.push_back(token);
  }
  return true;
}

}  // namespace

void merge_paths(std::span<const TokenId> chain, std::span<const Candidate> candidates,
                 int max_nodes, DraftTree& tree) {
  const auto room = static_cast<size_t>(std::max(max_nodes, 0));
  add_path(chain.first(std::min(chain.size(), room)), max_nodes, tree);
  for (const Candidate& candidate : candidates) {
    if (!add_path(candidate.ids, max_nodes, tree)) return;
  }
}

MlpSpeculatorDrafter::MlpSpeculatorDrafter(Config config, Weights weights)
    : model_(std::move(config), std::move(weights)),
      has_tree_(model_.config.candidates > 1 &&
                std::any_of(model_.config.top_k.begin(), model_.config.top_k.end(),
                            [](int k) { return k > 1; })),
      max_nodes_(has_tree_ ? largest_tree(model_.config) : model_.config.stages),
      chain_(static_cast<size_t>(model_.config.stages), 1) {}

std::span<const Tap> MlpSpeculatorDrafter::taps() const { return kFinalRow; }

std::unique_ptr<DraftState> MlpSpeculatorDrafter::open() const { return std::make_unique<State>(); }

void MlpSpeculatorDrafter::observe(DraftState& state, const Accepted& rows, Workspace& /*ws*/,
                                   const Exec& /*ex*/) const {
  State& s = as_state(state);
  SPINDRIFT_CHECK(rows.first == s.observed(), "rows are observed without gaps");
  SPINDRIFT_CHECK(rows.taps.size() == 1 && rows.taps[0].cols() == model_.config.hidden,
                  "the tap asked for");
  const int64_t count = std::ssize(rows.tokens);
  if (count > 0) s.advance(rows.first + count, rows.taps[0].row(count - 1));
}

int MlpSpeculatorDrafter::stages(const DraftCall& call) const {
  return std::clamp(call.max_depth, 0, model_.config.stages);
}

bool MlpSpeculatorDrafter::wants_tree(const DraftCall& call) const {
  return has_tree_ && call.max_nodes > stages(call);
}

std::span<const int> MlpSpeculatorDrafter::top_k(const DraftCall& call) const {
  const int count = std::clamp(call.max_nodes, 0, stages(call));
  return std::span<const int>(wants_tree(call) ? model_.config.top_k : chain_)
      .first(static_cast<size_t>(count));
}

void MlpSpeculatorDrafter::propose(std::span<const DraftCall> calls, Workspace& ws,
                                   const Exec& given) const {
  const Exec ex = given.drafting();
  std::vector<const DraftCall*> served;
  std::vector<SpreadRoot> roots;
  PickValue value = PickValue::kLogit;
  for (const DraftCall& call : calls) {
    call.out->clear();
    if (top_k(call).empty() || as_state(*call.state).row().empty()) continue;
    served.push_back(&call);
    roots.push_back({call.bonus, top_k(call)});
    if (wants_tree(call)) value = PickValue::kLogProbability;
  }
  const Rows hidden = ws.rows(kHiddenSlot, std::ssize(served), model_.config.hidden);
  for (size_t i = 0; i < served.size(); ++i) {
    std::ranges::copy(as_state(*served[i]->state).row(),
                      hidden.row(static_cast<int64_t>(i)).begin());
  }
  const std::vector<Spread> spreads = spread(model_, hidden, roots, value, ws, ex);
  for (size_t i = 0; i < served.size(); ++i) {
    std::vector<Candidate> candidates;
    if (wants_tree(*served[i])) {
      candidates = best_candidates(spreads[i], model_.config.candidates);
    }
    if (spreads[i].levels.empty()) continue;
    merge_paths(greedy_path(spreads[i]), candidates, served[i]->max_nodes, *served[i]->out);
  }
}

}  // namespace spindrift::mlp_speculator
