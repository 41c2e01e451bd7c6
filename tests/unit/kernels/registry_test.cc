#include "kernels/registry.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

namespace spindrift {
namespace {

using kernels::Isa;

// Sets SPINDRIFT_ISA for one test.
class ForcedIsa {
 public:
  explicit ForcedIsa(const char* value) {
    if (const char* old = std::getenv(kName)) old_ = old;
    ::setenv(kName, value, 1);
  }
  ~ForcedIsa() {
    if (old_.empty()) {
      ::unsetenv(kName);
    } else {
      ::setenv(kName, old_.c_str(), 1);
    }
  }

 private:
  static constexpr const char* kName = "SPINDRIFT_ISA";
  std::string old_;
};

TEST(KernelRegistry, ScalarComesFirstAndIsAlwaysThere) {
  ASSERT_FALSE(kernels::usable_isas().empty());
  EXPECT_EQ(kernels::usable_isas().front(), Isa::kScalar);
}

TEST(KernelRegistry, EachTableRunsTheTargetThatItsNameSays) {
  const auto target = [](Isa isa) -> std::string {
    switch (isa) {
      case Isa::kScalar:
        return "twin";
      case Isa::kSse4:
        return "SSE4";
      case Isa::kAvx2:
        return "AVX2";
      case Isa::kAvx512:
        return "AVX3";
      case Isa::kNative:
        return "NEON";
    }
    return "";
  };
  for (const Isa isa : kernels::usable_isas()) {
    EXPECT_EQ(kernels::table(isa).isa, isa);
    EXPECT_EQ(kernels::table(isa).target, target(isa));
  }
}

TEST(KernelRegistry, TablesShareNoKernel) {
  for (const Isa a : kernels::usable_isas()) {
    for (const Isa b : kernels::usable_isas()) {
      if (a == b) continue;
      kernels::for_each_kernel([&](const char* name, auto member) {
        EXPECT_NE(kernels::table(a).*member, kernels::table(b).*member) << name;
      });
    }
  }
}

#if defined(__x86_64__)
TEST(KernelRegistry, HasEverySetThatThisMachineHas) {
  const auto has = [](const char* name) { return kernels::parse_isa(name).ok(); };
  EXPECT_EQ(has("avx2"), __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                             __builtin_cpu_supports("bmi2"));
  EXPECT_EQ(has("avx512"),
            __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
                __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw"));
}
#endif

TEST(KernelRegistry, NamesParseToTheirTables) {
  for (const Isa isa : kernels::usable_isas()) {
    const Result<Isa> parsed = kernels::parse_isa(kernels::table(isa).name);
    ASSERT_TRUE(parsed.ok());
    EXPECT_EQ(parsed.value(), isa);
  }
  const Result<Isa> unknown = kernels::parse_isa("avx1024");
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().code, ErrorCode::kUsage);
  EXPECT_NE(unknown.error().message.find("scalar"), std::string::npos);
  EXPECT_NE(unknown.error().message.find("\"avx1024\""), std::string::npos);
}

TEST(KernelRegistry, DefaultIsTheBestSetUnlessTheEnvironmentNamesOne) {
  {
    const ForcedIsa none("");
    ASSERT_TRUE(kernels::default_isa().ok());
    EXPECT_EQ(kernels::default_isa().value(), kernels::usable_isas().back());
  }
  {
    const ForcedIsa scalar("scalar");
    ASSERT_TRUE(kernels::default_isa().ok());
    EXPECT_EQ(kernels::default_isa().value(), Isa::kScalar);
  }
  const ForcedIsa wrong("mmx");
  ASSERT_FALSE(kernels::default_isa().ok());
  EXPECT_EQ(kernels::default_isa().error().code, ErrorCode::kUsage);
  EXPECT_NE(kernels::default_isa().error().message.find("SPINDRIFT_ISA"), std::string::npos);
}

}  // namespace
}  // namespace spindrift
