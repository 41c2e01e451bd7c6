#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "core/dtype.h"
#include "core/types.h"

// The contracts of all kernels. Every kernel is single threaded (threads are handed out one level
// up, in nn/), obeys the row law (docs/numerics.md) and has a scalar twin that states its order of
// operations. Weights may start at any address.
namespace spindrift::kernels {

// Rows as pointers, so that gathered rows (the tokens of one expert) need no copy. Input rows hold
// `in` floats, output rows `out` floats; outputs never alias inputs.
using InRows = std::span<const float* const>;
using OutRows = std::span<float* const>;

// Output columns [first, last) of a linear layer: what one call computes, of every row.
struct Columns {
  int64_t first = 0;
  int64_t last = 0;
};

// y = dot * scale + bias[column]; an empty bias adds nothing. Two roundings, no fusion.
struct Epilogue {
  float scale = 1.0F;
  std::span<const float> bias = {};
};

// [out, in] row-major weights of the element type that the called kernel names.
struct DenseMatrix {
  std::span<const std::byte> bytes;
  int64_t out = 0;
  int64_t in = 0;
};

// NVFP4: codes [out, in/2] (E2M1, low nibble = even column), scales [out, in/16] (E4M3, one for 16
// columns). A weight is code * scale, exact in float32; the tensor's global scale comes in through
// Epilogue::scale. in % 16 == 0.
struct Nvfp4Matrix {
  std::span<const std::byte> codes;
  std::span<const std::byte> scales;
  int64_t out = 0;
  int64_t in = 0;
};

// FP8: E4M3 codes [out, in] and one scale (BF16, F16 or F32) for each block of rows and columns,
// row-major. A weight is code * scale, rounded once to float32. block_columns % 16 == 0.
struct Fp8Matrix {
  std::span<const std::byte> codes;
  std::span<const std::byte> scales;
  DType scale_dtype = DType::kBf16;
  int64_t block_rows = 128;
  int64_t block_columns = 128;
  int64_t first_row = 0;  // rows of the first block that precede row 0
  int64_t out = 0;
  int64_t in = 0;
};

// Unsigned codes of 4 or 8 bits, least significant bits first, in rows of whole 32-bit words,
// [out, ceil(in * bits / 32)], and one scale (BF16, F16 or F32) for `group` neighbouring columns,
// [out, ceil(in / group)]. group % 16 == 0. What a weight is, is up to the kernel:
//   linear_int     (code - 2^(bits - 1)) * scale
//   linear_affine  fma(code, scale, bias), with biases stored as scales are
// rounded once to float32.
struct PackedMatrix {
  std::span<const std::byte> codes;
  std::span<const std::byte> scales;
  std::span<const std::byte> biases = {};  // linear_affine only
  DType scale_dtype = DType::kBf16;
  int bits = 4;
  int64_t group = 0;
  int64_t out = 0;
  int64_t in = 0;

