#include "core/stack.h"

#include <pthread.h>

#include <cstddef>
#include <cstdint>

namespace spindrift {
namespace {

constexpr uintptr_t kReserve = uintptr_t{64} << 10;

// The address below which the thread's stack is low; 0 when that is not known.
uintptr_t find_floor() {
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return 0;
  void* lowest = nullptr;
  size_t bytes = 0;
  const bool known = pthread_attr_getstack(&attributes, &lowest, &bytes) == 0;
  pthread_attr_destroy(&attributes);
  return known ? reinterpret_cast<uintptr_t>(lowest) + kReserve : 0;
}

}  // namespace

bool stack_is_low() {
  static thread_local const uintptr_t floor = find_floor();
  return reinterpret_cast<uintptr_t>(__builtin_frame_address(0)) < floor;
}

}  // namespace spindrift
