#include "kernels/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/linear_packed.cc"
#include <hwy/foreach_target.h>
//
#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <type_traits>

#include "kernels/contract.h"
#include "kernels/elements.h"
#include "kernels/linear-inl.h"
#include "kernels/nibbles-inl.h"
#include "kernels/simd.h"

#if SPINDRIFT_VECTOR_TARGET

HWY_BEFORE_NAMESPACE();
namespace spindrift::kernels::HWY_NAMESPACE {
namespace {

using Ints = hn::Vec<hn::RebindToSigned<FloatTag>>;

// Codes [i * kLanes, (i + 1) * kLanes) of the sixteen at `codes`.
template <int kBits>
HWY_INLINE Ints Codes(const uint8_t* codes, int i) {
  const hn::RebindToSigned<FloatTag> di;
  if constexpr (kBits == 8) {
    const hn::Rebind<uint8_t, FloatTag> d8;
    return hn::PromoteTo(di, hn::LoadU(d8, codes + i * kLanes));
  } else {
#if HWY_TARGET == HWY_AVX2
    Ints r;
    r.raw = EightNibbles(codes + 4 * i);
    return r;
#else
    HWY_ALIGN int32_t values[kLanes];
    for (int j = 0; j < kLanes / 2; ++j) {
      const uint8_t pair = codes[i * kLanes / 2 + j];
      values[2 * j] = pair & 0xf;
      values[2 * j + 1] = pair >> 4;
    }
    return hn::Load(di, values);
#endif
  }
}

// What the weights of a group make of a code.
template <int kBits, bool kAffine>
struct CodeMap {
  Floats scale;
  Floats bias;

  HWY_INLINE Floats weights(Ints codes) const {
    const FloatTag df;
    const hn::RebindToSigned<FloatTag> di;
    if constexpr (kAffine) return Fma(hn::ConvertTo(df, codes), scale, bias);
    const Ints centred = hn::Sub(codes, hn::Set(di, 1 << (kBits - 1)));
    return hn::Mul(hn::ConvertTo(df, centred), scale);
  }
};

#if HWY_TARGET == HWY_AVX3
constexpr int code_columns(int rows) { return WideTiles::tile_columns(rows); }
constexpr size_t kCodeDirectRows = 16;
#elif HWY_TARGET == HWY_AVX2
constexpr int code_columns(int rows) { return rows == 1 ? 4 : rows == 2 ? 2 : 1; }
constexpr size_t kCodeDirectRows = 3;
#else
constexpr int code_columns(int rows) { return WideTiles::tile_columns(rows); }
constexpr size_t kCodeDirectRows = 1;
#endif

template <int kBits, bool kAffine>
class CodeSource {
 public:
  struct Cursor {
    const uint8_t* codes;
    const float* scales;  // of the column's groups
    const float* biases;
  };
  using Map = CodeMap<kBits, kAffine>;
#if HWY_TARGET == HWY_AVX3
  // Sixteen codes have sixteen weights: a register that the codes permute.
  static constexpr bool kTable = kBits == 4;
#else
  static constexpr bool kTable = false;
#endif
  using Group = std::conditional_t<kTable, Vec16, Map>;
  static constexpr int kTileRows = WideTiles::kTileRows;
  static constexpr bool kPacks = kTable;
  static constexpr int tile_rows(int) { return kTileRows; }
  static constexpr int tile_columns(int rows) { return code_columns(rows); }
  static constexpr int64_t kStepBytes = 2 * kBits;
  static constexpr int kFetchSteps = kBits == 4 ? 8 : 4;  // a cache line of codes
  static constexpr bool kFetchColumns = true;

  explicit CodeSource(const PackedMatrix& w)
      : w_(w),
        codes_(reinterpret_cast<const uint8_t*>(w.codes.data())),
        row_bytes_(w.row_bytes()),
        groups_(w.groups()),
        group_steps_(static_cast<uint32_t>(w.group / 16)),
        shift_(std::has_single_bit(group_steps_) ? std::countr_zero(group_steps_) : -1) {}