  int64_t row_bytes() const { return (in * bits + 31) / 32 * 4; }
  int64_t groups() const { return (in + group - 1) / group; }
};

// Linear order (Lane16): acc[k % 16] = fma(x[k], w[k], acc[k % 16]) for k ascending, folded by
// halves 16 -> 8 -> 4 -> 2 -> 1, then the epilogue.
using LinearDenseFn = void (*)(const DenseMatrix& w, InRows x, OutRows y, Columns columns,
                               const Epilogue& epilogue);
using LinearNvfp4Fn = void (*)(const Nvfp4Matrix& w, InRows x, OutRows y, Columns columns,
                               const Epilogue& epilogue);

using LinearFp8Fn = void (*)(const Fp8Matrix& w, InRows x, OutRows y, Columns columns,
                             const Epilogue& epilogue);
using LinearPackedFn = void (*)(const PackedMatrix& w, InRows x, OutRows y, Columns columns,
                                const Epilogue& epilogue);

// y = x / sqrt(mean(x^2) + eps) * weight; the sum of squares in Lane16 order, then x times the
// rounded inverse root, times weight. x and y may be the same span.
using RmsNormFn = void (*)(std::span<const float> x, std::span<const float> weight, float eps,
                           std::span<float> y);

// y = (x - mean) / sqrt(mean((x - mean)^2) + eps) * weight + bias; both sums in Lane16 order, then
// the difference times the rounded inverse root, times weight, plus bias. x and y may be the same
// span.
using LayerNormFn = void (*)(std::span<const float> x, std::span<const float> weight,
                             std::span<const float> bias, float eps, std::span<float> y);

// x = gelu(x), with the error function or with the hyperbolic tangent.
using GeluFn = void (*)(std::span<float> x);

// Rotate-half RoPE in place on one head: pairs (a, b) = (i, i + n) for i < n = cos.size() become
// (fma(a, cos, -(b sin)), fma(b, cos, a sin)); features from 2n on are untouched.
using RopeFn = void (*)(std::span<float> head, std::span<const float> cos,
                        std::span<const float> sin);

// out = silu(gate) * up. out may be gate or up.
using SiluMulFn = void (*)(std::span<const float> gate, std::span<const float> up,
                           std::span<float> out);

// x[i] *= softplus(gate[i / (x.size() / gate.size())]): one gate per head or per element.
using SoftplusGateFn = void (*)(std::span<const float> gate, std::span<float> x);

// x += delta.
using AddFn = void (*)(std::span<float> x, std::span<const float> delta);

// y[i] = sum over r ascending of weights[r] * rows[r][i]: acc starts at 0, acc = fma(weights[r],
// rows[r][i], acc).
using WeightedSumFn = void (*)(InRows rows, std::span<const float> weights, std::span<float> y);

// x = x * scale + y (two roundings): closes a mixture layer: routed * factor + shared.
using ScaleAddFn = void (*)(std::span<float> x, float scale, std::span<const float> y);

enum class ScoreFunc : uint8_t { kSigmoid, kSqrtSoftplus, kSoftmax };

// Router scores: z = softcap > 0 ? softcap * tanh(z / softcap) : z, then the score function.
// sqrt(softplus(z)) stays finite and exact in sign down to z = -100. Softmax runs over the row in
// Lane16 order.
using RouterScoresFn = void (*)(ScoreFunc func, float softcap, std::span<const float> logits,
                                std::span<float> scores);

// `count` consecutive positions of keys and values, as stored. Element (p, head, d) of keys is
// keys[((p - first) * position_stride + head * head_stride + d)] in units of the dtype (F32 or
// BF16).
struct KeySegment {
  Position first = 0;
  int64_t count = 0;
  DType dtype = DType::kF32;
  const std::byte* keys = nullptr;
  const std::byte* values = nullptr;
  int64_t position_stride = 0;
  int64_t head_stride = 0;
};

// One query row of one KV head: `group` query heads (consecutive, head_dim floats each) that share
// that KV head. Segments are the visible keys only, ascending by position, without overlap (gaps
// are allowed: a masked key is an absent key), at least one. out: group * head_dim floats. sinks:
// empty, or one logit a query head that joins the softmax's denominator (and maximum) but has no
// value.
struct AttentionRow {
  const float* q = nullptr;
  float* out = nullptr;
  std::span<const KeySegment> segments;
  std::span<const float> sinks;
};

struct AttentionShape {
  int64_t head_dim = 0;
  int64_t group = 1;    // query heads per KV head
  int64_t kv_head = 0;  // which KV head of the segments
  float scale = 1.0F;   // multiplies q.k
};

// softmax(scale * q.k) . v per row and query head. Order: score = Lane16 dot over head_dim, then *
// scale; max over keys and sink; e = exp(score - max); denominator: lane = absolute position % 16,
// ascending, folded by halves, then + the sink's term; out[d] = (sum over positions ascending, acc
// = fma(e, v[d], acc)) / denominator. Rows may be processed together where their segments coincide;
// the bits of a row do not depend on it. scratch: at least attention_scratch(rows, group, keys)
// floats, contents undefined before and after.
using AttentionFn = void (*)(std::span<const AttentionRow> rows, const AttentionShape& shape,
                             std::span<float> scratch);

// A kernel works on at most this many rows at a time, so scratch stops growing here.
inline constexpr int64_t kAttentionRows = 16;

// Floats of scratch for `rows` rows that see at most `max_keys` keys each.
int64_t attention_scratch(int64_t rows, const AttentionShape& shape, int64_t max_keys);

// Instruction sets a table can be built for. kScalar runs the twins; kNative is the vector set of a
// machine that is not x86.
enum class Isa : uint8_t { kScalar, kSse4, kAvx2, kAvx512, kNative };

struct Table {
  Isa isa = Isa::kScalar;
  std::string_view name;    // "scalar", "sse4", "avx2", "avx512", "native"
  std::string_view target;  // what the kernels were compiled for, in Highway's words; "twin"
  LinearDenseFn linear_f32 = nullptr;
  LinearDenseFn linear_bf16 = nullptr;
  LinearDenseFn linear_f16 = nullptr;
  LinearNvfp4Fn linear_nvfp4 = nullptr;
  LinearFp8Fn linear_fp8 = nullptr;
  LinearPackedFn linear_int = nullptr;
  LinearPackedFn linear_affine = nullptr;
  RmsNormFn rms_norm = nullptr;
  LayerNormFn layer_norm = nullptr;
  RopeFn rope = nullptr;
  SiluMulFn silu_mul = nullptr;
  GeluFn gelu = nullptr;
  GeluFn gelu_tanh = nullptr;
  SoftplusGateFn softplus_gate = nullptr;
  AddFn add = nullptr;
  WeightedSumFn weighted_sum = nullptr;
  ScaleAddFn scale_add = nullptr;
  RouterScoresFn router_scores = nullptr;
  AttentionFn attention = nullptr;
};

}  // namespace spindrift::kernels
