#include <cmath>
#include <cstring>

#include "core/bf16.h"
#include "core/e2m1.h"
#include "core/f16.h"
#include "core/f8e4m3.h"
#include "kernels/elements.h"
#include "kernels/lane16.h"
#include "kernels/twins.h"

namespace spindrift::kernels::twin {
namespace {

template <class T>
T load(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}

// weight(o, k) is the float32 value of W[o, k].
template <class Weight>
void linear(int64_t in, InRows x, OutRows y, Columns columns, const Epilogue& epilogue,
            const Weight& weight) {
  for (size_t r = 0; r < x.size(); ++r) {
    for (int64_t o = columns.first; o < columns.last; ++o) {
      Lane16 acc{};
      lane16_accumulate(
          x[r], in, [&](int64_t k) { return weight(o, k); }, acc);
      float value = lane16_fold(acc) * epilogue.scale;
      if (!epilogue.bias.empty()) value += epilogue.bias[static_cast<size_t>(o)];
      y[r][o] = value;
    }
  }
}

// A value without what lies below the normal numbers.
float flushed(float value) { return std::fpclassify(value) == FP_SUBNORMAL ? 0.0F * value : value; }

}  // namespace

void linear_bf16_tiles(const DenseMatrix& w, InRows x, OutRows y, Columns columns,
                       const Epilogue& epilogue) {
  for (size_t r = 0; r < x.size(); ++r) {
    for (int64_t o = columns.first; o < columns.last; ++o) {
      float total = 0;
      for (int64_t k = 0; k < w.in; k += 32) {
        float sums[2] = {0, 0};
        for (int64_t i = 0; i < 32; ++i) {
          const float in = flushed(bf16_to_float(bf16_from_float(flushed(x[r][k + i]))));
          const auto bits = load<uint16_t>(w.bytes.data() + (o * w.in + k + i) * 2);
          sums[i % 2] = flushed(std::fma(flushed(bf16_to_float(bits)), in, sums[i % 2]));
        }
        total = flushed(total + flushed(sums[0] + sums[1]));
      }
      const float value = total * epilogue.scale;
      y[r][o] = epilogue.bias.empty() ? value : value + epilogue.bias[static_cast<size_t>(o)];
    }
  }
}

void linear_f32(const DenseMatrix& w, InRows x, OutRows y, Columns columns,
                const Epilogue& epilogue) {
  linear(w.in, x, y, columns, epilogue,
         [&](int64_t o, int64_t k) { return load<float>(w.bytes.data() + (o * w.in + k) * 4); });
}

void linear_bf16(const DenseMatrix& w, InRows x, OutRows y, Columns columns,
                 const Epilogue& epilogue) {
  linear(w.in, x, y, columns, epilogue, [&](int64_t o, int64_t k) {
    return bf16_to_float(load<uint16_t>(w.bytes.data() + (o * w.in + k) * 2));
  });
}

void linear_f16(const DenseMatrix& w, InRows x, OutRows y, Columns columns,
                const Epilogue& epilogue) {
  linear(w.in, x, y, columns, epilogue, [&](int64_t o, int64_t k) {
    return f16_to_float(load<uint16_t>(w.bytes.data() + (o * w.in + k) * 2));
  });
}

void linear_nvfp4(const Nvfp4Matrix& w, InRows x, OutRows y, Columns columns,
                  const Epilogue& epilogue) {
  linear(w.in, x, y, columns, epilogue, [&](int64_t o, int64_t k) {
    const auto code = load<uint8_t>(w.codes.data() + o * (w.in / 2) + k / 2);
    const auto scale = load<uint8_t>(w.scales.data() + o * (w.in / 16) + k / 16);
    return (k % 2 == 0 ? e2m1_low(code) : e2m1_high(code)) * f8e4m3_to_float(scale);
  });
}

void linear_fp8(const Fp8Matrix& w, InRows x, OutRows y, Columns columns,
                const Epilogue& epilogue) {
  const int64_t blocks = (w.in + w.block_columns - 1) / w.block_columns;
  linear(w.in, x, y, columns, epilogue, [&](int64_t o, int64_t k) {
    const auto code = load<uint8_t>(w.codes.data() + o * w.in + k);
    const int64_t block = (w.first_row + o) / w.block_rows * blocks + k / w.block_columns;
    return f8e4m3_to_float(code) * float_element(w.scale_dtype, w.scales.data(), block);
  });
}

void linear_int(const PackedMatrix& w, InRows x, OutRows y, Columns columns,
                const Epilogue& epilogue) {
  linear(w.in, x, y, columns, epilogue, [&](int64_t o, int64_t k) {
    const int code = packed_code(w, o, k) - (1 << (w.bits - 1));
    const int64_t group = o * w.groups() + k / w.group;
    return static_cast<float>(code) * float_element(w.scale_dtype, w.scales.data(), group);
  });
}

void linear_affine(const PackedMatrix& w, InRows x, OutRows y, Columns columns,
                   const Epilogue& epilogue) {
  linear(w.in, x, y, columns, epilogue, [&](int64_t o, int64_t k) {
    const int64_t group = o * w.groups() + k / w.group;
    return std::fma(static_cast<float>(packed_code(w, o, k)),
                    float_element(w.scale_dtype, w.scales.data(), group),
                    float_element(w.scale_dtype, w.biases.data(), group));
  });
}

}  // namespace spindrift::kernels::twin
