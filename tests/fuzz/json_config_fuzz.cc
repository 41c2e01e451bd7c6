// Any text as a config: every accessor on every key returns, and what dump() writes reads back the
// same.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/check.h"
#include "io/json_config.h"

namespace {

using spindrift::ErrorCode;
using spindrift::JsonObject;

void visit(const JsonObject& object) {
  for (const std::string& key : object.keys()) {
    static_cast<void>(object.get_int(key, -5, 5));
    static_cast<void>(object.get_number(key));
    static_cast<void>(object.get_bool(key));
    static_cast<void>(object.get_string(key));
    static_cast<void>(object.find_ints(key));
    static_cast<void>(object.find_numbers(key));
    static_cast<void>(object.find_strings(key));
    const std::string message = object.error(ErrorCode::kInvalid, key, "something else").message;
    SPINDRIFT_CHECK(message.find('\n') == std::string::npos, "an error is one line");
    SPINDRIFT_CHECK(message.size() < 1000, "an error is short");
    if (object.is_object(key)) visit(object.get_object(key).value());
    if (const auto inner = object.get_objects(key); inner.ok())
      for (const JsonObject& element : inner.value()) visit(element);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto object = JsonObject::parse(text, "fuzz");
  if (!object.ok()) {
    SPINDRIFT_CHECK(object.error().message.find('\n') == std::string::npos, "an error is one line");
    SPINDRIFT_CHECK(object.error().message.size() < 1000, "an error is short");
    return 0;
  }
  visit(object.value());
  const std::string dumped = object.value().dump();
  const auto again = JsonObject::parse(dumped, "fuzz");
  SPINDRIFT_CHECK(again.ok() && again.value().dump() == dumped,
                  "what dump() writes reads back the same");
  return 0;
}
