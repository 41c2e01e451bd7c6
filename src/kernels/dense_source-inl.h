// Columns of float32, bfloat16 and float16 elements at any address: weights and cached keys.
#if defined(SPINDRIFT_KERNELS_DENSE_SOURCE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SPINDRIFT_KERNELS_DENSE_SOURCE_INL_H_
#undef SPINDRIFT_KERNELS_DENSE_SOURCE_INL_H_
#else
#define SPINDRIFT_KERNELS_DENSE_SOURCE_INL_H_
#endif

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstring>

#include "core/bf16.h"
#include "core/f16.h"
#include "kernels/lane16-inl.h"
#include "kernels/targets.h"
#include "kernels/tile-inl.h"

#if SPINDRIFT_VECTOR_TARGET

HWY_BEFORE_NAMESPACE();
namespace spindrift::kernels::HWY_NAMESPACE {

struct F32Element {
  static constexpr int64_t kBytes = 4;
  static HWY_INLINE Vec16 load(const uint8_t* p) { return Load16(p); }
  static float scalar(const uint8_t* p) {
    float value;
    std::memcpy(&value, p, sizeof(value));
    return value;
  }
};

struct Bf16Element {
  static constexpr int64_t kBytes = 2;
  static HWY_INLINE Vec16 load(const uint8_t* p) { return LoadBf16x16(p); }
  static float scalar(const uint8_t* p) {
    uint16_t bits;
    std::memcpy(&bits, p, sizeof(bits));
    return bf16_to_float(bits);
  }
};

struct F16Element {
  static constexpr int64_t kBytes = 2;
  static HWY_INLINE Vec16 load(const uint8_t* p) {
    Vec16 r;
#if HWY_CAP_GE256
    const FloatTag df;
    const hn::Rebind<hwy::float16_t, FloatTag> d16;
    const hn::Repartition<uint8_t, decltype(d16)> d8;
    for (int i = 0; i < kRegs; ++i) {
      r.v[i] = hn::PromoteTo(df, hn::BitCast(d16, hn::LoadU(d8, p + i * kLanes * 2)));
    }
#else
    HWY_ALIGN float values[16];
    for (int i = 0; i < 16; ++i) values[i] = scalar(p + 2 * i);
    r = Load16(values);
#endif
    return r;
  }
  static float scalar(const uint8_t* p) {
    uint16_t bits;
    std::memcpy(&bits, p, sizeof(bits));
    return f16_to_float(bits);
  }
};

template <class Element>
class DenseSource {
 public:
  using Cursor = const uint8_t*;
  static constexpr int kTileRows = WideTiles::kTileRows;
  static constexpr bool kPacks = false;
  static constexpr int kFetchSteps = static_cast<int>(64 / (16 * Element::kBytes));
  static constexpr bool kFetchColumns = true;
#if HWY_CAP_GE512
  // Few rows are bound by memory: the more columns, the more of it is on its way. Two flat tiles
  // then fetch more evenly than a high one; the second finds the weights in the cache.
  static constexpr int tile_rows(int rows) { return rows >= 4 && rows <= 8 ? (rows + 1) / 2 : 6; }
  static constexpr int tile_columns(int rows) {
    return rows <= 3 ? 8 : rows == 4 ? 6 : WideTiles::tile_columns(rows);
  }
#else
  static constexpr int tile_rows(int) { return kTileRows; }
  static constexpr int tile_columns(int rows) { return WideTiles::tile_columns(rows); }
#endif

  // Column c starts `stride` elements after column c - 1.
  DenseSource(const std::byte* data, int64_t stride)
      : data_(reinterpret_cast<const uint8_t*>(data)), stride_(stride * Element::kBytes) {}
  HWY_INLINE Cursor cursor(int64_t c) const { return data_ + c * stride_; }
  HWY_INLINE const uint8_t* at(int64_t c, int64_t k) const {
    return data_ + c * stride_ + k * Element::kBytes;
  }
  HWY_INLINE int64_t column_bytes() const { return stride_; }
  HWY_INLINE void fetch_scales(int64_t, int64_t) const {}
  HWY_INLINE Vec16 load(const Cursor& at, int64_t step) const {
    return Element::load(at + step * 16 * Element::kBytes);
  }
  HWY_INLINE Vec16 load_x(const float* x) const { return Load16(x); }
  HWY_INLINE Vec16 natural(Vec16 v) const { return v; }
  float scalar(int64_t c, int64_t k) const {
    return Element::scalar(data_ + c * stride_ + k * Element::kBytes);
  }
  HWY_INLINE void expand(int64_t c, int64_t k, int64_t count, float* out) const {
    const uint8_t* from = at(c, k);
    for (int64_t i = 0; i < count; i += 16)
      Store16(Element::load(from + i * Element::kBytes), out + i);
  }
  HWY_INLINE void prefetch(int64_t c, int64_t k, int64_t count) const {
    const uint8_t* from = at(c, k);
    for (int64_t i = 0; i < count * Element::kBytes; i += 64) hwy::Prefetch(from + i);
  }

 private:
  const uint8_t* data_;
  int64_t stride_;
};

using F32Source = DenseSource<F32Element>;
using Bf16Source = DenseSource<Bf16Element>;
using F16Source = DenseSource<F16Element>;

}  // namespace spindrift::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // SPINDRIFT_VECTOR_TARGET

#endif
