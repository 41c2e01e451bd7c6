#include "cli/checks.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <string_view>

namespace spindrift::cli {
namespace {

// The number that is the whole of `text`.
template <class T>
std::optional<T> parse(std::string_view text) {
  T value = {};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string expected(std::string_view what, std::string_view found) {
  return fmt::format("expected {}, found `{}`", what, found);
}

template <class Accept>
CLI::Validator check(std::string what, Accept accept) {
  return {[what = std::move(what), accept = std::move(accept)](std::string& text) {
            return accept(text) ? std::string() : expected(what, text);
          },
          ""};
}

int64_t power_of_1024(char unit) {
  switch (std::toupper(static_cast<unsigned char>(unit))) {
    case 'K':
      return int64_t{1} << 10;
    case 'M':
      return int64_t{1} << 20;
    case 'G':
      return int64_t{1} << 30;
    case 'T':
      return int64_t{1} << 40;
  }
  return 0;
}

std::optional<int64_t> parse_bytes(std::string_view text) {
  const size_t digits = std::min(text.find_first_not_of("0123456789."), text.size());
  const auto number = parse<double>(text.substr(0, digits));
  std::string_view unit = text.substr(digits);
  int64_t scale = 1;
  if (!unit.empty() && power_of_1024(unit.front()) > 0) {
    scale = power_of_1024(unit.front());
    unit.remove_prefix(1);
    if (!unit.empty() && unit.front() == 'i') unit.remove_prefix(1);
  }
  if (!unit.empty() && (unit.front() == 'B' || unit.front() == 'b')) unit.remove_prefix(1);
  if (!number || !unit.empty()) return std::nullopt;
  const double bytes = *number * static_cast<double>(scale);
  if (!(bytes < 0x1p62)) return std::nullopt;
  return static_cast<int64_t>(bytes);
}

}  // namespace

CLI::Validator whole_number(int64_t least, int64_t most) {
  return check(fmt::format("a whole number from {} to {}", least, most),
               [least, most](const std::string& text) {
                 const auto value = parse<int64_t>(text);
                 return value && *value >= least && *value <= most;
               });
}

CLI::Validator seed_number() {
  return check(fmt::format("a whole number from 0 to {}", std::numeric_limits<uint64_t>::max()),
               [](const std::string& text) { return parse<uint64_t>(text).has_value(); });
}

CLI::Validator real_number(double least, double most) {
  return check(fmt::format("a number from {} to {}", least, most),
               [least, most](const std::string& text) {
                 const auto value = parse<double>(text);
                 return value && *value >= least && *value <= most;
               });
}

CLI::Validator positive_number() {
  return check("a number above 0", [](const std::string& text) {
    const auto value = parse<double>(text);
    return value && *value > 0 && std::isfinite(*value);
  });
}

CLI::Validator one_of(std::vector<std::string> choices) {
  const std::string last = choices.back();
  const std::string what =
      fmt::format("{} or {}", fmt::join(choices.begin(), choices.end() - 1, ", "), last);
  return check(what, [choices = std::move(choices)](const std::string& text) {
    return std::find(choices.begin(), choices.end(), text) != choices.end();
  });
}

CLI::Validator byte_count() {
  return {[](std::string& text) {
            const auto bytes = parse_bytes(text);
            if (!bytes) return expected("bytes as 4096, 512M or 1.5G", text);
            text = std::to_string(*bytes);
            return std::string();
          },
          ""};
}

}  // namespace spindrift::cli
