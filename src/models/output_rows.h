#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "core/exec.h"
#include "core/rows.h"
#include "models/batch.h"
#include "models/target_model.h"

namespace spindrift {

// The end of every forward: taps as they come by, then the final norm and the head for the rows
// whose logits are asked for. R rows of the batch, H hidden.
class OutputRows {
 public:
  // Takes workspace slots first_slot .. first_slot + 3.
  OutputRows(const BatchLayout& batch, const ForwardOptions& options, int64_t hidden, Workspace& ws,
             size_t first_slot);

  // Keeps `state` [R, H] for those who asked for this tap.
  void record(Tap tap, ConstRows state);
  // state: [R, H] after the last layer. norm: the final norm in place, any number of rows.
  ForwardResult finish(const TargetModel& model, const std::function<void(Rows)>& norm,
                       ConstRows state, const Exec& ex);

 private:
  enum : size_t { kTaps, kLast, kLogits, kNormed };

  const BatchLayout& batch_;
  const ForwardOptions& options_;
  Workspace& ws_;
  size_t first_slot_;
  Rows taps_;  // [taps, R, H]
};

}  // namespace spindrift
