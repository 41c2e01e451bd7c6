#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <vector>

namespace spindrift {

// A cache line, and the widest vector load: data that starts on one is read without splits. Kernels
// take any address; alignment is speed only.
inline constexpr std::align_val_t kCacheLine{64};

template <class T>
struct AlignedAllocator {
  using value_type = T;
  AlignedAllocator() = default;
  template <class U>
  explicit AlignedAllocator(const AlignedAllocator<U>&) {}
  T* allocate(size_t count) {
    return static_cast<T*>(::operator new(count * sizeof(T), kCacheLine));
  }
  void deallocate(T* data, size_t) { ::operator delete(data, kCacheLine); }
  friend bool operator==(const AlignedAllocator&, const AlignedAllocator&) { return true; }
};

using AlignedFloats = std::vector<float, AlignedAllocator<float>>;

// Floats from one row of a matrix to the next so that every row starts on a cache line, and rows of
// a power of two do not all fall into the same few cache sets.
constexpr int64_t padded_columns(int64_t columns) {
  const int64_t lines = (columns + 15) / 16;
  return (lines % 16 == 0 ? lines + 1 : lines) * 16;
}

struct AlignedDelete {
  void operator()(std::byte* data) const { ::operator delete(data, kCacheLine); }
};
using AlignedBytes = std::unique_ptr<std::byte[], AlignedDelete>;

// Uninitialised: pages that nobody touches cost nothing.
inline AlignedBytes aligned_bytes(size_t bytes) {
  return AlignedBytes(static_cast<std::byte*>(::operator new(bytes, kCacheLine)));
}

}  // namespace spindrift
