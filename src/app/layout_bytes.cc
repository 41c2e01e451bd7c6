#include "app/layout_bytes.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <optional>

namespace spindrift {
namespace {

struct Width {
  std::string_view format;
  double bytes;  // of a weight, its share of the scales included
};

// Groups as releases have them: 16 for nvfp4, 128 for integers, 128 x 128 for fp8, 64 for MLX.
constexpr double kBf16 = 2.0, kNvfp4 = 9.0 / 16.0, kFp8 = 1.0 + 2.0 / 16384.0;
constexpr double kInt4 = 0.5 + 2.0 / 128.0, kInt8 = 1.0 + 2.0 / 128.0;
constexpr double kAffine4 = 0.5 + 4.0 / 64.0, kAffine8 = 1.0 + 4.0 / 64.0;
constexpr Width kWidths[] = {{"bf16", kBf16},      {"f16", 2.0},          {"f32", 4.0},
                             {"nvfp4", kNvfp4},    {"mlx-nvfp4", kNvfp4}, {"fp8", kFp8},
                             {"int4", kInt4},      {"int8", kInt8},       {"affine4", kAffine4},
                             {"affine8", kAffine8}};

// Bytes of a weight by module.
struct Layout {
  std::string_view name;
  double routed, shared, router, rest;
};
constexpr Layout kLayouts[] = {{"bf16", kBf16, kBf16, kBf16, kBf16},
                               {"FP8", kFp8, kFp8, kBf16, kBf16},
                               {"NVFP4", kNvfp4, kNvfp4, kBf16, kBf16},
                               {"INT4", kInt4, kBf16, kBf16, kBf16},
                               {"MLX 4-bit", kAffine4, kAffine4, kAffine8, kAffine4}};

std::optional<double> width_of(std::string_view format) {
  for (const Width& width : kWidths)
    if (width.format == format) return width.bytes;
  return std::nullopt;
}

bool in(std::string_view module, std::initializer_list<std::string_view> modules) {
  return std::find(modules.begin(), modules.end(), module) != modules.end();
}

double width_in(const Layout& layout, std::string_view module) {
  if (module == "routed experts") return layout.routed;
  if (module == "shared experts") return layout.shared;
  return module == "router" ? layout.router : layout.rest;
}

}  // namespace

std::vector<LayoutBytes> compare_layouts(std::span<const ModuleGroup> groups) {
  std::vector<LayoutBytes> compared;
  for (const Layout& layout : kLayouts) {
    double bytes = 0.0;
    for (const ModuleGroup& group : groups) {
      const auto read = static_cast<double>(group.bytes_per_token);
      if (in(group.module, {"norms", "not used", "unknown"})) {
        bytes += read;
        continue;
      }
      const std::optional<double> width = width_of(group.format);
      if (!width) return {};
      bytes += read / *width * width_in(layout, group.module);
    }
    compared.push_back({layout.name, std::llround(bytes)});
  }
  std::stable_sort(compared.begin(), compared.end(),
                   [](const LayoutBytes& a, const LayoutBytes& b) {
                     return a.bytes_per_token < b.bytes_per_token;
                   });
  return compared;
}

}  // namespace spindrift