  // Widens what the groups of columns [first, last] share, so that one load spreads it over a
  // register. Of the inputs in [k0, k1), whose groups are at most kGroups.
  HWY_INLINE void enter(int64_t first, int64_t last, int64_t k0, int64_t k1) const {
    const int64_t from = index(k0 / 16);
    const int64_t count = k1 > k0 ? index(k1 / 16 - 1) + 1 - from : 0;
    for (int64_t c = first; c <= last; ++c) {
      widen(w_.scales.data(), c * groups_ + from, count, wide_.scales[c % kSlots]);
      if constexpr (kAffine)
        widen(w_.biases.data(), c * groups_ + from, count, wide_.biases[c % kSlots]);
    }
    wide_.from = from;
  }
  HWY_INLINE Cursor cursor(int64_t c) const {
    return {codes_ + c * row_bytes_, wide_.scales[c % kSlots],
            wide_.biases[kAffine ? c % kSlots : 0]};
  }
  HWY_INLINE const uint8_t* at(int64_t c, int64_t k) const {
    return codes_ + c * row_bytes_ + k * kBits / 8;
  }
  HWY_INLINE int64_t column_bytes() const { return row_bytes_; }
  HWY_INLINE void fetch_scales(int64_t c, int64_t count) const {
    const int64_t bytes = groups_ * dtype_bytes(w_.scale_dtype);
    FetchLines(w_.scales.data() + c * bytes, count * bytes);
    if constexpr (kAffine) FetchLines(w_.biases.data() + c * bytes, count * bytes);
  }
  HWY_INLINE int64_t group_end(int64_t step) const { return (index(step) + 1) * group_steps_; }
  HWY_INLINE Group group(const Cursor& at, int64_t step) const {
    const int64_t i = index(step) - wide_.from;
    Map map{hn::Set(FloatTag(), at.scales[i]), hn::Zero(FloatTag())};
    if constexpr (kAffine) map.bias = hn::Set(FloatTag(), at.biases[i]);
    if constexpr (kTable) {
      Vec16 weights;
      weights.v[0] = map.weights(hn::Iota(hn::RebindToSigned<FloatTag>(), 0));
      return weights;
    } else {
      return map;
    }
  }

#if HWY_TARGET == HWY_AVX3
  HWY_INLINE Vec16 load(const Cursor& at, const Group& group, int64_t step) const {
    const uint8_t* codes = at.codes + step * kStepBytes;
    Vec16 r;
    if constexpr (kTable) {
      r.v[0].raw = _mm512_permutexvar_ps(InterleavedNibbles(codes), group.v[0].raw);
    } else {
      r.v[0] = group.weights(Codes<kBits>(codes, 0));
    }
    return r;
  }
  HWY_INLINE Vec16 load_x(const float* x) const {
    return kTable ? Interleave(Load16(x)) : Load16(x);
  }
  HWY_INLINE Vec16 natural(Vec16 v) const { return kTable ? Deinterleave(v) : v; }
  static constexpr int lane(int i) { return !kTable ? i : i < 8 ? 2 * i : 2 * (i - 8) + 1; }
#else
  HWY_INLINE Vec16 load(const Cursor& at, const Group& group, int64_t step) const {
    Vec16 r;
    for (int i = 0; i < kRegs; ++i)
      r.v[i] = group.weights(Codes<kBits>(at.codes + step * kStepBytes, i));
    return r;
  }
  HWY_INLINE Vec16 load_x(const float* x) const { return Load16(x); }
  HWY_INLINE Vec16 natural(Vec16 v) const { return v; }
#endif

  float scalar(int64_t c, int64_t k) const {
    const int code = packed_code(w_, c, k);
    const int64_t at = c * groups_ + k / w_.group;
    const float scale = float_element(w_.scale_dtype, w_.scales.data(), at);
    if constexpr (kAffine) {
      return std::fma(static_cast<float>(code), scale,
                      float_element(w_.scale_dtype, w_.biases.data(), at));
    }
    return static_cast<float>(code - (1 << (kBits - 1))) * scale;
  }
  HWY_INLINE void expand(int64_t c, int64_t k, int64_t count, float* out) const {
    enter(c, c, k, k + count);
    const Cursor from = cursor(c);
    for (int64_t step = k / 16, last = (k + count) / 16; step < last;) {
      const int64_t end = std::min(group_end(step), last);
      const Group shared = group(from, step);
      for (; step < end; ++step, out += 16) Store16(natural(load(from, shared, step)), out);
    }
  }
  HWY_INLINE void prefetch(int64_t c, int64_t k, int64_t count) const {
    FetchLines(at(c, k), count * kBits / 8);
  }

 private:
  // Columns that tiles work on at a time at most, and groups of a stretch of their inputs.
  static constexpr int64_t kSlots = 16;
  static constexpr int64_t kGroups = kMostInputs / 16 + 2;
  struct Wide {
    alignas(64) float scales[kSlots][kGroups];
    alignas(64) float biases[kAffine ? kSlots : 1][kGroups];
    int64_t from;
  };

  // The group of a step. Division would take a quarter of the time of a few rows.
  HWY_INLINE int64_t index(int64_t step) const {
    const auto s = static_cast<uint32_t>(step);
    return shift_ >= 0 ? s >> shift_ : s / group_steps_;
  }
  HWY_INLINE void widen(const std::byte* values, int64_t first, int64_t count, float* out) const {
    int64_t i = 0;
    if (w_.scale_dtype == DType::kBf16) {
      const auto* bytes = reinterpret_cast<const uint8_t*>(values);
      for (; i + 16 <= count; i += 16) Store16(LoadBf16x16(bytes + (first + i) * 2), out + i);
    }
    for (; i < count; ++i) out[i] = float_element(w_.scale_dtype, values, first + i);
  }

  PackedMatrix w_;
  const uint8_t* codes_;
  int64_t row_bytes_;
  int64_t groups_;  // in a row
  uint32_t group_steps_;
  int shift_;          // of a power of two, else -1
  mutable Wide wide_;  // of the tile at work
};

template <int kBits, bool kAffine>
void LinearCodes(const PackedMatrix& w, InRows x, OutRows y, Columns columns,
                 const Epilogue& epilogue) {
  if (x.empty()) return;
  const CodeSource<kBits, kAffine> source(w);
  if (x.size() <= kCodeDirectRows) {
    LinearFew(source, w.in, x, y, columns, epilogue);
  } else {
    LinearPanel(source, w.in, x, y, columns, epilogue);
  }
}

template <bool kAffine>
void LinearOfBits(const PackedMatrix& w, InRows x, OutRows y, Columns columns,
                  const Epilogue& epilogue) {
  if (w.bits == 4) {
    LinearCodes<4, kAffine>(w, x, y, columns, epilogue);
  } else {
    LinearCodes<8, kAffine>(w, x, y, columns, epilogue);
  }
}

}  // namespace

void FillLinearPacked(Table& table) {
  table.linear_int = LinearOfBits<false>;
  table.linear_affine = LinearOfBits<true>;
}

}  // namespace spindrift::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // SPINDRIFT_VECTOR_TARGET

#if HWY_ONCE
#include "kernels/dispatch-inl.h"

namespace spindrift::kernels {

void simd::fill_linear_packed(Isa isa, Table& table) {
  SPINDRIFT_FILL(FillLinearPacked, isa, table);
}

}  // namespace spindrift::kernels
#endif
