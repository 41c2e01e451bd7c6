#include <cstring>

#include "core/bf16.h"
#include "core/e2m1.h"
#include "core/f16.h"
#include "core/f8e4m3.h"
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

}  // namespace

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

}  // namespace spindrift::kernels::twin
