#include "kernels/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/linear_dense.cc"
#include <hwy/foreach_target.h>
//
#include <hwy/highway.h>

#include "kernels/contract.h"
#include "kernels/dense_source-inl.h"
#include "kernels/linear-inl.h"
#include "kernels/simd.h"

#if SPINDRIFT_VECTOR_TARGET

HWY_BEFORE_NAMESPACE();
namespace spindrift::kernels::HWY_NAMESPACE {
namespace {

template <class Source>
void LinearDense(const DenseMatrix& w, InRows x, OutRows y, Columns columns,
                 const Epilogue& epilogue) {
  Linear(Source(w.bytes.data(), w.in), w.in, x, y, columns, epilogue);
}

}  // namespace

void FillLinearDense(Table& table) {
  table.linear_f32 = LinearDense<F32Source>;
  table.linear_bf16 = LinearDense<Bf16Source>;
  table.linear_f16 = LinearDense<F16Source>;
}

}  // namespace spindrift::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // SPINDRIFT_VECTOR_TARGET

#if HWY_ONCE
#include "kernels/dispatch-inl.h"

namespace spindrift::kernels {

void simd::fill_linear_dense(Isa isa, Table& table) { SPINDRIFT_FILL(FillLinearDense, isa, table); }

}  // namespace spindrift::kernels
#endif
