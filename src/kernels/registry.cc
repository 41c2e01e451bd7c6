#include "kernels/registry.h"
//
#include "kernels/targets.h"
//
#include <hwy/highway.h>

#include <cstdlib>
#include <string>

#include "core/check.h"
#include "kernels/linear_tiles.h"
#include "kernels/simd.h"
#include "kernels/twins.h"

namespace spindrift::kernels {
namespace {

constexpr Table kScalarTable{
    .isa = Isa::kScalar,
    .name = "scalar",
    .target = "twin",
    .linear_f32 = twin::linear_f32,
    .linear_bf16 = twin::linear_bf16,
    .linear_f16 = twin::linear_f16,
    .linear_nvfp4 = twin::linear_nvfp4,
    .linear_fp8 = twin::linear_fp8,
    .linear_int = twin::linear_int,
    .linear_affine = twin::linear_affine,
    .rms_norm = twin::rms_norm,
    .layer_norm = twin::layer_norm,
    .rope = twin::rope,
    .silu_mul = twin::silu_mul,
    .gelu = twin::gelu,
    .gelu_tanh = twin::gelu_tanh,
    .softplus_gate = twin::softplus_gate,
    .add = twin::add,
    .weighted_sum = twin::weighted_sum,
    .scale_add = twin::scale_add,
    .router_scores = twin::router_scores,
    .attention = twin::attention,
};

struct Target {
  Isa isa;
  std::string_view name;
  int64_t bit;  // Highway's; 0 = not compiled here
};

// Slowest first.
constexpr Target kTargets[] = {
    {Isa::kSse4, "sse4", HWY_TARGETS& HWY_SSE4},
    {Isa::kAvx2, "avx2", HWY_TARGETS& HWY_AVX2},
    {Isa::kAvx512, "avx512", HWY_TARGETS& HWY_AVX3},
    {Isa::kNative, "native", HWY_TARGETS& HWY_NEON},
};

std::vector<Table> make_tables() {
  std::vector<Table> tables{kScalarTable};
  const int64_t supported = hwy::SupportedTargets();
  for (const Target& target : kTargets) {
    if ((target.bit & supported) == 0) continue;
    Table table;
    table.isa = target.isa;
    table.name = target.name;
    simd::fill_attention(target.isa, table);
    simd::fill_linear_dense(target.isa, table);
    simd::fill_linear_fp8(target.isa, table);
    simd::fill_linear_nvfp4(target.isa, table);
    simd::fill_linear_packed(target.isa, table);
    simd::fill_vector_ops(target.isa, table);
    tables.push_back(table);
  }
  return tables;
}

// Fewer rows cost no more without the matrix unit; smaller weights stay in caches, where what it
// takes to bring inputs into its order counts.
constexpr size_t kTileRows = 4;
constexpr int64_t kTileWeights = int64_t{2} << 20;

// linear_bf16 of drafting_table(): whole tiles on the matrix unit, columns that are left as ever.
void draft_linear_bf16(const DenseMatrix& w, InRows x, OutRows y, Columns columns,
                       const Epilogue& epilogue) {
  const LinearDenseFn exact = table(Isa::kAvx512).linear_bf16;
  if (x.size() < kTileRows || w.in * w.out < kTileWeights || w.in % tiles::kInputs != 0 ||
      w.in > tiles::kMostInputs)
    return exact(w, x, y, columns, epilogue);
  const int64_t whole = (columns.last - columns.first) / tiles::kColumns * tiles::kColumns;
  const Columns in_tiles{columns.first, columns.first + whole};
  if (whole > 0) tiles::linear_bf16(w, x, y, in_tiles, epilogue);
  if (in_tiles.last < columns.last) exact(w, x, y, {in_tiles.last, columns.last}, epilogue);
}

const char* forced_isa() {
  const char* forced = std::getenv("SPINDRIFT_ISA");
  return forced == nullptr || *forced == '\0' ? nullptr : forced;
}

const std::vector<Table>& tables() {
  static const std::vector<Table> tables = make_tables();
  return tables;
}

}  // namespace

std::vector<Isa> usable_isas() {
  std::vector<Isa> isas;
  for (const Table& t : tables()) isas.push_back(t.isa);
  return isas;
}

const Table& table(Isa isa) {
  for (const Table& t : tables()) {
    if (t.isa == isa) return t;
  }
  check_failed("usable", "table() of an instruction set this machine lacks", __FILE__, __LINE__);
}

const Table* drafting_table(const Table& table) {
  if (table.isa != Isa::kAvx512 || forced_isa() != nullptr || !tiles::usable()) return nullptr;
  static const Table drafting = [&table] {
    Table t = table;
    t.linear_bf16 = draft_linear_bf16;
    return t;
  }();
  return &drafting;
}

Result<Isa> parse_isa(std::string_view name) {
  std::string usable;
  for (const Table& t : tables()) {
    if (t.name == name) return t.isa;
    usable += usable.empty() ? "" : ", ";
    usable += t.name;
  }
  return Error{ErrorCode::kUsage, "instruction set: expected one that this machine has (" + usable +
                                      "), found \"" + std::string(name) + "\""};
}

Result<Isa> default_isa() {
  const char* forced = forced_isa();
  if (forced == nullptr) return tables().back().isa;
  Result<Isa> isa = parse_isa(forced);
  if (isa.ok()) return isa;
  return Error{ErrorCode::kUsage, "SPINDRIFT_ISA: " + isa.error().message};
}

}  // namespace spindrift::kernels
