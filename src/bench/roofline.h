#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "core/exec.h"
#include "core/result.h"

namespace spindrift::bench {

// What this machine can do at most, with all threads of an Exec.
struct Roofline {
  double read_gb_s = 0;    // 1e9 bytes a second
  double fma_gflop_s = 0;  // 1e9 operations a second, two a multiply-add

  // The shortest times in which so much can be done, in milliseconds.
  double read_ms(double bytes) const { return bytes / (read_gb_s * 1e6); }
  double compute_ms(double flop) const { return flop / (fma_gflop_s * 1e6); }
};

// Measures a machine's limits a pass at a time, between the passes of what is compared with them:
// a busy neighbour, or a pause of one, reaches both alike.
class RooflineProbe {
 public:
  // Reads 1 GiB of `weights`, files of a model as they are mapped; where they are less, 1 GiB of
  // page cache, mapped read-only and shared. kLimit when there is no room for that.
  static Result<RooflineProbe> open(const Exec& ex,
                                    std::span<const std::span<const std::byte>> weights = {});
  ~RooflineProbe();
  RooflineProbe(RooflineProbe&&) noexcept;
  RooflineProbe& operator=(RooflineProbe&&) = delete;

  // Reads it once with all threads, and multiplies and adds float32 registers for a few
  // milliseconds. The scalar kernels have no probe of their own: the least vector set stands in.
  // What this pass found.
  Roofline pass();
  // The best of `count` passes.
  Roofline passes(int count);
  // The best of all passes so far. The object stays where it is.
  const Roofline& best() const;

 private:
  struct State;
  explicit RooflineProbe(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace spindrift::bench
