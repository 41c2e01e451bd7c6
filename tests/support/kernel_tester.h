#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "kernels/contract.h"

namespace spindrift::testing {

// Repeatable test data.
class Noise {
 public:
  explicit Noise(uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15U + 0x2545f4914f6cdd1dU) {}
  uint32_t bits();
  int64_t below(int64_t limit);  // [0, limit)
  float value();                 // spread over (-2, 2), denser towards zero
  std::vector<float> values(int64_t count);
  std::vector<std::byte> bytes(int64_t count);

 private:
  uint64_t state_;
};

// `bytes`, moved to an address that is `misalignment` past a multiple of 64.
class MisalignedBytes {
 public:
  MisalignedBytes(std::span<const std::byte> bytes, size_t misalignment);
  std::span<const std::byte> view() const { return {storage_.data() + start_, size_}; }

 private:
  std::vector<std::byte> storage_;
  size_t start_ = 0, size_ = 0;
};

bool same_bits(std::span<const float> a, std::span<const float> b);

// A kernel seen as a function of rows: what the row law speaks about.
struct RowKernel {
  std::string name;  // of the case
  int64_t in = 0;    // floats of an input row
  int64_t out = 0;   // floats of an output row
  // Computes y[i] from x[i]; ids[i] says which row of the test it is, for data that belongs to a
  // row and is not its input.
  std::function<void(const kernels::Table&, std::span<const int64_t> ids, kernels::InRows x,
                     kernels::OutRows y)>
      run;
  // The same in double for one row, with the magnitude that each output's error is measured
  // against.
  std::function<void(int64_t id, std::span<const float> x, std::span<double> y,
                     std::span<double> magnitude)>
      exact;
  double tolerance = 0x1p-21;  // times magnitude
};

// Holds one kernel to its laws on every instruction set of this machine.
class KernelTester {
 public:
  explicit KernelTester(RowKernel kernel) : kernel_(std::move(kernel)) {}
  KernelTester& rows(int64_t n) {
    rows_ = n;
    return *this;
  }
  // Floats between the ends of neighbouring rows.
  KernelTester& gap(int64_t floats) {
    gap_ = floats;
    return *this;
  }
  KernelTester& seed(uint64_t s) {
    seed_ = s;
    return *this;
  }
  // Twin equality, the row law (alone, in batches, permuted, beside NaN rows, at other addresses),
  // canaries and accuracy.
  void check() const;

 private:
  std::vector<float> run(const kernels::Table& table, std::span<const float> x,
                         std::span<const int64_t> ids, int64_t shift) const;
  void check_accuracy(std::span<const float> x, std::span<const float> y) const;

  RowKernel kernel_;
  int64_t rows_ = 5;
  int64_t gap_ = 3;
  uint64_t seed_ = 1;
};

}  // namespace spindrift::testing
