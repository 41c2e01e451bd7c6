#pragma once

#include <string_view>
#include <vector>

#include "core/result.h"
#include "kernels/contract.h"

namespace spindrift::kernels {

// Instruction sets this machine can run, slowest first; kScalar is always there.
std::vector<Isa> usable_isas();

// The kernels for one instruction set; it must be usable here.
const Table& table(Isa isa);

// Kernels that drafters may use instead of `table`, because they are faster and drafts need no
// exact bits: large bfloat16 layers on the matrix unit. Null where there is nothing better than
// `table`, and where SPINDRIFT_ISA names the one instruction set to use.
const Table* drafting_table(const Table& table);

// Calls fn(name, member) for every kernel of a Table.
template <class Fn>
void for_each_kernel(const Fn& fn) {
  fn("linear_f32", &Table::linear_f32);
  fn("linear_bf16", &Table::linear_bf16);
  fn("linear_f16", &Table::linear_f16);
  fn("linear_nvfp4", &Table::linear_nvfp4);
  fn("linear_fp8", &Table::linear_fp8);
  fn("linear_int", &Table::linear_int);
  fn("linear_affine", &Table::linear_affine);
  fn("rms_norm", &Table::rms_norm);
  fn("layer_norm", &Table::layer_norm);
  fn("rope", &Table::rope);
  fn("silu_mul", &Table::silu_mul);
  fn("gelu", &Table::gelu);
  fn("gelu_tanh", &Table::gelu_tanh);
  fn("softplus_gate", &Table::softplus_gate);
  fn("add", &Table::add);
  fn("weighted_sum", &Table::weighted_sum);
  fn("scale_add", &Table::scale_add);
  fn("router_scores", &Table::router_scores);
  fn("attention", &Table::attention);
}

// "scalar", "sse4", "avx2", "avx512", "native" -> Isa. kUsage when the name is unknown or the
// machine lacks it.
Result<Isa> parse_isa(std::string_view name);

// The best usable set, or the one that environment variable SPINDRIFT_ISA names (kUsage when it
// cannot be had).
Result<Isa> default_isa();

}  // namespace spindrift::kernels
