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

// Beyond, expanding weights once for all rows costs less than once for each tile.
constexpr size_t kDenseDirectRows = HWY_CAP_GE512 ? 16 : 6;

template <class Source>
void LinearDense(const DenseMatrix& w, InRows x, OutRows y, Columns columns,
                 const Epilogue& epilogue) {
  if (x.empty()) return;
  const Source source(w.bytes.data(), w.in);
  if (x.size() <= kDenseDirectRows) {
    LinearFew(source, w.in, x, y, columns, epilogue);
  } else {
    LinearPanel(source, w.in, x, y, columns, epilogue);
  }
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
