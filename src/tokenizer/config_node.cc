#include "tokenizer/config_node.h"

#include <algorithm>

#include "tokenizer/utf8.h"

namespace spindrift {

std::string_view config_kind_name(ConfigNode::Kind kind) {
  switch (kind) {
    case ConfigNode::Kind::kNull:
      return "null";
    case ConfigNode::Kind::kBool:
      return "a boolean";
    case ConfigNode::Kind::kInteger:
      return "an integer";
    case ConfigNode::Kind::kNumber:
      return "a number";
    case ConfigNode::Kind::kString:
      return "a string";
    case ConfigNode::Kind::kArray:
      return "an array";
    case ConfigNode::Kind::kObject:
      return "an object";
  }
  return "?";
}

const ConfigNode* ConfigNode::find(std::string_view key) const {
  for (const auto& [name, value] : members) {
    if (name == key) return &value;
  }
  return nullptr;
}

Error ConfigNode::unexpected(std::string_view expected) const {
  std::string found(config_kind_name(kind));
  if (kind == Kind::kString) found = in_quotes(text);
  if (kind == Kind::kInteger) found = std::to_string(integer);
  if (kind == Kind::kBool) found = boolean ? "true" : "false";
  return {ErrorCode::kInvalid, where + ": expected " + std::string(expected) + ", found " + found};
}

Result<const ConfigNode*> ConfigReader::required(std::string_view key, ConfigNode::Kind kind) {
  if (node_.kind != ConfigNode::Kind::kObject) return node_.unexpected("an object");
  seen_.push_back(key);
  const ConfigNode* value = node_.find(key);
  if (value == nullptr) {
    return Error{ErrorCode::kInvalid, node_.where + "." + std::string(key) + ": expected " +
                                          std::string(config_kind_name(kind)) + ", found nothing"};
  }
  if (value->kind != kind) return value->unexpected(config_kind_name(kind));
  return value;
}

Result<std::string> ConfigReader::type() { return string("type"); }

Result<std::string> ConfigReader::string(std::string_view key) {
  SPINDRIFT_TRY(const ConfigNode* value, required(key, ConfigNode::Kind::kString));
  return value->text;
}

Result<bool> ConfigReader::boolean(std::string_view key) {
  SPINDRIFT_TRY(const ConfigNode* value, required(key, ConfigNode::Kind::kBool));
  return value->boolean;
}

Result<int64_t> ConfigReader::integer(std::string_view key, int64_t low, int64_t high) {
  SPINDRIFT_TRY(const ConfigNode* value, required(key, ConfigNode::Kind::kInteger));
  if (value->integer < low || value->integer > high) {
    return value->unexpected(std::to_string(low) + " to " + std::to_string(high));
  }
  return value->integer;
}

const ConfigNode* ConfigReader::optional(std::string_view key) {
  seen_.push_back(key);
  const ConfigNode* value = node_.find(key);
  return value == nullptr || value->is_null() ? nullptr : value;
}

Result<bool> ConfigReader::boolean_or(std::string_view key, bool fallback) {
  const ConfigNode* value = optional(key);
  if (value == nullptr) return fallback;
  if (value->kind != ConfigNode::Kind::kBool) return value->unexpected("a boolean");
  return value->boolean;
}

Result<std::optional<std::string>> ConfigReader::optional_string(std::string_view key) {
  const ConfigNode* value = optional(key);
  if (value == nullptr) return std::optional<std::string>();
  if (value->kind != ConfigNode::Kind::kString) return value->unexpected("a string");
  return std::optional<std::string>(value->text);
}

Result<const ConfigNode*> ConfigReader::array(std::string_view key) {
  return required(key, ConfigNode::Kind::kArray);
}

Result<const ConfigNode*> ConfigReader::object(std::string_view key) {
  return required(key, ConfigNode::Kind::kObject);
}

void ConfigReader::skip(std::string_view key) { seen_.push_back(key); }

Status ConfigReader::finish() const {
  if (node_.kind != ConfigNode::Kind::kObject) return node_.unexpected("an object");
  for (const auto& [name, value] : node_.members) {
    if (std::find(seen_.begin(), seen_.end(), name) == seen_.end()) {
      const ConfigNode* type = node_.find("type");
      std::string of;
      if (type != nullptr && name != "type") of = " of " + in_quotes(type->text);
      return Error{ErrorCode::kUnsupported, node_.where + ": unknown key " + in_quotes(name) + of};
    }
  }
  return ok_status();
}

}  // namespace spindrift
