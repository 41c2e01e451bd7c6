#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "core/exec.h"
#include "core/result.h"
#include "core/rows.h"
#include "io/weight_store.h"
#include "nn/linear.h"

namespace spindrift::nn {

// down(silu(gate(x)) * up(x)).
struct SwiGlu {
  std::unique_ptr<Linear> gate;  // [inner, hidden]
  std::unique_ptr<Linear> up;    // [inner, hidden]
  std::unique_ptr<Linear> down;  // [hidden, inner]

  int64_t inner() const { return gate->out(); }
  int64_t bytes() const { return gate->bytes() + up->bytes() + down->bytes(); }
};

// Reads `scope`.{gate,up,down}_proj.
Result<SwiGlu> load_swiglu(const WeightScope& scope, int64_t hidden, int64_t inner,
                           Bias bias = Bias::kNone);

// y = mlp(x). gate, up: [rows, inner], overwritten.
void swiglu(const SwiGlu& mlp, ConstRows x, Rows gate, Rows up, Rows y, const Exec& ex);

// gate = silu(gate) * up, row by row.
void silu_mul(Rows gate, ConstRows up, const Exec& ex);
// x = gelu(x), row by row, with the error function or with the hyperbolic tangent.
void gelu(Rows x, const Exec& ex);
void gelu_tanh(Rows x, const Exec& ex);
// x += delta, row by row.
void add(Rows x, ConstRows delta, const Exec& ex);
// x = x * scale + y, row by row.
void scale_add(Rows x, float scale, ConstRows y, const Exec& ex);
// x[r] *= softplus(gate[r]): gate.cols() gates, each over x.cols() / gate.cols() features.
void softplus_gate(ConstRows gate, Rows x, const Exec& ex);

}  // namespace spindrift::nn
