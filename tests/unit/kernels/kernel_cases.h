#pragma once

#include <string_view>
#include <vector>

#include "support/kernel_tester.h"

namespace spindrift::testing {

// The cases that the laws are checked on, for the kernel of this name in a Table; none when nobody
// has written any.
std::vector<RowKernel> kernel_cases(std::string_view kernel);
// Those of a linear kernel.
std::vector<RowKernel> linear_cases(std::string_view kernel);

// Builders, for tests that vary the sizes.
RowKernel dense_case(std::string_view kernel, int64_t in, int64_t out, size_t misalignment);
RowKernel nvfp4_case(int64_t in, int64_t out, size_t misalignment);

struct Fp8Case {
  int64_t in = 0;
  int64_t out = 0;
  DType scale_dtype = DType::kBf16;
  int64_t block_rows = 128;
  int64_t block_columns = 128;
  int64_t first_row = 0;
  size_t misalignment = 0;
};
RowKernel fp8_case(const Fp8Case& c);

struct PackedCase {
  int64_t in = 0;
  int64_t out = 0;
  int64_t group = 0;
  int bits = 4;
  DType scale_dtype = DType::kBf16;
  size_t misalignment = 0;
};
// For linear_int and linear_affine.
RowKernel packed_case(std::string_view kernel, const PackedCase& c);

struct AttentionCase {
  int64_t head_dim = 32;
  int64_t group = 2;
  int64_t committed = 40;  // keys before the rows
  int64_t window = 0;      // 0 = all
  bool tree = false;       // rows hang off random earlier rows instead of forming a chain
  bool sinks = false;
  bool gaps = false;  // leaves out some keys
  DType dtype = DType::kF32;
};
RowKernel attention_case(const AttentionCase& c);

}  // namespace spindrift::testing
