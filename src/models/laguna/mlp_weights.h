#pragma once

#include <cstdint>

#include "core/result.h"
#include "io/weight_store.h"
#include "models/laguna/config.h"
#include "nn/mlp.h"
#include "nn/moe.h"

// The feed-forward half of Laguna's layers, in every layout that releases and repackings have.
namespace spindrift::laguna {

// Reads `mlp`.{gate,up,down}_proj or `mlp`.{gate_up,down}_proj, of which the first `inner` rows are
// the gate's.
Result<nn::SwiGlu> load_mlp(const WeightScope& mlp, int64_t hidden, int64_t inner);

// Reads the router with its selection bias, the experts and the shared expert under `mlp`. Experts
// are in separate tensors or stacked in one, gate and up joined or apart; an error names what is in
// more than one of these layouts.
Result<nn::Moe> load_mixture(const WeightScope& mlp, const Config& config);

}  // namespace spindrift::laguna
