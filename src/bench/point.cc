#include "bench/point.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace spindrift::bench {
namespace {

using Json = nlohmann::ordered_json;

std::string csv_cell(const Value& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* count = std::get_if<int64_t>(&value)) return std::to_string(*count);
  return fmt::format("{:.6g}", std::get<double>(value));
}

// 123456789 -> "123.5 M".
std::string with_prefix(int64_t value) {
  constexpr const char* kPrefixes[] = {"", " k", " M", " G", " T"};
  auto number = static_cast<double>(value);
  size_t at = 0;
  for (; std::abs(number) >= 1000 && at + 1 < std::size(kPrefixes); ++at) number /= 1000;
  return at == 0 ? std::to_string(value) : fmt::format("{:.4g}{}", number, kPrefixes[at]);
}

bool wants_prefix(std::string_view name) {
  return name == "flop" || name == "linear_flop" || name.ends_with("bytes");
}

std::string table_cell(const Field& field) {
  if (const auto* text = std::get_if<std::string>(&field.value)) return *text;
  if (const auto* number = std::get_if<double>(&field.value)) return fmt::format("{:.4g}", *number);
  const int64_t count = std::get<int64_t>(field.value);
  return wants_prefix(field.name) ? with_prefix(count) : std::to_string(count);
}

Json to_object(const Point& point) {
  Json out = Json::object();
  for (const Field& field : point)
    std::visit([&](const auto& value) { out[std::string(field.name)] = value; }, field.value);
  return out;
}

}  // namespace

void add_spread(Point& point, std::string_view name, const Spread& values) {
  point.push_back({name, values.median});
  point.push_back({"min", values.min});
  point.push_back({"max", values.max});
}

std::string to_json(std::string_view mode, const MachineFacts& machine, std::string_view model,
                    std::span<const Point> points) {
  Json json = {{"mode", mode},
               {"machine",
                {{"cpu", machine.cpu},
                 {"isa", machine.isa},
                 {"threads", machine.threads},
                 {"read_gb_s", machine.read_gb_s},
                 {"fma_gflop_s", machine.fma_gflop_s}}},
               {"model", nullptr},
               {"points", Json::array()}};
  if (!model.empty()) json["model"] = model;
  for (const Point& point : points) json["points"].push_back(to_object(point));
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string to_csv(std::span<const Point> points) {
  std::string out;
  if (points.empty()) return out;
  const auto add_line = [&out](const Point& point, const auto& cell) {
    for (size_t i = 0; i < point.size(); ++i) out.append(i == 0 ? "" : ",").append(cell(point[i]));
    out += '\n';
  };
  add_line(points.front(), [](const Field& field) { return std::string(field.name); });
  for (const Point& point : points)
    add_line(point, [](const Field& field) { return csv_cell(field.value); });
  return out;
}

std::string to_table(std::span<const Point> points) {
  std::string out;
  if (points.empty()) return out;
  std::vector<std::vector<std::string>> lines(1);
  for (const Field& field : points.front()) lines.front().emplace_back(field.name);
  for (const Point& point : points) {
    lines.emplace_back();
    for (const Field& field : point) lines.back().push_back(table_cell(field));
  }
  std::vector<size_t> widths(lines.front().size(), 0);
  for (const auto& line : lines)
    for (size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], line[i].size());
  for (const auto& line : lines) {
    for (size_t i = 0; i < line.size(); ++i)
      out += fmt::format("{}{:>{}}", i == 0 ? "" : "  ", line[i], widths[i]);
    out += '\n';
  }
  return out;
}

}  // namespace spindrift::bench
