#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "core/bf16.h"
#include "core/e2m1.h"
#include "core/f16.h"
#include "core/f8e4m3.h"
#include "kernels/registry.h"
#include "support/kernel_tester.h"
#include "unit/kernels/kernel_cases.h"

namespace spindrift {
namespace {

using kernels::Columns;
using kernels::Table;
using testing::dense_case;
using testing::KernelTester;
using testing::MisalignedBytes;
using testing::Noise;
using testing::nvfp4_case;
using testing::same_bits;

constexpr const char* kDense[] = {"linear_f32", "linear_bf16", "linear_f16"};

kernels::LinearDenseFn Table::*dense(const std::string& kernel) {
  if (kernel == "linear_bf16") return &Table::linear_bf16;
  if (kernel == "linear_f16") return &Table::linear_f16;
  return &Table::linear_f32;
}

TEST(Linear, LawsHoldForEveryTailOfTheInputs) {
  for (const char* kernel : kDense) {
    for (int64_t in = 17; in < 33; ++in) {
      KernelTester(dense_case(kernel, in, 18, static_cast<size_t>(in))).rows(8).check();
    }
  }
}

TEST(Linear, LawsHoldWhenInputsAreWorkedOnInSeveralSteps) {
  for (const char* kernel : kDense) KernelTester(dense_case(kernel, 6500, 3, 1)).rows(7).check();
  KernelTester(nvfp4_case(6528, 3, 1)).rows(7).check();
}

TEST(Linear, LawsHoldForBlocksOfManyRows) {
  for (const int64_t rows : {63, 64, 65, 130}) {
    KernelTester(dense_case("linear_bf16", 40, 5, 1)).rows(rows).check();
    KernelTester(nvfp4_case(48, 5, 1)).rows(rows).check();
  }
}

// Many columns: inputs are packed, in one or two tiles of rows, and read in more than one stretch.
TEST(Linear, PackedInputsAndLongPanelsHoldTheLaws) {
  for (const int rows : {1, 13, 20}) {
    KernelTester(dense_case("linear_bf16", 2080, 66, 0)).rows(rows).check();
    KernelTester(nvfp4_case(2080, 66, 0)).rows(rows).check();
  }
}

// Every way to cut 35 columns in three, and every single column, gives the bits of one call.
template <class Run>
void expect_columns_independent(int64_t out, const Run& run) {
  const std::vector<float> whole = run(std::vector<Columns>{{0, out}});
  for (int64_t a = 0; a <= out; a += 3) {
    for (int64_t b = a; b <= out; ++b) {
      ASSERT_TRUE(same_bits(run({{0, a}, {a, b}, {b, out}}), whole)) << a << " " << b;
    }
  }
  std::vector<Columns> single;
  for (int64_t c = out; c-- > 0;) single.push_back({c, c + 1});
  ASSERT_TRUE(same_bits(run(single), whole));
}

TEST(Linear, ColumnRangesAreIndependent) {
  const int64_t in = 48;
  const int64_t out = 35;
  Noise noise(3);
  for (const kernels::Isa isa : kernels::usable_isas()) {
    const Table& table = kernels::table(isa);
    for (const int64_t rows : {1, 4, 9}) {
      SCOPED_TRACE(std::string(table.name) + ", rows " + std::to_string(rows));
      const std::vector<float> x = noise.values(rows * in);
      const auto run = [&](const auto& call) {
        return [&, call](const std::vector<Columns>& ranges) {
          std::vector<float> y(static_cast<size_t>(rows * out), 7.0F);
          std::vector<const float*> inputs;
          std::vector<float*> outputs;
          for (int64_t r = 0; r < rows; ++r) {
            inputs.push_back(x.data() + r * in);
            outputs.push_back(y.data() + r * out);
          }
          for (const Columns& c : ranges) call(inputs, outputs, c);
          return y;
        };
      };
      for (const std::string kernel : kDense) {
        const std::vector<float> w = noise.values(out * in);
        std::vector<std::byte> bytes(static_cast<size_t>(out * in * 4));
        std::memcpy(bytes.data(), w.data(), bytes.size());
        if (kernel != "linear_f32") {
          for (size_t i = 0; i < w.size(); ++i) {
            const uint16_t code = bf16_from_float(w[i] * 0.01F);  // small in either 16-bit format
            std::memcpy(bytes.data() + 2 * i, &code, 2);
          }
        }
        expect_columns_independent(
            out, run([&](kernels::InRows in_rows, kernels::OutRows out_rows, Columns c) {
              (table.*dense(kernel))({bytes, out, in}, in_rows, out_rows, c, {});
            }));
      }
      const std::vector<std::byte> codes = noise.bytes(out * in / 2);
      const std::vector<std::byte> scales(static_cast<size_t>(out * in / 16), std::byte{0x35});
      expect_columns_independent(
          out, run([&](kernels::InRows in_rows, kernels::OutRows out_rows, Columns c) {
            table.linear_nvfp4({codes, scales, out, in}, in_rows, out_rows, c, {});
          }));
    }
  }
}

// The identity as input reads single weights back.
template <class Call>
std::vector<float> read_back(int64_t in, int64_t out, const Call& call) {
  std::vector<float> identity(static_cast<size_t>(in * in), 0.0F);
  for (int64_t i = 0; i < in; ++i) identity[static_cast<size_t>(i * in + i)] = 1.0F;
  std::vector<float> y(static_cast<size_t>(in * out));
  std::vector<const float*> x_rows;
  std::vector<float*> y_rows;
  for (int64_t i = 0; i < in; ++i) {
    x_rows.push_back(identity.data() + i * in);
    y_rows.push_back(y.data() + i * out);
  }
  call(kernels::InRows(x_rows), kernels::OutRows(y_rows));
  return y;
}

TEST(Linear, EverySixteenBitCodeIsReadExactly) {
  for (const kernels::Isa isa : kernels::usable_isas()) {
    const Table& table = kernels::table(isa);
    for (const bool half : {false, true}) {
      for (const int64_t rows : {1, 7}) {  // in registers and from a panel
        SCOPED_TRACE(std::string(table.name) + (half ? " f16" : " bf16"));
        // One finite code a column: the dot with (1, 0, ...) is the weight itself.
        std::vector<uint16_t> codes;
        std::vector<float> want;
        for (uint32_t code = 0; code < 65536; ++code) {
          const auto bits = static_cast<uint16_t>(code);
          const float value = half ? f16_to_float(bits) : bf16_to_float(bits);
          if (std::isnan(value) || std::isinf(value)) continue;
          codes.push_back(bits);
          codes.insert(codes.end(), 15, uint16_t{0});
          want.push_back(value + 0.0F);  // the sum starts at +0, so -0 comes back as +0
        }
        const auto out = static_cast<int64_t>(want.size());
        const std::vector<float> x = {1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
        const std::vector<const float*> x_rows(static_cast<size_t>(rows), x.data());
        std::vector<float> y(static_cast<size_t>(rows * out));
        std::vector<float*> y_rows;
        for (int64_t r = 0; r < rows; ++r) y_rows.push_back(y.data() + r * out);
        const MisalignedBytes bytes(std::as_bytes(std::span(codes)), 1);
        (half ? table.linear_f16 : table.linear_bf16)({bytes.view(), out, 16}, x_rows, y_rows,
                                                      {0, out}, {});
        for (int64_t r = 0; r < rows; ++r) {
          ASSERT_TRUE(same_bits({y_rows[static_cast<size_t>(r)], want.size()}, want));
        }
      }
    }
  }
}

TEST(Linear, EveryNvfp4CodeAndScaleIsReadExactly) {
  // Column s has scale code s; its sixteen weights are the sixteen E2M1 codes.
  std::vector<std::byte> codes;
  std::vector<std::byte> scales;
  for (uint32_t s = 0; s < 256; ++s) {
    for (uint32_t pair = 0; pair < 8; ++pair) {
      codes.push_back(static_cast<std::byte>((2 * pair + 1) << 4 | 2 * pair));
    }
    scales.push_back(static_cast<std::byte>(s));
  }
  for (const kernels::Isa isa : kernels::usable_isas()) {
    const Table& table = kernels::table(isa);
    SCOPED_TRACE(table.name);
    const auto check = [&](const std::vector<float>& y) {
      for (size_t c = 0; c < 16; ++c) {
        for (uint32_t s = 0; s < 256; ++s) {
          const float got = y[c * 256 + s];
          const float want = kE2m1Values[c] * f8e4m3_to_float(static_cast<uint8_t>(s));
          if (std::isnan(want)) {
            ASSERT_TRUE(std::isnan(got)) << c << " " << s;
          } else {
            ASSERT_EQ(got, want) << c << " " << s;
          }
        }
      }
    };
    check(read_back(16, 256, [&](kernels::InRows x, kernels::OutRows y) {
      table.linear_nvfp4({codes, scales, 256, 16}, x, y, {0, 256}, {});
    }));
    check(read_back(16, 256, [&](kernels::InRows x, kernels::OutRows y) {
      for (size_t r = 0; r < x.size(); ++r) {
        table.linear_nvfp4({codes, scales, 256, 16}, x.subspan(r, 1), y.subspan(r, 1), {0, 256},
                           {});
      }
    }));
  }
}

TEST(Linear, ScaleThenBiasRoundTwice) {
  // dot = 1 + 2^-23, scale = 1 + 2^-23: the product rounds, then the sum.
  const float above = 1.0F + 0x1p-23F;
  std::vector<std::byte> bytes(4);
  std::memcpy(bytes.data(), &above, 4);
  const float x = 1.0F;
  const std::vector<float> bias = {-1.0F};
  for (const kernels::Isa isa : kernels::usable_isas()) {
    float y = 0.0F;
    const float* in = &x;
    float* out = &y;
    kernels::table(isa).linear_f32({bytes, 1, 1}, {&in, 1}, {&out, 1}, {0, 1},
                                   {.scale = above, .bias = bias});
    EXPECT_EQ(y, 0x1p-22F);
  }
}

TEST(Linear, ATailLeavesTheOtherLanesAlone) {
  // A negative underflow makes a lane -0; adding 0 * 0 for the absent inputs would make it +0.
  const float tiny = 0x1p-100F;
  std::vector<float> x(17, tiny);
  std::vector<float> w(17, -tiny);
  for (const kernels::Isa isa : kernels::usable_isas()) {
    float y = 1.0F;
    const float* in = x.data();
    float* out = &y;
    kernels::table(isa).linear_f32({std::as_bytes(std::span(w)), 1, 17}, {&in, 1}, {&out, 1},
                                   {0, 1}, {});
    EXPECT_EQ(std::bit_cast<uint32_t>(y), 0x80000000U) << kernels::table(isa).name;
  }
}

TEST(Linear, NoRowsAndNoColumnsWriteNothing) {
  const std::vector<std::byte> bytes(64);
  for (const kernels::Isa isa : kernels::usable_isas()) {
    const Table& table = kernels::table(isa);
    table.linear_f32({bytes, 1, 16}, {}, {}, {0, 1}, {});
    const std::vector<float> x(16, 1.0F);
    float y = 5.0F;
    const float* in = x.data();
    float* out = &y;
    table.linear_f32({bytes, 1, 16}, {&in, 1}, {&out, 1}, {1, 1}, {});
    EXPECT_EQ(y, 5.0F);
  }
}

// Fused multiply-add is the twin's std::fma in every lane, subnormal and halfway cases included.
TEST(Linear, SumsAreFusedExactlyForExtremeInputs) {
  Noise noise(77);
  const auto extreme = [&] {
    const uint32_t kind = noise.bits() % 4;
    uint32_t bits = noise.bits();
    if (kind == 0) bits = (bits & 0x807fffffU) | ((noise.bits() % 254 + 1) << 23);   // any exponent
    if (kind == 1) bits = (bits & 0x807fffffU) | ((60 + noise.bits() % 8) << 23);    // underflow
    if (kind == 2) bits = (bits & 0x80000003U) | ((120 + noise.bits() % 20) << 23);  // ties
    if (kind == 3) bits = (bits & 0x807ff000U) | ((127 + noise.bits() % 4) << 23);
    return std::bit_cast<float>(bits);
  };
  const int64_t in = 48;
  const int64_t out = 64;
  for (int round = 0; round < 50; ++round) {
    std::vector<float> x;
    std::vector<float> w;
    for (int64_t i = 0; i < in; ++i) x.push_back(extreme());
    for (int64_t i = 0; i < in * out; ++i) w.push_back(extreme());
    std::vector<float> want;
    for (const kernels::Isa isa : kernels::usable_isas()) {
      std::vector<float> y(static_cast<size_t>(out));
      const float* in_row = x.data();
      float* out_row = y.data();
      kernels::table(isa).linear_f32({std::as_bytes(std::span(w)), out, in}, {&in_row, 1},
                                     {&out_row, 1}, {0, out}, {});
      for (float& v : y) v = std::isnan(v) ? 0.0F : v;  // a NaN's payload is not promised
      if (want.empty()) want = y;
      ASSERT_TRUE(same_bits(y, want)) << kernels::table(isa).name;
    }
  }
}

}  // namespace
}  // namespace spindrift
