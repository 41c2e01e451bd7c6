#include "nn/mlp.h"

#include <array>
#include <utility>

#include "core/check.h"
#include "kernels/contract.h"
#include "nn/parallel.h"
#include "nn/row_pointers.h"

namespace spindrift::nn {

Result<SwiGlu> load_swiglu(const WeightScope& scope, int64_t hidden, int64_t inner) {
  SwiGlu mlp;
  SPINDRIFT_TRY(mlp.gate, load_linear(scope / "gate_proj", inner, hidden));
  SPINDRIFT_TRY(mlp.up, load_linear(scope / "up_proj", inner, hidden));
  SPINDRIFT_TRY(mlp.down, load_linear(scope / "down_proj", hidden, inner));
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

void add(Rows x, ConstRows delta, const Exec& ex) {
  SPINDRIFT_CHECK(x.rows() == delta.rows() && x.cols() == delta.cols(), "same shape");
  for_rows(ex, x.rows(), x.cols(), [&](int64_t first, int64_t last) {
    for (int64_t r = first; r < last; ++r) ex.kernels->add(x.row(r), delta.row(r));
  });
}

void softplus_gate(ConstRows gate, Rows x, const Exec& ex) {
  SPINDRIFT_CHECK(gate.rows() == x.rows() && x.cols() % gate.cols() == 0, "whole groups a gate");
  for_rows(ex, x.rows(), x.cols() + 4 * gate.cols(), [&](int64_t first, int64_t last) {
    for (int64_t r = first; r < last; ++r) ex.kernels->softplus_gate(gate.row(r), x.row(r));
  });
}

}  // namespace spindrift::nn
