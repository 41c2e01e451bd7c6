#include "support/kernel_tester.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "kernels/registry.h"

namespace spindrift::testing {
namespace {

constexpr float kCanary = 0x1.badp+11F;

}  // namespace

uint32_t Noise::bits() {
  state_ ^= state_ << 13;
  state_ ^= state_ >> 7;
  state_ ^= state_ << 17;
  return static_cast<uint32_t>(state_ >> 32);
}

int64_t Noise::below(int64_t limit) {
  return static_cast<int64_t>(bits() % static_cast<uint32_t>(limit));
}

float Noise::value() {
  const auto unit = [&] { return static_cast<float>(bits() >> 8) * 0x1p-24F - 0.5F; };
  const float a = unit();
  return 2.0F * (a + unit());
}

std::vector<float> Noise::values(int64_t count) {
  std::vector<float> result(static_cast<size_t>(count));
  for (float& v : result) v = value();
  return result;
}

std::vector<std::byte> Noise::bytes(int64_t count) {
  std::vector<std::byte> result(static_cast<size_t>(count));
  for (std::byte& b : result) b = static_cast<std::byte>(bits() & 0xffU);
  return result;
}

MisalignedBytes::MisalignedBytes(std::span<const std::byte> bytes, size_t misalignment)
    : storage_(bytes.size() + 128), size_(bytes.size()) {
  const size_t past = reinterpret_cast<uintptr_t>(storage_.data()) % 64;
  start_ = (64 - past) % 64 + misalignment % 64;
  std::copy(bytes.begin(), bytes.end(), storage_.begin() + static_cast<std::ptrdiff_t>(start_));
}

bool same_bits(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size_bytes()) == 0);
}

// x holds the rows of all ids, densely; the kernel sees them `gap_` floats apart, `shift` floats
// off their usual address, and its outputs between canaries.
std::vector<float> KernelTester::run(const kernels::Table& table, std::span<const float> x,
                                     std::span<const int64_t> ids, int64_t shift) const {
  const auto n = static_cast<int64_t>(ids.size());
  const int64_t in_stride = kernel_.in + gap_;
  const int64_t out_stride = kernel_.out + gap_ + 1;
  std::vector<float> inputs(static_cast<size_t>(n * in_stride + shift), kCanary);
  std::vector<float> outputs(static_cast<size_t>(n * out_stride + shift + 1), kCanary);
  std::vector<const float*> in_rows;
  std::vector<float*> out_rows;
  for (int64_t i = 0; i < n; ++i) {
    float* row = inputs.data() + i * in_stride + shift;
    std::copy_n(x.data() + ids[static_cast<size_t>(i)] * kernel_.in, kernel_.in, row);
    in_rows.push_back(row);
    out_rows.push_back(outputs.data() + i * out_stride + shift + 1);
  }
  kernel_.run(table, ids, in_rows, out_rows);

  std::vector<float> result;
  for (const float* row : out_rows) result.insert(result.end(), row, row + kernel_.out);
  for (float* row : out_rows) std::fill_n(row, kernel_.out, kCanary);
  const std::vector<float> untouched(outputs.size(), kCanary);
  EXPECT_TRUE(same_bits(outputs, untouched)) << "wrote outside its output rows";
  return result;
}

void KernelTester::check_accuracy(std::span<const float> x, std::span<const float> y) const {
  const auto out = static_cast<size_t>(kernel_.out);
  std::vector<double> exact(out);
  std::vector<double> magnitude(out);
  for (int64_t r = 0; r < rows_; ++r) {
    kernel_.exact(r,
                  x.subspan(static_cast<size_t>(r * kernel_.in), static_cast<size_t>(kernel_.in)),
                  exact, magnitude);
    for (size_t i = 0; i < out; ++i) {
      const double got = static_cast<double>(y[static_cast<size_t>(r) * out + i]);
      ASSERT_LE(std::fabs(got - exact[i]), kernel_.tolerance * magnitude[i])
          << "row " << r << " output " << i << ": " << got << " against " << exact[i];
    }
  }
}

void KernelTester::check() const {
  const std::vector<float> x = Noise(seed_).values(rows_ * kernel_.in);
  const auto out = static_cast<size_t>(kernel_.out);
  std::vector<int64_t> all(static_cast<size_t>(rows_));
  std::iota(all.begin(), all.end(), 0);
  const std::vector<float> twin = run(kernels::table(kernels::Isa::kScalar), x, all, 0);
  check_accuracy(x, twin);
  // The rows of `ids` as the twin computes them.
  const auto expected = [&](std::span<const int64_t> ids) {
    std::vector<float> rows;
    for (const int64_t id : ids) {
      const auto at = twin.begin() + static_cast<std::ptrdiff_t>(static_cast<size_t>(id) * out);
      rows.insert(rows.end(), at, at + static_cast<std::ptrdiff_t>(out));
    }
    return rows;
  };

  for (const kernels::Isa isa : kernels::usable_isas()) {
    const kernels::Table& table = kernels::table(isa);
    SCOPED_TRACE(kernel_.name + " on " + std::string(table.name));
    ASSERT_TRUE(same_bits(run(table, x, all, 0), twin)) << "differs from its twin";
    ASSERT_TRUE(same_bits(run(table, x, all, 1), twin)) << "depends on addresses";

    std::vector<int64_t> ids = all;
    std::reverse(ids.begin(), ids.end());
    ASSERT_TRUE(same_bits(run(table, x, ids, 0), expected(ids))) << "depends on the rows' order";
    // The twin takes rows one by one, so a few of its batches say it all; they are slow.
    const int64_t step = isa == kernels::Isa::kScalar ? 8 : 1;
    for (int64_t count = 1; count <= std::min<int64_t>(rows_, 17); count += step) {
      for (int64_t first = 0; first + count <= rows_; first += count) {
        const auto some =
            std::span(all).subspan(static_cast<size_t>(first), static_cast<size_t>(count));
        ASSERT_TRUE(same_bits(run(table, x, some, 2), expected(some)))
            << "depends on a batch of " << count << " rows from " << first;
      }
    }

    std::vector<float> poisoned = x;
    for (int64_t r = 0; r < rows_; r += 2) {
      std::fill_n(poisoned.begin() + r * kernel_.in, kernel_.in,
                  std::numeric_limits<float>::quiet_NaN());
    }
    const std::vector<float> beside = run(table, poisoned, all, 0);
    for (size_t r = 1; r < static_cast<size_t>(rows_); r += 2) {
      ASSERT_TRUE(
          same_bits(std::span(beside).subspan(r * out, out), std::span(twin).subspan(r * out, out)))
          << "row " << r << " depends on NaN in its neighbours";
    }
  }
}

}  // namespace spindrift::testing
