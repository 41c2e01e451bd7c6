#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace spindrift {

// Element types as safetensors names them (F32, BF16, F16, F8_E4M3, U8, I8, I32, U32, I64, BOOL,
// ...). Types that no loader computes with are still listed, so that a file that carries one is
// described and not refused.
enum class DType : uint8_t {
  kF32,
  kBf16,
  kF16,
  kF8E4M3,
  kF8E5M2,
  kU8,
  kI8,
  kU16,
  kI16,
  kU32,
  kI32,
  kU64,
  kI64,
  kF64,
  kBool,
};

int64_t dtype_bytes(DType dtype);          // bytes of one element
std::string_view dtype_name(DType dtype);  // safetensors' spelling

// A contiguous row-major tensor inside its WeightStore's map, valid as long as the store. `bytes`
// may start at any address: kernels load unaligned.
struct TensorView {
  DType dtype = DType::kF32;
  std::vector<int64_t> shape;
  std::span<const std::byte> bytes;
};

}  // namespace spindrift
