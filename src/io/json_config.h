#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace spindrift {

struct JsonNode;
struct JsonDocument;

// A read-only view of one object of a JSON file. It knows its file and its path in the document, so
// that every error says "FILE: key `a.b[2].c`: expected X, found Y". Copies are cheap and share the
// document. null counts as absent.
//
// Accepted: RFC 8259 in UTF-8, a leading byte order mark. Refused with the place named: a duplicate
// key, invalid UTF-8, NaN and Infinity (which are no JSON), numbers beyond a double, nesting deeper
// than kMaxDepth, more than kMaxValues values, anything but an object at the top.
class JsonObject {
 public:
  static constexpr int kMaxDepth = 128;
  static constexpr int64_t kMaxValues = 2'000'000;
  static constexpr int64_t kMaxFileBytes = 64 * 1024 * 1024;
  static constexpr int64_t kMinInt = std::numeric_limits<int64_t>::min();
  static constexpr int64_t kMaxInt = std::numeric_limits<int64_t>::max();
  static constexpr double kMaxNumber = std::numeric_limits<double>::max();

  static Result<JsonObject> parse_file(const std::filesystem::path& path,
                                       int64_t max_bytes = kMaxFileBytes);
  // `file_name` appears in errors only.
  static Result<JsonObject> parse(std::string_view text, std::string file_name);

  bool has(std::string_view key) const;  // present and not null
  bool is_object(std::string_view key) const;
  bool is_array(std::string_view key) const;
  bool is_string(std::string_view key) const;
  bool is_bool(std::string_view key) const;
  bool is_number(std::string_view key) const;
  std::vector<std::string> keys() const;  // in file order, null values included

  // The value of `key`: kNotFound when absent, kInvalid when of another type or outside [min, max].
  // An integer may be written as 2.0; a boolean is no number.
  Result<int64_t> get_int(std::string_view key, int64_t min = kMinInt, int64_t max = kMaxInt) const;
  Result<double> get_number(std::string_view key, double min = -kMaxNumber,
                            double max = kMaxNumber) const;
  Result<bool> get_bool(std::string_view key) const;
  Result<std::string> get_string(std::string_view key) const;
  Result<JsonObject> get_object(std::string_view key) const;
  // Arrays whose elements are all of one type; an error names the element.
  Result<std::vector<int64_t>> get_ints(std::string_view key, int64_t min = kMinInt,
                                        int64_t max = kMaxInt) const;
  Result<std::vector<std::vector<int64_t>>> get_int_lists(std::string_view key,
                                                          int64_t min = kMinInt,
                                                          int64_t max = kMaxInt) const;
  Result<std::vector<double>> get_numbers(std::string_view key, double min = -kMaxNumber,
                                          double max = kMaxNumber) const;
  Result<std::vector<bool>> get_bools(std::string_view key) const;
  Result<std::vector<std::string>> get_strings(std::string_view key) const;
  Result<std::vector<JsonObject>> get_objects(std::string_view key) const;

  // The same where the key is optional: nullopt when absent or null, still an error when wrong.
  Result<std::optional<int64_t>> find_int(std::string_view key, int64_t min = kMinInt,
                                          int64_t max = kMaxInt) const;
  Result<std::optional<double>> find_number(std::string_view key, double min = -kMaxNumber,
                                            double max = kMaxNumber) const;
  Result<std::optional<bool>> find_bool(std::string_view key) const;
  Result<std::optional<std::string>> find_string(std::string_view key) const;
  Result<std::optional<JsonObject>> find_object(std::string_view key) const;
  Result<std::optional<std::vector<int64_t>>> find_ints(std::string_view key, int64_t min = kMinInt,
                                                        int64_t max = kMaxInt) const;
  Result<std::optional<std::vector<double>>> find_numbers(std::string_view key,
                                                          double min = -kMaxNumber,
                                                          double max = kMaxNumber) const;
  Result<std::optional<std::vector<bool>>> find_bools(std::string_view key) const;
  Result<std::optional<std::vector<std::string>>> find_strings(std::string_view key) const;
  Result<std::optional<std::vector<JsonObject>>> find_objects(std::string_view key) const;

  // "FILE: key `a.b.key`: expected EXPECTED, found VALUE", the value compact and cut; "found
  // nothing" when absent.
  Error error(ErrorCode code, std::string_view key, std::string_view expected) const;

  const std::string& file() const;
  const std::string& path() const { return path_; }  // "" for the document, else such as "a.b[2]"
  std::string dump() const;  // compact JSON; keys in file order, floats as spelled
  std::string dump(std::string_view key) const;  // of one value; "null" when absent

 private:
  JsonObject(std::shared_ptr<const JsonDocument> document, const JsonNode* node, std::string path);
  const JsonNode* value(std::string_view key) const;  // null when absent or null
  Error element_error(std::string_view key, size_t index, const JsonNode& found,
                      std::string_view expected) const;
  template <class T, class Read>
  Result<std::vector<T>> read_array(std::string_view key, std::string_view expected,
                                    const Read& read) const;

  std::shared_ptr<const JsonDocument> document_;
  const JsonNode* node_;  // inside *document_
  std::string path_;
};

}  // namespace spindrift
