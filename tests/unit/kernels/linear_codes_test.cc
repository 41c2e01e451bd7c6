#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "core/f8e4m3.h"
#include "kernels/registry.h"
#include "support/kernel_tester.h"
#include "unit/kernels/kernel_cases.h"

namespace spindrift {
namespace {

using kernels::Table;
using testing::fp8_case;
using testing::KernelTester;
using testing::MisalignedBytes;
using testing::packed_case;
using testing::PackedCase;
using testing::same_bits;

constexpr const char* kPacked[] = {"linear_int", "linear_affine"};

TEST(LinearOfCodes, LawsHoldForEveryTailOfTheInputs) {
  for (int64_t in = 17; in < 33; ++in) {
    const auto misalignment = static_cast<size_t>(in);
    KernelTester(fp8_case({.in = in, .out = 18, .misalignment = misalignment})).rows(8).check();
    for (const char* kernel : kPacked) {
      for (const int bits : {4, 8}) {
        const PackedCase c{
            .in = in, .out = 18, .group = 32, .bits = bits, .misalignment = misalignment};
        KernelTester(packed_case(kernel, c)).rows(8).check();
      }
    }
  }
}

TEST(LinearOfCodes, LawsHoldWhenInputsAreWorkedOnInSeveralSteps) {
  KernelTester(fp8_case({.in = 6500, .out = 2, .block_columns = 144})).rows(7).check();
  for (const char* kernel : kPacked) {
    for (const int bits : {4, 8}) {
      // Steps end inside groups.
      KernelTester(packed_case(kernel, {.in = 6480, .out = 2, .group = 720, .bits = bits}))
          .rows(7)
          .check();
    }
  }
}

TEST(LinearOfCodes, LawsHoldForBlocksOfManyRows) {
  for (const int64_t rows : {64, 65}) {
    KernelTester(fp8_case({.in = 176, .out = 5})).rows(rows).check();
    for (const char* kernel : kPacked)
      KernelTester(packed_case(kernel, {.in = 96, .out = 5, .group = 32})).rows(rows).check();
  }
}

// y of one row of inputs, computed `rows` times at once.
template <class Call>
std::vector<float> one_row(std::span<const float> x, int64_t rows, int64_t out, const Call& call) {
  const std::vector<const float*> inputs(static_cast<size_t>(rows), x.data());
  std::vector<float> y(static_cast<size_t>(rows * out));
  std::vector<float*> outputs;
  for (int64_t r = 0; r < rows; ++r) outputs.push_back(y.data() + r * out);
  call(kernels::InRows(inputs), kernels::OutRows(outputs));
  for (int64_t r = 1; r < rows; ++r) {
    EXPECT_EQ(std::memcmp(outputs[0], outputs[static_cast<size_t>(r)],
                          static_cast<size_t>(out) * sizeof(float)),
              0);
  }
  y.resize(static_cast<size_t>(out));
  return y;
}

constexpr int64_t kRowCounts[] = {1, 3, 40};  // in registers and from a panel

TEST(LinearOfCodes, EveryFp8CodeIsReadExactlyInEveryPlace) {
  // Column c has code c everywhere, so that a place that is read wrongly shows.
  std::vector<std::byte> codes;
  for (int c = 0; c < 256; ++c) codes.insert(codes.end(), 16, static_cast<std::byte>(c));
  for (const float scale : {0.003F, -0x1p-130F, 0x1.8p127F}) {
    const std::vector<float> scales(2, scale);
    const MisalignedBytes bytes(codes, 1), scale_bytes(std::as_bytes(std::span(scales)), 3);
    const kernels::Fp8Matrix w{.codes = bytes.view(),
                               .scales = scale_bytes.view(),
                               .scale_dtype = DType::kF32,
                               .out = 256,
                               .in = 16};
    for (const kernels::Isa isa : kernels::usable_isas()) {
      const Table& table = kernels::table(isa);
      for (const int64_t rows : kRowCounts) {
        for (size_t place = 0; place < 16; ++place) {
          std::array<float, 16> x{};
          x[place] = 1.0F;
          const auto y = one_row(x, rows, 256, [&](kernels::InRows in, kernels::OutRows out) {
            table.linear_fp8(w, in, out, {0, 256}, {});
          });
          for (size_t c = 0; c < 256; ++c) {
            const float want = f8e4m3_to_float(static_cast<uint8_t>(c)) * scale;
            if (std::isfinite(want)) {
              ASSERT_EQ(y[c], want) << table.name << " code " << c << " place " << place;
            } else {  // an infinite weight makes NaN of the zeros beside it
              ASSERT_TRUE(std::isnan(y[c]) || y[c] == want) << table.name << " code " << c;
            }
          }
        }
      }
    }
  }
}

TEST(LinearOfCodes, EveryIntegerCodeIsReadExactlyInEveryPlace) {
  constexpr float kScale = 0.003F, kBias = -0.7F;
  const std::vector<float> scales(256, kScale), biases(256, kBias);
  for (const int bits : {4, 8}) {
    const int count = 1 << bits;
    std::vector<std::byte> codes;
    for (int c = 0; c < count; ++c) {
      const int byte = bits == 8 ? c : c << 4 | c;
      codes.insert(codes.end(), static_cast<size_t>(2 * bits), static_cast<std::byte>(byte));
    }
    const MisalignedBytes bytes(codes, 1);
    kernels::PackedMatrix w{.codes = bytes.view(),
                            .scales = std::as_bytes(std::span(scales)),
                            .biases = {},
                            .scale_dtype = DType::kF32,
                            .bits = bits,
                            .group = 16,
                            .out = count,
                            .in = 16};
    for (const kernels::Isa isa : kernels::usable_isas()) {
      const Table& table = kernels::table(isa);
      for (const int64_t rows : kRowCounts) {
        for (size_t place = 0; place < 16; ++place) {
          std::array<float, 16> x{};
          x[place] = 1.0F;
          for (const bool affine : {false, true}) {
            w.biases = affine ? std::as_bytes(std::span(biases)) : std::span<const std::byte>();
            const auto y = one_row(x, rows, count, [&](kernels::InRows in, kernels::OutRows out) {
              (affine ? table.linear_affine : table.linear_int)(w, in, out, {0, count}, {});
            });
            for (int c = 0; c < count; ++c) {
              const float want = affine ? std::fma(static_cast<float>(c), kScale, kBias)
                                        : static_cast<float>(c - count / 2) * kScale;
              ASSERT_EQ(y[static_cast<size_t>(c)], want) << table.name << " code " << c;
            }
          }
        }
      }
    }
  }
}

TEST(LinearOfCodes, ColumnRangesAreIndependent) {
  constexpr int64_t kOut = 40, kIn = 96;
  testing::Noise noise(5);
  std::vector<std::byte> codes = noise.bytes(kOut * kIn);
  for (std::byte& code : codes) code &= std::byte{0xbf};  // no NaN
  const std::vector<float> values = noise.values(kOut * kIn), x = noise.values(kIn);
  const auto scales = std::as_bytes(std::span(values));
  const kernels::Fp8Matrix fp8{.codes = codes,
                               .scales = scales,
                               .scale_dtype = DType::kF32,
                               .block_rows = 7,
                               .block_columns = 32,
                               .first_row = 3,
                               .out = kOut,
                               .in = kIn};
  const kernels::PackedMatrix packed{.codes = codes,
                                     .scales = scales,
                                     .biases = scales,
                                     .scale_dtype = DType::kF32,
                                     .bits = 4,
                                     .group = 32,
                                     .out = kOut,
                                     .in = kIn};
  for (const kernels::Isa isa : kernels::usable_isas()) {
    const Table& table = kernels::table(isa);
    const auto check = [&](const auto& call) {
      const float* in = x.data();
      std::vector<float> whole(kOut, 7.0F), parts(kOut, 7.0F);
      float* to_whole = whole.data();
      float* to_parts = parts.data();
      call(kernels::InRows(&in, 1), kernels::OutRows(&to_whole, 1), kernels::Columns{0, kOut});
      for (int64_t first = 0; first < kOut; first += 9) {
        call(kernels::InRows(&in, 1), kernels::OutRows(&to_parts, 1),
             kernels::Columns{first, std::min<int64_t>(first + 9, kOut)});
      }
      EXPECT_TRUE(same_bits(parts, whole)) << table.name;
    };
    check([&](kernels::InRows in, kernels::OutRows out, kernels::Columns c) {
      table.linear_fp8(fp8, in, out, c, {});
    });
    check([&](kernels::InRows in, kernels::OutRows out, kernels::Columns c) {
      table.linear_int(packed, in, out, c, {});
    });
    check([&](kernels::InRows in, kernels::OutRows out, kernels::Columns c) {
      table.linear_affine(packed, in, out, c, {});
    });
  }
}

}  // namespace
}  // namespace spindrift
