#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/result.h"

// What json_config.h keeps inside: an immutable tree. Include it from src/io only.
namespace spindrift {

struct JsonNode;

struct JsonFloat {
  double value;
  std::string text;  // as spelled in the file
};
struct JsonArray {
  std::vector<JsonNode> items;
};
struct JsonMembers {
  std::vector<std::pair<std::string, JsonNode>> items;  // in file order
  std::vector<uint32_t> by_key;                         // positions in `items`, keys ascending
};
struct JsonNode {
  // monostate is null. An integer that does not fit int64 is a JsonFloat.
  std::variant<std::monostate, bool, int64_t, JsonFloat, std::string, JsonArray, JsonMembers> value;

  const JsonNode* find(std::string_view key) const;  // null when absent or no object
};

struct JsonDocument {
  JsonNode root;
  std::string file;
};

// Parses `text` under the rules at JsonObject, at most `max_values` values.
Result<JsonNode> parse_json_tree(std::string_view text, const std::string& file_name,
                                 int64_t max_values);

// Appends compact JSON, stopping soon after `max_bytes`.
void append_json(const JsonNode& node, size_t max_bytes, std::string& out);

}  // namespace spindrift
