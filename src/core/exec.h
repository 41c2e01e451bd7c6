#pragma once

namespace spindrift {

class ThreadPool;
namespace kernels {
struct Table;
}

// Where work runs: handed down explicitly, never global. No pool = the calling thread alone.
// `kernels` is never null below the engine; every table computes the same bits (the row law), so
// the choice is speed only.
struct Exec {
  ThreadPool* pool = nullptr;
  const kernels::Table* kernels = nullptr;
};

}  // namespace spindrift
