#pragma once

#include <cstdint>
#include <span>

#include "core/exec.h"
#include "core/rows.h"
#include "core/types.h"
#include "drafters/mlp_speculator/config.h"
#include "drafters/mlp_speculator/weights.h"
#include "models/target_model.h"

namespace spindrift::mlp_speculator {

// Const after load.
struct Model {
  Model(Config config_in, Weights weights_in);

  Config config;
  Weights weights;
  float token_weight;      // what an embedding counts against a state: alpha in the paper's code
  nn::RmsNorm input_norm;  // of the target's row, with scale_input; divides by sqrt(2), too
};

// A row of a stage: the state that it goes on from and the token that it is fed.
struct StageRow {
  int64_t state = 0;
  TokenId token = 0;
};

// The states that stage 0 goes on from: `hidden` [rows, hidden], the target's rows after its final
// norm, normed where the config says so. The result may be `hidden` itself.
ConstRows input_states(const Model& model, ConstRows hidden, Workspace& ws, const Exec& ex);

// out[r] = gelu(norm(proj(states[rows[r].state]) + alpha * emb(rows[r].token))): [rows, inner], to
// which the stage's head is applied and from which the next stage goes on. Valid until the
// workspace runs a stage with a number of the same parity. Row law: a row depends on its state and
// token alone. Source: fms-extras, models/speculator.py.
ConstRows run_stage(const Model& model, int stage, ConstRows states, std::span<const StageRow> rows,
                    Workspace& ws, const Exec& ex);

// Workspace slots: above those of a target's forward, so that its results stay as they are.
enum Slot : size_t { kHiddenSlot = 44, kInputSlot, kProjectedSlot, kEvenSlot, kOddSlot };

}  // namespace spindrift::mlp_speculator
