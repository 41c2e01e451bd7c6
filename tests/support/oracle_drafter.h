#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "core/check.h"
#include "drafters/drafter.h"
#include "drafters/scripted.h"
#include "engine/ledger.h"
#include "support/toy_target.h"

namespace spindrift::testing {

// A scripted drafter of the toy target that watches what it is shown: rows gap free, every tap; it
// keeps the ids and a hash of the tap rows by position.
class OracleDrafter final : public Drafter {
 public:
  // `known`: whole conversations (prompt + answer).
  OracleDrafter(std::vector<ReferenceIds> known, std::vector<ScriptedRound> rounds)
      : scripted_(ToyTarget::kVocab, std::move(known), std::move(rounds)) {}

  class State final : public DraftState {
   public:
    explicit State(std::unique_ptr<DraftState> script_state) : script(std::move(script_state)) {}
    Position observed() const override { return std::ssize(ids); }
    void reset() override { ids.clear(), tap_hashes.clear(), script->reset(); }
    Status truncate(Position n) override {
      ids.resize(static_cast<size_t>(n));
      tap_hashes.resize(static_cast<size_t>(n));
      return script->truncate(n);
    }
    int64_t bytes() const override { return 0; }
    std::unique_ptr<DraftState> script;
    std::vector<TokenId> ids;
    std::vector<uint64_t> tap_hashes;
  };

  std::string_view kind() const override { return "oracle"; }
  std::span<const Tap> taps() const override { return kTaps; }
  int max_nodes() const override { return scripted_.max_nodes(); }
  int max_depth() const override { return scripted_.max_depth(); }
  std::unique_ptr<DraftState> open() const override {
    return std::make_unique<State>(scripted_.open());
  }

  void observe(DraftState& state, const Accepted& rows, Workspace& ws,
               const Exec& ex) const override {
    auto& s = static_cast<State&>(state);
    SPINDRIFT_CHECK(rows.first == s.observed(), "observed rows have no gap");
    SPINDRIFT_CHECK(rows.taps.size() == std::size(kTaps), "every tap is shown");
    for (size_t i = 0; i < rows.tokens.size(); ++i) {
      s.ids.push_back(rows.tokens[i]);
      uint64_t hash = 0;
      for (const ConstRows& tap : rows.taps) {
        SPINDRIFT_CHECK(tap.rows() == std::ssize(rows.tokens), "one tap row a token");
        hash = hash * 31 + hash_logits(tap.row(static_cast<int64_t>(i)));
      }
      s.tap_hashes.push_back(hash);
    }
    scripted_.observe(*s.script, rows, ws, ex);
  }

  void propose(std::span<const DraftCall> calls, Workspace& ws, const Exec& ex) const override {
    std::vector<DraftCall> script_calls(calls.begin(), calls.end());
    for (DraftCall& call : script_calls) call.state = static_cast<State&>(*call.state).script.get();
    scripted_.propose(script_calls, ws, ex);
  }

 private:
  static constexpr Tap kTaps[] = {{.kind = Tap::Kind::kAfterLayer, .layer = 0},
                                  {.kind = Tap::Kind::kFinalNorm, .layer = 0}};
  ScriptedDrafter scripted_;
};

// A chain of `width` tokens that is right where bit i of `pattern` is set.
inline std::vector<ScriptedRound> chain_pattern(uint32_t pattern, int width) {
  ScriptedRound round = scripted_chain(0, width);
  for (size_t i = 0; i < round.size(); ++i) round[i].hit = ((pattern >> i) & 1U) != 0;
  return {round};
}

// Every pattern of hits and misses in turn, one a round.
inline std::vector<ScriptedRound> every_chain(int width) {
  std::vector<ScriptedRound> rounds;
  for (uint32_t pattern = 0; pattern < (1U << static_cast<unsigned>(width)); ++pattern)
    rounds.push_back(chain_pattern(pattern, width).front());
  return rounds;
}

// Trees: at every depth `branches` siblings, of which the one that rotates with the round is right
// and carries the next depth; every third round it is wrong at depth 2.
inline std::vector<ScriptedRound> rotating_tree(int depth, int branches) {
  std::vector<ScriptedRound> rounds;
  for (int r = 0; r < 3 * branches; ++r) {
    ScriptedRound round;
    RowIndex parent = kRoot;
    for (int d = 0; d < depth; ++d) {
      const auto right = static_cast<RowIndex>(round.size()) + (r + d) % branches;
      const bool spoiled = d == 1 && r % 3 == 2;
      for (int b = 0; b < branches; ++b)
        round.push_back(
            {.parent = parent, .hit = static_cast<RowIndex>(round.size()) == right && !spoiled});
      parent = right;
    }
    rounds.push_back(round);
  }
  return rounds;
}

}  // namespace spindrift::testing
