#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <vector>

#include "kernels/registry.h"
#include "support/kernel_tester.h"
#include "unit/kernels/kernel_cases.h"

namespace spindrift {
namespace {

using testing::kernel_cases;
using testing::KernelTester;
using testing::RowKernel;

std::vector<std::string> kernel_names() {
  std::vector<std::string> names;
  kernels::for_each_kernel([&](const char* name, auto) { names.emplace_back(name); });
  return names;
}

TEST(KernelLaws, EveryMemberOfTheTableIsEnumerated) {
  EXPECT_EQ(sizeof(kernels::Table), offsetof(kernels::Table, linear_f32) +
                                        kernel_names().size() * sizeof(kernels::LinearDenseFn));
}

TEST(KernelLaws, EveryRegisteredKernelIsTested) {
  for (const std::string& name : kernel_names()) EXPECT_FALSE(kernel_cases(name).empty()) << name;
}

TEST(KernelLaws, EveryTableIsComplete) {
  for (const kernels::Isa isa : kernels::usable_isas()) {
    const kernels::Table& table = kernels::table(isa);
    kernels::for_each_kernel([&](const char* name, auto member) {
      EXPECT_NE(table.*member, nullptr) << table.name << " " << name;
    });
  }
}

class KernelLaws : public ::testing::TestWithParam<std::string> {};

TEST_P(KernelLaws, HoldInEveryInstructionSet) {
  uint64_t seed = 1;
  for (const RowKernel& kernel : kernel_cases(GetParam())) {
    KernelTester(kernel).rows(18).seed(seed++).check();
    KernelTester(kernel).rows(3).gap(0).seed(seed++).check();
  }
}

INSTANTIATE_TEST_SUITE_P(Table, KernelLaws, ::testing::ValuesIn(kernel_names()),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace spindrift
