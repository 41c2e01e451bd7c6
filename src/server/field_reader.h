#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "io/json_config.h"
#include "server/api_error.h"

namespace spindrift::server {

// Reads the fields of one JSON object, absent and null alike, and keeps the first error: one check
// at the end instead of one a field.
class FieldReader {
 public:
  // prefix: of parameter names, "" for the body itself, else such as "stream_options.".
  explicit FieldReader(JsonObject json, std::string prefix = {})
      : json_(std::move(json)), prefix_(std::move(prefix)) {}

  const JsonObject& json() const { return json_; }
  bool has(const char* key) const { return json_.has(key); }

  std::optional<int64_t> integer(const char* key, int64_t min, int64_t max) {
    return take(key, json_.find_int(key, min, max));
  }
  std::optional<double> number(const char* key, double min, double max) {
    return take(key, json_.find_number(key, min, max));
  }
  std::optional<bool> boolean(const char* key) { return take(key, json_.find_bool(key)); }
  std::optional<std::string> text(const char* key) { return take(key, json_.find_string(key)); }
  std::optional<JsonObject> object(const char* key) { return take(key, json_.find_object(key)); }
  std::optional<std::vector<std::string>> texts(const char* key) {
    return take(key, json_.find_strings(key));
  }

  void refuse(ApiError error) {
    if (!error_) error_ = std::move(error);
  }
  // A value that is of no use: "expected EXPECTED, found VALUE".
  void expected(const char* key, std::string_view what) {
    refuse(api_error(json_.error(ErrorCode::kUsage, key, what), prefix_ + key));
  }
  void absorb(const FieldReader& inner) {
    if (inner.error_) refuse(*inner.error_);
  }
  const std::optional<ApiError>& error() const { return error_; }

 private:
  template <class T>
  std::optional<T> take(const char* key, Result<std::optional<T>> read) {
    if (read.ok()) return std::move(read).value();
    refuse(api_error(read.error(), prefix_ + key));
    return std::nullopt;
  }

  JsonObject json_;
  std::string prefix_;
  std::optional<ApiError> error_;
};

}  // namespace spindrift::server
