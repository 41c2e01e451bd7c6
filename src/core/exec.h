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
  Meter* meter = nullptr;
};

}  // namespace spindrift
