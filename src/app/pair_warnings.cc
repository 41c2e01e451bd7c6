#include "app/pair_warnings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "core/plural.h"

namespace spindrift {
namespace {

constexpr std::array<std::string_view, 8> kWords = {"int4",  "int8", "fp8",  "nvfp4",
                                                    "mxfp4", "bf16", "4bit", "8bit"};

// Drafted rounds that tell, and accepted draft tokens a round below which something is wrong: a
// drafter of this target has its first token right more often than not.
constexpr int64_t kTellingRounds = 5;
constexpr double kHopeless = 0.05;

}  // namespace

std::string precision_words(std::string_view model) {
  const std::filesystem::path path = std::filesystem::path(model).lexically_normal();
  std::string name = (path.has_filename() ? path : path.parent_path()).filename().string();
  std::transform(name.begin(), name.end(), name.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  name.resize(std::min(name.find('@'), name.size()));
  std::string out, word;
  for (const char c : name + '-') {
    const bool inside = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    if (inside) {
      word += c;
      continue;
    }
    if (std::find(kWords.begin(), kWords.end(), word) != kWords.end())
      out += (out.empty() ? "" : " ") + word;
    word.clear();
  }
  return out;
}

std::optional<std::string> rotated_pair_warning(std::string_view target, std::string_view drafter) {
  const std::string of_target = precision_words(target);
  const std::string of_drafter = precision_words(drafter);
  if (!of_target.empty() && of_target == of_drafter) return std::nullopt;
  return fmt::format(
      "{}: the residual stream of {} is rotated (transform_config); a drafter made for weights of "
      "another precision accepts next to nothing (expected a drafter named {}, found {})",
      drafter, target, of_target.empty() ? "for the target's precision" : of_target,
      of_drafter.empty() ? "no precision in its name" : of_drafter);
}

std::optional<std::string> unlikely_pair_warning(std::string_view target, std::string_view drafter,
                                                 const DraftStats& stats) {
  if (stats.rounds < kTellingRounds || stats.mean_accepted() > kHopeless) return std::nullopt;
  return fmt::format(
      "{}: expected a drafter that was made for {}, found {} drafted rounds that "
      "accepted {}",
      drafter, target, stats.rounds, counted(stats.accepted, "token"));
}

}  // namespace spindrift
