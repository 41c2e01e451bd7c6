#pragma once

#include "kernels/contract.h"

// bfloat16 products on the matrix unit of an x86 processor (AMX), for drafters alone: inputs are
// rounded to bfloat16 and sums are made in another order than the row law's, so a row's bits depend
// on whether the unit is there. Sixteen rows cost what reading the weights costs.
namespace spindrift::kernels::tiles {

// Whether processor and system have the unit. Asks the system for it, once.
bool usable();

inline constexpr int64_t kInputs = 32;  // of one tile
inline constexpr int64_t kColumns = 16;
inline constexpr int64_t kMostInputs = 8192;

// As Table::linear_bf16 but for the bits, which twin::linear_bf16_tiles states. Needs usable(), in
// % kInputs == 0, in <= kMostInputs and a multiple of kColumns columns.
void linear_bf16(const DenseMatrix& w, InRows x, OutRows y, Columns columns,
                 const Epilogue& epilogue);

}  // namespace spindrift::kernels::tiles
