#include "kernels/registry.h"

#include <cstdlib>
#include <string>

#include "core/check.h"
#include "kernels/twins.h"

namespace spindrift::kernels {
namespace {

constexpr Table kScalarTable{
    .isa = Isa::kScalar,
    .name = "scalar",
    .linear_f32 = twin::linear_f32,
    .linear_bf16 = twin::linear_bf16,
    .linear_f16 = twin::linear_f16,
    .linear_nvfp4 = twin::linear_nvfp4,
    .rms_norm = twin::rms_norm,
    .rope = twin::rope,
    .silu_mul = twin::silu_mul,
    .softplus_gate = twin::softplus_gate,
    .add = twin::add,
    .weighted_sum = twin::weighted_sum,
    .scale_add = twin::scale_add,
    .router_scores = twin::router_scores,
    .attention = twin::attention,
};

}  // namespace

std::vector<Isa> usable_isas() { return {Isa::kScalar}; }

const Table& table(Isa isa) {
  SPINDRIFT_CHECK(isa == Isa::kScalar, "table() of an instruction set this machine lacks");
  return kScalarTable;
}

Result<Isa> parse_isa(std::string_view name) {
  std::string usable;
  for (const Isa isa : usable_isas()) {
    if (table(isa).name == name) return isa;
    usable += usable.empty() ? "" : ", ";
    usable += table(isa).name;
  }
  return Error{ErrorCode::kUsage, "instruction set: expected one that this machine has (" + usable +
                                      "), found \"" + std::string(name) + "\""};
}

Result<Isa> default_isa() {
  const char* forced = std::getenv("SPINDRIFT_ISA");
  if (forced == nullptr || *forced == '\0') return usable_isas().back();
  Result<Isa> isa = parse_isa(forced);
  if (isa.ok()) return isa;
  return Error{ErrorCode::kUsage, "SPINDRIFT_ISA: " + isa.error().message};
}

}  // namespace spindrift::kernels
