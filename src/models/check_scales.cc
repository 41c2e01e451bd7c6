#include "models/check_scales.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "nn/to_float.h"

namespace spindrift {
namespace {

// "scales" or "weights" for a tensor whose numbers are to be read, else empty.
std::string_view what_it_holds(const WeightStore& store, std::string_view name) {
  const std::string_view leaf = name.substr(name.rfind('.') + 1);
  if (leaf == "weight_scale" || leaf == "scales" || leaf == "biases") return "scales";
  return leaf == "weight" && store.find(name)->dtype == DType::kF8E4M3 ? "weights" : "";
}

bool all_finite(const TensorView& tensor) {
  // MLX stores the E4M3 scales of its nvfp4 as plain bytes.
  if (tensor.dtype == DType::kF8E4M3 || tensor.dtype == DType::kU8) {
    return std::all_of(tensor.bytes.begin(), tensor.bytes.end(),
                       [](std::byte b) { return (std::to_integer<unsigned>(b) & 0x7FU) != 0x7FU; });
  }
  if (tensor.dtype != DType::kF32 && tensor.dtype != DType::kBf16 && tensor.dtype != DType::kF16)
    return true;  // every code of an integer type is a number
  constexpr size_t kChunk = 4096;
  std::vector<float> values;
  const auto size = static_cast<size_t>(dtype_bytes(tensor.dtype));
  for (size_t at = 0; at < tensor.bytes.size(); at += kChunk * size) {
    const auto part = tensor.bytes.subspan(at, std::min(kChunk * size, tensor.bytes.size() - at));
    values.resize(part.size() / size);
    nn::to_float(tensor.dtype, part, values);
    if (!std::all_of(values.begin(), values.end(), [](float v) { return std::isfinite(v); }))
      return false;
  }
  return true;
}

}  // namespace

std::vector<std::string> check_quantised_numbers(WeightStore& store, size_t limit) {
  std::vector<std::string> problems;
  for (const std::string_view name : store.names()) {
    if (problems.size() >= limit) break;
    const std::string_view held = what_it_holds(store, name);
    if (held.empty()) continue;
    const Result<TensorView> tensor = store.get_any(name);
    if (tensor.ok() && !all_finite(tensor.value()))
      problems.push_back(store.where() + ": tensor `" + std::string(name) + "`: expected finite " +
                         std::string(held) + ", found one that is not");
  }
  return problems;
}

}  // namespace spindrift
