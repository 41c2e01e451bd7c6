#include "drafters/scripted.h"

#include <algorithm>
#include <utility>

#include "core/check.h"

namespace spindrift {

namespace {

// Of every node, from 1 for children of the bonus token.
std::vector<size_t> depths(const ScriptedRound& round) {
  std::vector<size_t> out;
  for (const ScriptedNode& node : round) {
    out.push_back(node.parent == kRoot ? 1 : out[static_cast<size_t>(node.parent)] + 1);
  }
  return out;
}

}  // namespace

ScriptedRound scripted_chain(int hits, int length) {
  ScriptedRound round;
  for (int i = 0; i < length; ++i) {
    round.push_back({.parent = static_cast<RowIndex>(i) - 1, .hit = i < hits});
  }
  return round;
}

class ScriptedDrafter::State final : public DraftState {
 public:
  explicit State(std::unique_ptr<DraftState> inner_state) : inner(std::move(inner_state)) {}
  Position observed() const override { return static_cast<Position>(history.size()); }
  void reset() override {
    history.clear();
    round = 0;
    if (inner != nullptr) inner->reset();
  }
  Status truncate(Position n) override {
    if (inner != nullptr) SPINDRIFT_TRY_STATUS(inner->truncate(n));
    history.resize(static_cast<size_t>(n));
    return ok_status();
  }
  int64_t bytes() const override {
    return static_cast<int64_t>(history.capacity() * sizeof(TokenId)) +
           (inner != nullptr ? inner->bytes() : 0);
  }

  std::unique_ptr<DraftState> inner;
  std::vector<TokenId> history;  // committed tokens
  size_t round = 0;              // of the script, next
};

ScriptedDrafter::ScriptedDrafter(int64_t vocab, std::vector<ReferenceIds> references,
                                 std::vector<ScriptedRound> rounds, const Drafter* inner)
    : vocab_(vocab), references_(std::move(references)), rounds_(std::move(rounds)), inner_(inner) {
  SPINDRIFT_CHECK(vocab_ >= 2, "a wrong token exists");
  SPINDRIFT_CHECK(!rounds_.empty(), "a script has a round");
  for (const ScriptedRound& round : rounds_) {
    for (size_t i = 0; i < round.size(); ++i) {
      const RowIndex parent = round[i].parent;
      SPINDRIFT_CHECK(parent >= kRoot && parent < static_cast<RowIndex>(i),
                      "nodes come after their parents");
    }
  }
}

std::span<const Tap> ScriptedDrafter::taps() const {
  return inner_ != nullptr ? inner_->taps() : std::span<const Tap>{};
}

int ScriptedDrafter::max_nodes() const {
  size_t largest = 0;
  for (const ScriptedRound& round : rounds_) largest = std::max(largest, round.size());
  return static_cast<int>(largest);
}

int ScriptedDrafter::max_depth() const {
  size_t deepest = 0;
  for (const ScriptedRound& round : rounds_) {
    for (const size_t depth : depths(round)) deepest = std::max(deepest, depth);
  }
  return static_cast<int>(deepest);
}

std::unique_ptr<DraftState> ScriptedDrafter::open() const {
  return std::make_unique<State>(inner_ != nullptr ? inner_->open() : nullptr);
}

void ScriptedDrafter::observe(DraftState& state, const Accepted& rows, Workspace& ws,
                              const Exec& ex) const {
  auto& s = static_cast<State&>(state);
  SPINDRIFT_CHECK(rows.first == s.observed(), "rows are observed without gaps");
  s.history.insert(s.history.end(), rows.tokens.begin(), rows.tokens.end());
  if (inner_ != nullptr) inner_->observe(*s.inner, rows, ws, ex);
}

void ScriptedDrafter::propose(std::span<const DraftCall> calls, Workspace& ws,
                              const Exec& ex) const {
  if (inner_ != nullptr) {
    std::vector<DraftCall> inner_calls(calls.begin(), calls.end());
    for (DraftCall& call : inner_calls) {
      call.state = static_cast<State&>(*call.state).inner.get();
      call.max_nodes = std::min(call.max_nodes, inner_->max_nodes());
      call.max_depth = std::min(call.max_depth, inner_->max_depth());
    }
    inner_->propose(inner_calls, ws, ex);
  }
  for (const DraftCall& call : calls) propose_round(static_cast<State&>(*call.state), call);
}

// What truly follows `history`, as far as a reference knows.
std::span<const TokenId> ScriptedDrafter::continuation(std::span<const TokenId> history) const {
  for (const ReferenceIds& reference : references_) {
    if (reference.size() >= history.size() &&
        std::equal(history.begin(), history.end(), reference.begin())) {
      return std::span(reference).subspan(history.size());
    }
  }
  return {};
}

void ScriptedDrafter::propose_round(State& state, const DraftCall& call) const {
  call.out->clear();
  if (call.max_nodes <= 0) return;
  const ScriptedRound& round = rounds_[state.round++ % rounds_.size()];
  state.history.push_back(call.bonus);
  const std::span<const TokenId> truth = continuation(state.history);
  state.history.pop_back();

  const std::vector<size_t> depth = depths(round);
  std::vector<RowIndex> row(round.size(), 0);  // in call.out
  std::vector<TokenId> misses(round.size() + 1, 0);
  for (size_t i = 0; i < round.size() && std::ssize(call.out->tokens) < call.max_nodes; ++i) {
    const auto parent = static_cast<size_t>(round[i].parent + 1);  // 0 = the bonus token
    if (std::cmp_greater(depth[i], call.max_depth) || depth[i] > truth.size()) continue;
    const TokenId right = truth[depth[i] - 1];
    TokenId token = right;
    if (!round[i].hit) {
      // Siblings that miss differ from the truth and from each other while the vocabulary lasts.
      const int64_t distance = 1 + misses[parent]++ % (vocab_ - 1);
      token = static_cast<TokenId>((right + distance) % vocab_);
    }
    row[i] = static_cast<RowIndex>(call.out->tokens.size());
    call.out->tokens.push_back(token);
    call.out->parents.push_back(parent == 0 ? kRoot : row[parent - 1]);
  }
}

}  // namespace spindrift
