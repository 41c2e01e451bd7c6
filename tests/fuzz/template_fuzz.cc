// Any bytes as a chat template, and what follows a zero byte as its variables: parsing and
// rendering end soon, with text in UTF-8 or one short line of error, and twice the same.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "chat/jinja/json.h"
#include "chat/jinja/template.h"
#include "core/check.h"
#include "core/utf8.h"

namespace {

constexpr std::string_view kVariables =
    R"({"messages": [{"role": "system", "content": "Be é"}, {"role": "user", "content": "Hi"}, {"role": "assistant",
    "content": "<think>a</think>b", "tool_calls": [{"function": {"name": "f", "arguments": {"x": 1.0, "y": [1, null]}}}]}],
    "tools": [{"name": "f"}], "add_generation_prompt": true, "bos_token": "<s>", "l": [3, 1, 2], "s": "Hello", "n": 7,
    "m": -3, "f": 2.5, "big": 123456789012345678901234567890, "d": {"a": 1, "b": [1, 2]}, "t": true, "nil": null, "no": false})";

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace spindrift;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const size_t zero = input.find('\0');
  const std::string variables(zero == std::string_view::npos ? kVariables : input.substr(zero + 1));
  const auto check_error = [](const Error& error) {
    SPINDRIFT_CHECK(error.message.find('\n') == std::string::npos, "an error is one line");
    SPINDRIFT_CHECK(error.message.size() < 1000, "an error is short");
  };
  const auto parsed = jinja::Template::parse(input.substr(0, zero), "fuzz");
  if (!parsed.ok()) {
    check_error(parsed.error());
    return 0;
  }
  jinja::Template::Options options;
  options.limits.steps = 50'000;
  options.limits.memory = size_t{8} << 20;
  options.limits.text = size_t{1} << 20;
  options.limits.output = size_t{1} << 20;
  options.limits.depth = 300;
  const auto render = [&] {
    return parsed.value().render(
        [&](jinja::Runtime& rt) {
          const jinja::Value v = jinja::read_json(rt, variables, "variables");
          if (!v.is(jinja::Kind::kDict)) jinja::fail("variables: expected an object");
          return v.dict;
        },
        options);
  };
  const auto first = render();
  const auto second = render();
  SPINDRIFT_CHECK(first.ok() == second.ok(), "rendering twice gives the same");
  if (!first.ok()) {
    check_error(first.error());
    return 0;
  }
  SPINDRIFT_CHECK(first.value() == second.value(), "rendering twice gives the same");
  SPINDRIFT_CHECK(valid_utf8(first.value()), "output is UTF-8");
  return 0;
}
