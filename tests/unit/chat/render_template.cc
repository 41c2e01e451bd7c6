// Renders the cases that tools/template_parity.py writes: one JSON object a line on stdin,
// {"template": text, "context": JSON text of an object} or {"chat": template text, "messages",
// "tools" ...}, and prints
// {"output": text} or {"error": text} for each.

#include <iostream>
#include <string>

#include "chat/chat_template.h"
#include "chat/jinja/json.h"
#include "chat/jinja/template.h"

namespace {

using namespace spindrift;

// 2024-02-29 13:05:09.000123, a Thursday.
ChatTime fixed_time() {
  ChatTime t;
  t.local.tm_year = 124;
  t.local.tm_mon = 1;
  t.local.tm_mday = 29;
  t.local.tm_hour = 13;
  t.local.tm_min = 5;
  t.local.tm_sec = 9;
  t.local.tm_wday = 4;
  t.local.tm_yday = 59;
  t.microseconds = 123;
  return t;
}

Result<std::string> render(const std::string& source, const std::string& context) {
  SPINDRIFT_TRY(const jinja::Template parsed, jinja::Template::parse(source, "case"));
  const auto variables = [&](jinja::Runtime& rt) {
    return jinja::read_json(rt, context, "context").dict;
  };
  const ChatTime now = fixed_time();
  return parsed.render(variables,
                       {.limits = {}, .now = now.local, .microseconds = now.microseconds});
}

std::string answer(const std::string& line) {
  jinja::Runtime rt{jinja::Limits{}};
  const jinja::Value c = jinja::read_json(rt, line, "case");
  const auto text = [&](const char* key) {
    const jinja::Value* v = find(*c.dict, key);
    return v == nullptr ? std::string() : std::string(v->text());
  };
  const Result<std::string> out = render(text("template"), text("context"));
  std::string json = out.ok() ? "{\"output\": " : "{\"error\": ";
  jinja::append_json_string(out.ok() ? out.value() : out.error().message, true, &json);
  return json + "}";
}

}  // namespace

int main() {
  std::ios::sync_with_stdio(false);
  for (std::string line; std::getline(std::cin, line);) std::cout << answer(line) << '\n';
  return 0;
}
