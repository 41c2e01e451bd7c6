#pragma once

namespace spindrift {

class ThreadPool;
struct Meter;
namespace kernels {
struct Table;
}

// Where work runs: handed down explicitly, never global. No pool = the calling thread alone.
// `kernels` is never null below the engine; every table computes the same bits (the row law), so
// the choice is speed only. `meter` hears what was read and computed; null = nobody asks.
struct Exec {
  ThreadPool* pool = nullptr;
  const kernels::Table* kernels = nullptr;
  // For drafters, whose results are guesses: kernels that may round otherwise. Null = `kernels`.
  const kernels::Table* draft_kernels = nullptr;
  Meter* meter = nullptr;

  // The same, for a drafter's own layers.
  Exec drafting() const {
    Exec out = *this;
    if (draft_kernels != nullptr) out.kernels = draft_kernels;
    return out;
  }
};

}  // namespace spindrift
