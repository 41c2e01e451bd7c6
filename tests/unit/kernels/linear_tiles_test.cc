#include "kernels/linear_tiles.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "core/bf16.h"
#include "kernels/registry.h"
#include "kernels/twins.h"

namespace spindrift {
namespace {

using kernels::Columns;
using kernels::DenseMatrix;
using kernels::Epilogue;

// Weights, inputs and both results of one product.
struct Product {
  Product(int64_t columns, int64_t inputs, int64_t rows)
      : w(static_cast<size_t>(columns * inputs)), out(columns), in(inputs) {
    uint64_t state = static_cast<uint64_t>(out * 31 + in * 7 + rows);
    const auto next = [&state] {
      state = state * 6364136223846793005U + 1442695040888963407U;
      return static_cast<float>(static_cast<int64_t>(state >> 40U) - (1 << 23)) * 0x1p-23F;
    };
    for (uint16_t& value : w) value = bf16_from_float(next());
    for (int64_t r = 0; r < rows; ++r) {
      x.emplace_back(static_cast<size_t>(in));
      for (float& value : x.back()) value = next();
      y.emplace_back(static_cast<size_t>(out), -7.0F);
    }
  }
  DenseMatrix matrix() const { return {std::as_bytes(std::span(w)), out, in}; }
  std::vector<std::vector<float>> run(kernels::LinearDenseFn fn, Columns columns,
                                      const Epilogue& epilogue) {
    std::vector<std::vector<float>> result = y;
    std::vector<const float*> ins;
    std::vector<float*> outs;
    for (auto& row : x) ins.push_back(row.data());
    for (auto& row : result) outs.push_back(row.data());
    fn(matrix(), ins, outs, columns, epilogue);
    return result;
  }

  std::vector<uint16_t> w;
  int64_t out, in;
  std::vector<std::vector<float>> x, y;
};

bool same_bits(const std::vector<std::vector<float>>& a, const std::vector<std::vector<float>>& b) {
  for (size_t r = 0; r < a.size(); ++r)
    if (std::memcmp(a[r].data(), b[r].data(), a[r].size() * sizeof(float)) != 0) return false;
  return true;
}

TEST(LinearTiles, HaveTheBitsOfTheirTwin) {
  if (!kernels::tiles::usable()) GTEST_SKIP() << "this machine has no AMX";
  for (const int64_t rows : {1, 15, 16, 17, 40}) {
    for (const int64_t in : {32, 512, 8192}) {  // of 8192, one tile of rows at a time
      Product p(48, in, rows);
      std::vector<float> bias(48);
      for (size_t i = 0; i < bias.size(); ++i) bias[i] = static_cast<float>(i) * 0.37F;
      for (const Epilogue& epilogue : {Epilogue{}, Epilogue{0.3F, bias}}) {
        const Columns columns{16, 48};  // the others stay as they were
        EXPECT_TRUE(same_bits(p.run(kernels::tiles::linear_bf16, columns, epilogue),
                              p.run(kernels::twin::linear_bf16_tiles, columns, epilogue)))
            << rows << " rows of " << in;
      }
    }
  }
}

TEST(LinearTiles, AgreeOnValuesThatNumbersEndWith) {
  if (!kernels::tiles::usable()) GTEST_SKIP() << "this machine has no AMX";
  constexpr float kInf = std::numeric_limits<float>::infinity();
  Product p(16, 64, 6);
  p.x[0].assign(64, 1e-39F);  // below the normal numbers
  p.x[1].assign(64, 1e-30F);  // products below them
  for (uint16_t& value : p.w) value = bf16_from_float(bf16_to_float(value) * 1e-9F);
  p.x[2].assign(64, 3e38F);
  p.x[3][5] = kInf;
  p.x[4][5] = std::nanf("");
  const auto found = p.run(kernels::tiles::linear_bf16, {0, 16}, {});
  const auto expected = p.run(kernels::twin::linear_bf16_tiles, {0, 16}, {});
  for (size_t r = 0; r < found.size(); ++r) {
    for (size_t c = 0; c < 16; ++c) {
      if (std::isnan(expected[r][c])) {
        EXPECT_TRUE(std::isnan(found[r][c])) << r << " " << c;
      } else {
        EXPECT_EQ(found[r][c], expected[r][c]) << r << " " << c;
      }
    }
  }
}

TEST(LinearTiles, TheTwinIsTheProductButForTheRoundingOfInputs) {
  Product p(32, 1024, 3);
  const auto found = p.run(kernels::twin::linear_bf16_tiles, {0, 32}, {});
  for (size_t r = 0; r < 3; ++r) {
    for (size_t c = 0; c < 32; ++c) {
      double exact = 0, size = 0;
      for (size_t k = 0; k < 1024; ++k) {
        const double product = double{bf16_to_float(p.w[c * 1024 + k])} * double{p.x[r][k]};
        exact += product;
        size += std::abs(product);
      }
      // Half a unit in the last of eight bits for each input; sums in float32 are far below that.
      EXPECT_NEAR(found[r][c], exact, size * 0x1p-8);
      EXPECT_NE(found[r][c], 0.0F);
    }
  }
}

TEST(DraftingTable, ChangesNothingButLargeLayersOfBfloat16) {
  const kernels::Table& exact = kernels::table(kernels::usable_isas().back());
  const kernels::Table* drafting = kernels::drafting_table(exact);
  if (drafting == nullptr) GTEST_SKIP() << "this machine has no AMX";
  kernels::for_each_kernel([&](std::string_view name, auto member) {
    EXPECT_EQ(drafting->*member == exact.*member, name != "linear_bf16") << name;
  });
  struct Case {
    int64_t out, in, rows;
    bool tiles;
  };
  for (const Case& c : {Case{2048, 1024, 4, true},
                        {2048, 1024, 3, false},
                        {2047, 1024, 4, false},
                        {1100, 2000, 4, false},
                        {2051, 1024, 5, true}}) {
    Product p(c.out, c.in, c.rows);
    const Columns columns{3, c.out};
    EXPECT_EQ(!same_bits(p.run(drafting->linear_bf16, columns, {}),
                         p.run(exact.linear_bf16, columns, {})),
              c.tiles)
        << c.out << " x " << c.in << ", " << c.rows << " rows";
    if (!c.tiles) continue;
    // Whole tiles from the first column on, the rest exactly.
    const int64_t whole = 3 + (c.out - 3) / 16 * 16;
    auto expected = p.run(kernels::twin::linear_bf16_tiles, {3, whole}, {});
    const auto tail = p.run(exact.linear_bf16, {whole, c.out}, {});
    for (size_t r = 0; r < expected.size(); ++r)
      std::copy(tail[r].begin() + whole, tail[r].end(), expected[r].begin() + whole);
    EXPECT_TRUE(same_bits(p.run(drafting->linear_bf16, columns, {}), expected));
  }
}

}  // namespace
}  // namespace spindrift
