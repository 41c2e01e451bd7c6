#pragma once

#include <string_view>
#include <vector>

#include "support/kernel_tester.h"

namespace spindrift::testing {

// The cases that the laws are checked on, for the kernel of this name in a Table; none when nobody
// has written any.
std::vector<RowKernel> kernel_cases(std::string_view kernel);

// Builders, for tests that vary the sizes.
RowKernel dense_case(std::string_view kernel, int64_t in, int64_t out, size_t misalignment);
RowKernel nvfp4_case(int64_t in, int64_t out, size_t misalignment);

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
