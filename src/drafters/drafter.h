#pragma once

#include <limits>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "core/check.h"
#include "core/exec.h"
#include "core/result.h"
#include "core/rows.h"
#include "core/types.h"
#include "models/target_model.h"

namespace spindrift {

// Proposed tokens in topological order; parents[i] < i, kRoot = child of the bonus token.
struct DraftTree {
  std::vector<TokenId> tokens;
  std::vector<RowIndex> parents;
  void clear() {
    tokens.clear();
    parents.clear();
  }
};

// Rows the target has just committed, in order: positions first, first + 1, ...; taps[t]: [rows,
// hidden] as asked for by Drafter::taps().
struct Accepted {
  Position first = 0;
  std::span<const TokenId> tokens;
  std::span<const ConstRows> taps;
};

// A drafter's state for one conversation. It holds accepted rows only, so it never rolls back.
class DraftState {
 public:
  virtual ~DraftState() = default;
  // Rows seen so far; the next Accepted::first must equal it.
  virtual Position observed() const = 0;
  // Back to nothing (the conversation's prefix changed).
  virtual void reset() = 0;
  // After open() or reset(): the first row to be observed is the one at `first`, a position that
  // Drafter::first_seen() named.
  virtual void start_at(Position first) {
    SPINDRIFT_CHECK(first == 0, "this drafter sees every row");
  }
  // Drops rows at positions >= n (n <= observed()), when the conversation's tail changed.
  // kUnsupported when a draft after n would need rows that are gone; the caller then starts over.
  virtual Status truncate(Position n) {
    if (n == observed()) return ok_status();
    return Error{ErrorCode::kUnsupported, "this drafter keeps no history to cut back to"};
  }
  virtual int64_t bytes() const = 0;
};

// One conversation of a drafting pass. `bonus` is the newest token, not yet seen by the target, at
// position state->observed(). `out` may come back empty; it holds at most max_nodes tokens, on
// paths of at most max_depth.
struct DraftCall {
  DraftState* state = nullptr;
  TokenId bonus = 0;
  int max_nodes = 0;
  int max_depth = std::numeric_limits<int>::max();
  DraftTree* out = nullptr;
};

// Proposes tokens from hidden states of the target. Const after load. What it proposes can change
// the speed only.
class Drafter {
 public:
  virtual ~Drafter() = default;
  virtual std::string_view kind() const = 0;      // "dflash", "mlp_speculator", "scripted"
  virtual std::span<const Tap> taps() const = 0;  // what the target must record for every row
  virtual int max_nodes() const = 0;              // DFlash: block size - 1
  // Length of the longest path it can propose; a drafter of chains has no more nodes than that.
  virtual int max_depth() const { return max_nodes(); }
  virtual std::unique_ptr<DraftState> open() const = 0;
  // The oldest position whose row a draft after position next - 1 depends on; it does not go down
  // as `next` goes up.
  virtual Position first_seen(Position /*next*/) const { return 0; }
  // Takes in committed rows, gap free.
  virtual void observe(DraftState& state, const Accepted& rows, Workspace& ws,
                       const Exec& ex) const = 0;
  // Drafts for several conversations in one pass.
  virtual void propose(std::span<const DraftCall> calls, Workspace& ws, const Exec& ex) const = 0;
};

}  // namespace spindrift
