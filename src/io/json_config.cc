#include "io/json_config.h"

#include <cmath>
#include <cstdio>
#include <utility>

#include "core/check.h"
#include "io/file.h"
#include "io/json_tree.h"
#include "io/quote.h"

namespace spindrift {
namespace {

constexpr size_t kShownBytes = 80;  // of a value, in a message
constexpr double kExactIntegers =
    9007199254740992.0;  // 2^53: above it a double may be a rounded integer

std::string shown(const JsonNode* node) {
  if (node == nullptr) return "nothing";
  std::string text;
  append_json(*node, 4 * kShownBytes, text);
  return quoted_for_message(text, kShownBytes);
}

std::string member_path(const std::string& path, std::string_view key) {
  return path.empty() ? std::string(key) : path + '.' + std::string(key);
}

std::string number_text(int64_t v) { return std::to_string(v); }
std::string number_text(double v) {
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", v);
  return text;
}

// "an integer", "an integer in [1, 64]", "an integer of at least 1".
template <class T>
std::string range_text(std::string what, T min, T max, T lowest, T highest) {
  if (min == lowest && max == highest) return what;
  if (max == highest) return what + " of at least " + number_text(min);
  if (min == lowest) return what + " of at most " + number_text(max);
  return what + " in [" + number_text(min) + ", " + number_text(max) + "]";
}
std::string expected_int(int64_t min, int64_t max) {
  return range_text<int64_t>("an integer", min, max, JsonObject::kMinInt, JsonObject::kMaxInt);
}
std::string expected_number(double min, double max) {
  return range_text<double>("a number", min, max, -JsonObject::kMaxNumber, JsonObject::kMaxNumber);
}

std::optional<int64_t> as_int(const JsonNode& node, int64_t min, int64_t max) {
  std::optional<int64_t> v;
  if (const auto* exact = std::get_if<int64_t>(&node.value)) {
    v = *exact;
  } else if (const auto* real = std::get_if<JsonFloat>(&node.value)) {
    if (std::trunc(real->value) == real->value && std::fabs(real->value) <= kExactIntegers)
      v = static_cast<int64_t>(real->value);
  }
  if (!v || *v < min || *v > max) return std::nullopt;
  return v;
}

std::optional<double> as_number(const JsonNode& node, double min, double max) {
  double v = 0;
  if (const auto* exact = std::get_if<int64_t>(&node.value)) {
    v = static_cast<double>(*exact);
  } else if (const auto* real = std::get_if<JsonFloat>(&node.value)) {
    v = real->value;
  } else {
    return std::nullopt;
  }
  if (!std::isfinite(v) || v < min || v > max) return std::nullopt;
  return v;
}

template <class T>
std::optional<T> as_exactly(const JsonNode& node) {
  if (const auto* v = std::get_if<T>(&node.value)) return *v;
  return std::nullopt;
}

template <class T>
Result<std::optional<T>> present(Result<T> read) {
  if (!read.ok()) return read.error();
  return std::optional<T>(std::move(read).value());
}

}  // namespace

JsonObject::JsonObject(std::shared_ptr<const JsonDocument> document, const JsonNode* node,
                       std::string path)
    : document_(std::move(document)), node_(node), path_(std::move(path)) {}

Result<JsonObject> JsonObject::parse_file(const std::filesystem::path& path, int64_t max_bytes) {
  SPINDRIFT_TRY(const std::string text, read_file(path, max_bytes));
  return parse(text, path.string());
}

Result<JsonObject> JsonObject::parse(std::string_view text, std::string file_name) {
  SPINDRIFT_TRY(JsonNode root, parse_json_tree(text, file_name, kMaxValues));
  if (!std::holds_alternative<JsonMembers>(root.value))
    return Error{ErrorCode::kInvalid,
                 file_name + ": expected a JSON object, found " + shown(&root)};
  auto document =
      std::make_shared<JsonDocument>(JsonDocument{std::move(root), std::move(file_name)});
  const JsonNode* top = &document->root;
  return JsonObject(std::move(document), top, "");
}

const JsonNode* JsonObject::value(std::string_view key) const {
  const JsonNode* found = node_->find(key);
  return found == nullptr || std::holds_alternative<std::monostate>(found->value) ? nullptr : found;
}

bool JsonObject::has(std::string_view key) const { return value(key) != nullptr; }
bool JsonObject::is_object(std::string_view key) const {
  const JsonNode* v = value(key);
  return v != nullptr && std::holds_alternative<JsonMembers>(v->value);
}
bool JsonObject::is_array(std::string_view key) const {
  const JsonNode* v = value(key);
  return v != nullptr && std::holds_alternative<JsonArray>(v->value);
}
bool JsonObject::is_string(std::string_view key) const {
  const JsonNode* v = value(key);
  return v != nullptr && std::holds_alternative<std::string>(v->value);
}
bool JsonObject::is_bool(std::string_view key) const {
  const JsonNode* v = value(key);
  return v != nullptr && std::holds_alternative<bool>(v->value);
}
bool JsonObject::is_number(std::string_view key) const {
  const JsonNode* v = value(key);
  return v != nullptr &&
         (std::holds_alternative<int64_t>(v->value) || std::holds_alternative<JsonFloat>(v->value));
}

std::vector<std::string> JsonObject::keys() const {
  std::vector<std::string> out;
  for (const auto& [key, node] : std::get<JsonMembers>(node_->value).items) out.push_back(key);
  return out;
}

Error JsonObject::error(ErrorCode code, std::string_view key, std::string_view expected) const {
  return {code, file() + ": key " + quoted_for_message(member_path(path_, key), 200) +
                    ": expected " + std::string(expected) + ", found " + shown(value(key))};
}

Error JsonObject::element_error(std::string_view key, size_t index, const JsonNode& found,
                                std::string_view expected) const {
  const std::string at = member_path(path_, key) + '[' + std::to_string(index) + ']';
  return {ErrorCode::kInvalid, file() + ": key " + quoted_for_message(at, 200) + ": expected " +
                                   std::string(expected) + ", found " + shown(&found)};
}

Result<int64_t> JsonObject::get_int(std::string_view key, int64_t min, int64_t max) const {
  const JsonNode* node = value(key);
  if (node == nullptr) return error(ErrorCode::kNotFound, key, expected_int(min, max));
  if (const auto v = as_int(*node, min, max)) return *v;
  return error(ErrorCode::kInvalid, key, expected_int(min, max));
}

Result<double> JsonObject::get_number(std::string_view key, double min, double max) const {
  const JsonNode* node = value(key);
  if (node == nullptr) return error(ErrorCode::kNotFound, key, expected_number(min, max));
  if (const auto v = as_number(*node, min, max)) return *v;
  return error(ErrorCode::kInvalid, key, expected_number(min, max));
}

Result<bool> JsonObject::get_bool(std::string_view key) const {
  const JsonNode* node = value(key);
  if (node == nullptr) return error(ErrorCode::kNotFound, key, "true or false");
  if (const auto v = as_exactly<bool>(*node)) return *v;
  return error(ErrorCode::kInvalid, key, "true or false");
}

Result<std::string> JsonObject::get_string(std::string_view key) const {
  const JsonNode* node = value(key);
  if (node == nullptr) return error(ErrorCode::kNotFound, key, "a string");
  if (auto v = as_exactly<std::string>(*node)) return std::move(*v);
  return error(ErrorCode::kInvalid, key, "a string");
}

Result<JsonObject> JsonObject::get_object(std::string_view key) const {
  const JsonNode* node = value(key);
  if (node == nullptr) return error(ErrorCode::kNotFound, key, "an object");
  if (!std::holds_alternative<JsonMembers>(node->value))
    return error(ErrorCode::kInvalid, key, "an object");
  return JsonObject(document_, node, member_path(path_, key));
}

// read(node, index) -> optional<T>, nullopt when the element is not as expected.
template <class T, class Read>
Result<std::vector<T>> JsonObject::read_array(std::string_view key, std::string_view expected,
                                              const Read& read) const {
  const std::string what = "an array, each element " + std::string(expected);
  const JsonNode* node = value(key);
  if (node == nullptr) return error(ErrorCode::kNotFound, key, what);
  const auto* array = std::get_if<JsonArray>(&node->value);
  if (array == nullptr) return error(ErrorCode::kInvalid, key, what);
  std::vector<T> out;
  out.reserve(array->items.size());
  for (size_t i = 0; i < array->items.size(); ++i) {
    std::optional<T> v = read(array->items[i], i);
    if (!v) return element_error(key, i, array->items[i], expected);
    out.push_back(std::move(*v));
  }
  return out;
}

Result<std::vector<int64_t>> JsonObject::get_ints(std::string_view key, int64_t min,
                                                  int64_t max) const {
  return read_array<int64_t>(key, expected_int(min, max),
                             [&](const JsonNode& node, size_t) { return as_int(node, min, max); });
}
Result<std::vector<std::vector<int64_t>>> JsonObject::get_int_lists(std::string_view key,
                                                                    int64_t min,
                                                                    int64_t max) const {
  using List = std::vector<int64_t>;
  return read_array<List>(key, "an array, each element " + expected_int(min, max),
                          [&](const JsonNode& node, size_t) -> std::optional<List> {
                            const auto* array = std::get_if<JsonArray>(&node.value);
                            if (array == nullptr) return std::nullopt;
                            List list;
                            for (const JsonNode& item : array->items) {
                              const auto v = as_int(item, min, max);
                              if (!v) return std::nullopt;
                              list.push_back(*v);
                            }
                            return list;
                          });
}
Result<std::vector<double>> JsonObject::get_numbers(std::string_view key, double min,
                                                    double max) const {
  return read_array<double>(key, expected_number(min, max), [&](const JsonNode& node, size_t) {
    return as_number(node, min, max);
  });
}
Result<std::vector<bool>> JsonObject::get_bools(std::string_view key) const {
  return read_array<bool>(key, "true or false",
                          [](const JsonNode& node, size_t) { return as_exactly<bool>(node); });
}
Result<std::vector<std::string>> JsonObject::get_strings(std::string_view key) const {
  return read_array<std::string>(
      key, "a string", [](const JsonNode& node, size_t) { return as_exactly<std::string>(node); });
}
Result<std::vector<JsonObject>> JsonObject::get_objects(std::string_view key) const {
  return read_array<JsonObject>(
      key, "an object", [&](const JsonNode& node, size_t i) -> std::optional<JsonObject> {
        if (!std::holds_alternative<JsonMembers>(node.value)) return std::nullopt;
        return JsonObject(document_, &node,
                          member_path(path_, key) + '[' + std::to_string(i) + ']');
      });
}

Result<std::optional<int64_t>> JsonObject::find_int(std::string_view key, int64_t min,
                                                    int64_t max) const {
  return has(key) ? present(get_int(key, min, max)) : std::optional<int64_t>();
}
Result<std::optional<double>> JsonObject::find_number(std::string_view key, double min,
                                                      double max) const {
  return has(key) ? present(get_number(key, min, max)) : std::optional<double>();
}
Result<std::optional<bool>> JsonObject::find_bool(std::string_view key) const {
  return has(key) ? present(get_bool(key)) : std::optional<bool>();
}
Result<std::optional<std::string>> JsonObject::find_string(std::string_view key) const {
  return has(key) ? present(get_string(key)) : std::optional<std::string>();
}
Result<std::optional<JsonObject>> JsonObject::find_object(std::string_view key) const {
  return has(key) ? present(get_object(key)) : std::optional<JsonObject>();
}
Result<std::optional<std::vector<int64_t>>> JsonObject::find_ints(std::string_view key, int64_t min,
                                                                  int64_t max) const {
  return has(key) ? present(get_ints(key, min, max)) : std::optional<std::vector<int64_t>>();
}
Result<std::optional<std::vector<double>>> JsonObject::find_numbers(std::string_view key,
                                                                    double min, double max) const {
  return has(key) ? present(get_numbers(key, min, max)) : std::optional<std::vector<double>>();
}
Result<std::optional<std::vector<bool>>> JsonObject::find_bools(std::string_view key) const {
  return has(key) ? present(get_bools(key)) : std::optional<std::vector<bool>>();
}
Result<std::optional<std::vector<std::string>>> JsonObject::find_strings(
    std::string_view key) const {
  return has(key) ? present(get_strings(key)) : std::optional<std::vector<std::string>>();
}
Result<std::optional<std::vector<JsonObject>>> JsonObject::find_objects(
    std::string_view key) const {
  return has(key) ? present(get_objects(key)) : std::optional<std::vector<JsonObject>>();
}

const std::string& JsonObject::file() const { return document_->file; }

std::string JsonObject::dump() const {
  std::string out;
  append_json(*node_, out.max_size(), out);
  return out;
}

std::string JsonObject::dump(std::string_view key) const {
  std::string out;
  const JsonNode* node = value(key);
  append_json(node == nullptr ? JsonNode{} : *node, out.max_size(), out);
  return out;
}

}  // namespace spindrift
