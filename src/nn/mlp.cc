#include "nn/mlp.h"

#include <array>
#include <utility>

#include "core/check.h"
#include "kernels/contract.h"
#include "nn/parallel.h"
#include "nn/row_pointers.h"

namespace spindrift::nn {

Result<SwiGlu> load_swiglu(const WeightScope& scope, int64_t hidden, int64_t inner, Bias bias) {
  SwiGlu mlp;
  SPINDRIFT_TRY(mlp.gate, load_linear(scope / "gate_proj", inner, hidden, bias));
  SPINDRIFT_TRY(mlp.up, load_linear(scope / "up_proj", inner, hidden, bias));
  SPINDRIFT_TRY(mlp.down, load_linear(scope / "down_proj", hidden, inner, bias));
  return mlp;
}

void swiglu(const SwiGlu& mlp, ConstRows x, Rows gate, Rows up, Rows y, const Exec& ex) {
  {
    const InPointers in(x);
    const OutPointers gate_out(gate), up_out(up);
    const std::array calls = {LinearCall{mlp.gate.get(), in, gate_out},
                              LinearCall{mlp.up.get(), in, up_out}};
    nn::apply(calls, ex);
  }
  silu_mul(gate, up, ex);
  nn::apply(*mlp.down, gate, y, ex);
}

void silu_mul(Rows gate, ConstRows up, const Exec& ex) {
  SPINDRIFT_CHECK(gate.rows() == up.rows() && gate.cols() == up.cols(), "same shape");
  for_rows(ex, gate.rows(), 4 * gate.cols(), [&](int64_t first, int64_t last) {
    for (int64_t r = first; r < last; ++r)
      ex.kernels->silu_mul(gate.row(r), up.row(r), gate.row(r));
  });
}

namespace {

void for_each_row(Rows x, kernels::GeluFn fn, const Exec& ex) {
  for_rows(ex, x.rows(), 4 * x.cols(), [&](int64_t first, int64_t last) {
    for (int64_t r = first; r < last; ++r) fn(x.row(r));
  });
}

}  // namespace

void gelu(Rows x, const Exec& ex) { for_each_row(x, ex.kernels->gelu, ex); }
void gelu_tanh(Rows x, const Exec& ex) { for_each_row(x, ex.kernels->gelu_tanh, ex); }

void add(Rows x, ConstRows delta, const Exec& ex) {
  SPINDRIFT_CHECK(x.rows() == delta.rows() && x.cols() == delta.cols(), "same shape");
  for_rows(ex, x.rows(), x.cols(), [&](int64_t first, int64_t last) {
    for (int64_t r = first; r < last; ++r) ex.kernels->add(x.row(r), delta.row(r));
  });
}

void scale_add(Rows x, float scale, ConstRows y, const Exec& ex) {
  SPINDRIFT_CHECK(x.rows() == y.rows() && x.cols() == y.cols(), "same shape");
  for_rows(ex, x.rows(), x.cols(), [&](int64_t first, int64_t last) {
    for (int64_t r = first; r < last; ++r) ex.kernels->scale_add(x.row(r), scale, y.row(r));
  });
}

void softplus_gate(ConstRows gate, Rows x, const Exec& ex) {
  SPINDRIFT_CHECK(gate.rows() == x.rows() && x.cols() % gate.cols() == 0, "whole groups a gate");
  for_rows(ex, x.rows(), x.cols() + 4 * gate.cols(), [&](int64_t first, int64_t last) {
    for (int64_t r = first; r < last; ++r) ex.kernels->softplus_gate(gate.row(r), x.row(r));
  });
}

}  // namespace spindrift::nn
