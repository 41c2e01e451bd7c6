#pragma once

#include "kernels/contract.h"

// Each vector source file puts its kernels for one instruction set into a table. `isa` is a usable
// set other than kScalar.
namespace spindrift::kernels::simd {

void fill_attention(Isa isa, Table& table);
void fill_linear_dense(Isa isa, Table& table);
void fill_linear_fp8(Isa isa, Table& table);
void fill_linear_nvfp4(Isa isa, Table& table);
void fill_linear_packed(Isa isa, Table& table);
void fill_vector_ops(Isa isa, Table& table);

}  // namespace spindrift::kernels::simd
