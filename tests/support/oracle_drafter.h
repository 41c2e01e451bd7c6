#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string_view>
#include <vector>

#include "core/check.h"
#include "drafters/drafter.h"
#include "engine/ledger.h"

namespace spindrift::testing {

// Drafts for one round: `truth` are the tokens that will really follow the bonus token (as many as
// are known), `round` counts from 0.
using Proposal = std::function<void(std::span<const TokenId> truth, int64_t round, int max_nodes,
                                    DraftTree& out)>;

// A drafter that knows how the conversation goes on and hits or misses on purpose. It checks what
// it is shown: rows gap free, ids as known, and records a hash of every tap row by position.
class OracleDrafter final : public Drafter {
 public:
  // `known`: whole conversations (prompt + answer), told apart by their first token.
  OracleDrafter(std::vector<std::vector<TokenId>> known, Proposal proposal, int max_nodes)
      : known_(std::move(known)), proposal_(std::move(proposal)), max_nodes_(max_nodes) {}

  class State final : public DraftState {
   public:
    Position observed() const override { return std::ssize(ids); }
    void reset() override { ids.clear(), tap_hashes.clear(); }
    Status truncate(Position n) override {
      ids.resize(static_cast<size_t>(n));
      tap_hashes.resize(static_cast<size_t>(n));
      return ok_status();
    }
    int64_t bytes() const override { return 0; }
    std::vector<TokenId> ids;
    std::vector<uint64_t> tap_hashes;
    int64_t round = 0;
  };

  std::string_view kind() const override { return "oracle"; }
  std::span<const Tap> taps() const override { return kTaps; }
  int max_nodes() const override { return max_nodes_; }
  std::unique_ptr<DraftState> open() const override { return std::make_unique<State>(); }

  void observe(DraftState& state, const Accepted& rows, Workspace&, const Exec&) const override {
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
  }

  void propose(std::span<const DraftCall> calls, Workspace&, const Exec&) const override {
    for (const DraftCall& call : calls) {
      auto& s = static_cast<State&>(*call.state);
      std::span<const TokenId> truth;
      for (const std::vector<TokenId>& conversation : known_) {
        if (conversation.front() != (s.ids.empty() ? call.bonus : s.ids.front())) continue;
        const auto next = std::min(s.ids.size() + 1, conversation.size());
        truth = std::span(conversation).subspan(next);
      }
      proposal_(truth, s.round++, call.max_nodes, *call.out);
    }
  }

 private:
  static constexpr Tap kTaps[] = {{.kind = Tap::Kind::kAfterLayer, .layer = 0},
                                  {.kind = Tap::Kind::kFinalNorm, .layer = 0}};
  std::vector<std::vector<TokenId>> known_;
  Proposal proposal_;
  int max_nodes_;
};

// A chain of `width` tokens that is right where bit i of `pattern` is set. Past the known text it
// repeats token 1.
inline Proposal chain_pattern(uint32_t pattern, int width) {
  return [pattern, width](std::span<const TokenId> truth, int64_t, int max_nodes, DraftTree& out) {
    for (int i = 0; i < std::min(width, max_nodes); ++i) {
      const TokenId right =
          static_cast<size_t>(i) < truth.size() ? truth[static_cast<size_t>(i)] : 1;
      const bool hit = ((pattern >> static_cast<unsigned>(i)) & 1U) != 0;
      out.tokens.push_back(hit ? right : (right + 1) % 97);
      out.parents.push_back(i - 1);
    }
  };
}

// Every pattern of hits and misses in turn, one a round.
inline Proposal every_chain(int width) {
  return [width](std::span<const TokenId> truth, int64_t round, int max_nodes, DraftTree& out) {
    const auto pattern = static_cast<uint32_t>(round % (int64_t{1} << width));
    chain_pattern(pattern, width)(truth, round, max_nodes, out);
  };
}

// A tree: at every depth `branches` siblings, of which the one that rotates with the round is right
// and carries the next depth; every third round the right one is missing at depth 2.
inline Proposal rotating_tree(int depth, int branches) {
  return [=](std::span<const TokenId> truth, int64_t round, int max_nodes, DraftTree& out) {
    RowIndex parent = kRoot;
    for (int d = 0; d < depth; ++d) {
      const TokenId right =
          static_cast<size_t>(d) < truth.size() ? truth[static_cast<size_t>(d)] : 1;
      const bool spoiled = d == 1 && round % 3 == 2;
      RowIndex next = kRoot;
      for (int b = 0; b < branches && std::ssize(out.tokens) < max_nodes; ++b) {
        const bool is_right = b == static_cast<int>((round + d) % branches);
        if (is_right) next = static_cast<RowIndex>(out.tokens.size());
        out.tokens.push_back(is_right && !spoiled ? right : (right + 1 + b) % 97);
        out.parents.push_back(parent);
      }
      if (next == kRoot) return;
      parent = next;
    }
  };
}

}  // namespace spindrift::testing
