#pragma once

#include "kernels/contract.h"

// The scalar twins: each states its kernel's order of operations in the fewest lines, and is what
// Isa::kScalar runs. A vector kernel is right when it has the same bits.
namespace spindrift::kernels::twin {

void linear_f32(const DenseMatrix& w, InRows x, OutRows y, Columns columns,
                const Epilogue& epilogue);
void linear_bf16(const DenseMatrix& w, InRows x, OutRows y, Columns columns,
                 const Epilogue& epilogue);
// What a matrix unit makes of bfloat16 weights (linear_tiles.h): x rounded to bfloat16; of each 32
// inputs, ascending, the even and the odd products summed apart by fused multiply-adds, the two
// sums added, and that to the total. Subnormal numbers count as zero everywhere.
void linear_bf16_tiles(const DenseMatrix& w, InRows x, OutRows y, Columns columns,
                       const Epilogue& epilogue);
void linear_f16(const DenseMatrix& w, InRows x, OutRows y, Columns columns,
                const Epilogue& epilogue);
void linear_nvfp4(const Nvfp4Matrix& w, InRows x, OutRows y, Columns columns,
                  const Epilogue& epilogue);
void linear_fp8(const Fp8Matrix& w, InRows x, OutRows y, Columns columns, const Epilogue& epilogue);
void linear_int(const PackedMatrix& w, InRows x, OutRows y, Columns columns,
                const Epilogue& epilogue);
void linear_affine(const PackedMatrix& w, InRows x, OutRows y, Columns columns,
                   const Epilogue& epilogue);

void rms_norm(std::span<const float> x, std::span<const float> weight, float eps,
              std::span<float> y);
void layer_norm(std::span<const float> x, std::span<const float> weight,
                std::span<const float> bias, float eps, std::span<float> y);
void gelu(std::span<float> x);
void gelu_tanh(std::span<float> x);
void rope(std::span<float> head, std::span<const float> cos, std::span<const float> sin);
void silu_mul(std::span<const float> gate, std::span<const float> up, std::span<float> out);
void softplus_gate(std::span<const float> gate, std::span<float> x);
void add(std::span<float> x, std::span<const float> delta);
void weighted_sum(InRows rows, std::span<const float> weights, std::span<float> y);
void scale_add(std::span<float> x, float scale, std::span<const float> y);
void router_scores(ScoreFunc func, float softcap, std::span<const float> logits,
                   std::span<float> scores);

void attention(std::span<const AttentionRow> rows, const AttentionShape& shape,
               std::span<float> scratch);

}  // namespace spindrift::kernels::twin
