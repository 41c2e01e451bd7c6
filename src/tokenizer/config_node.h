#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.h"

namespace spindrift {

struct ConfigMember;

// A small piece of a JSON file as a tree, with the place it came from ("FILE:
// pre_tokenizer.pretokenizers[1]") for error messages.
class ConfigNode {
 public:
  enum class Kind : uint8_t { kNull, kBool, kInteger, kNumber, kString, kArray, kObject };

  Kind kind = Kind::kNull;
  bool boolean = false;
  int64_t integer = 0;
  std::string text;                   // kString
  std::vector<ConfigNode> items;      // kArray
  std::vector<ConfigMember> members;  // kObject, file order
  std::string where;

  bool is_null() const { return kind == Kind::kNull; }
  const ConfigNode* find(std::string_view key) const;  // null when absent or when this is no object
  Error unexpected(std::string_view expected) const;   // "WHERE: expected X, found Y"
};

struct ConfigMember {
  std::string key;
  ConfigNode value;
};

std::string_view config_kind_name(ConfigNode::Kind kind);

// Reads the members of one object and remembers which: finish() refuses the rest by name, so that
// no setting of a file is ever silently ignored.
class ConfigReader {
 public:
  explicit ConfigReader(const ConfigNode& node) : node_(node) {}

  Result<std::string> type();  // the required member "type"
  Result<std::string> string(std::string_view key);
  Result<bool> boolean(std::string_view key);
  Result<int64_t> integer(std::string_view key, int64_t low, int64_t high);
  Result<bool> boolean_or(std::string_view key, bool fallback);  // absent or null: fallback
  Result<std::optional<std::string>> optional_string(std::string_view key);
  Result<const ConfigNode*> array(std::string_view key);
  Result<const ConfigNode*> object(std::string_view key);
  const ConfigNode* optional(std::string_view key);  // null when absent or JSON null
  void skip(std::string_view key);                   // known, and without effect on ids or text

  Status finish() const;

 private:
  Result<const ConfigNode*> required(std::string_view key, ConfigNode::Kind kind);
  const ConfigNode& node_;
  std::vector<std::string_view> seen_;
};

// Reads one JSON file of at most 16 MiB. kNotFound, kIo, kInvalid (with the position), kLimit.
Result<ConfigNode> read_config_file(const std::filesystem::path& path);

}  // namespace spindrift
