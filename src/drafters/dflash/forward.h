#pragma once

#include <cstdint>
#include <span>

#include "core/exec.h"
#include "core/rows.h"
#include "drafters/dflash/config.h"
#include "drafters/dflash/state.h"
#include "drafters/dflash/weights.h"
#include "models/target_model.h"
#include "nn/rope.h"

namespace spindrift::dflash {

// Const after load.
struct Model {
  Config config;
  Weights weights;
  nn::Rope rope;
};

// What one conversation brings to a pass: `context` waiting rows of its state, and `block` rows of
// a block that starts at state->observed(); a part with a block brings all its waiting rows.
struct Part {
  State* state = nullptr;
  int64_t context = 0;
  int64_t block = 0;
};

// out[r] = hidden_norm(fc(normed_taps[r])). normed_taps[r]: the row's taps * hidden floats after
// the aux norms.
void project_taps(const Model& model, std::span<const float* const> normed_taps, Rows out,
                  const Exec& ex);

// One pass over all layers. x: [all context rows of the parts in order, then all their block rows,
// hidden]; context rows as project_taps made them, block rows as embedded. Keys and values of the
// context rows are committed to the states; the block rows of x become the last layer's normed
// rows. Row law: a row depends on its own conversation's context and the block rows before it.
void run_pass(const Model& model, std::span<const Part> parts, Rows x, Workspace& ws,
              const Exec& ex);

// Workspace slots: above those of a target's forward, so that its results stay as they are.
enum Slot : size_t {
  kRowsSlot = 44,
  kNormedSlot,
  kQuerySlot,
  kKeySlot,
  kValueSlot,
  kGateSlot,
  kAttendedSlot,
  kDeltaSlot,
  kFeedGateSlot,
  kFeedUpSlot,
  kCosSlot,
  kSinSlot,
  kDraftedSlot,
  kLogitsSlot,
  kTapsSlot,
};

}  // namespace spindrift::dflash
