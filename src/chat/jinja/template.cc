#include "chat/jinja/template.h"

#include <new>
#include <utility>

#include "chat/jinja/ast.h"
#include "chat/jinja/error.h"
#include "chat/jinja/eval.h"
#include "chat/jinja/parser.h"

namespace spindrift::jinja {
namespace {

constexpr size_t kMaxMessage = 400;  // bytes of an error message; a template may hand raise_exception a whole prompt

Error located(const TemplateError& error, const std::string& name, int line) {
  std::string message = error.message;
  for (char& c : message)
    if (c == '\n' || c == '\r') c = ' ';
  if (message.size() > kMaxMessage) {
    size_t cut = kMaxMessage;
    while (cut > 0 && (static_cast<unsigned char>(message[cut]) & 0xC0U) == 0x80U) --cut;
    message.resize(cut);
    message += "...";
  }
  return Error{error.code, name + ":" + std::to_string(error.line > 0 ? error.line : line) + ": " + message};
}

}  // namespace

Template::Template(std::unique_ptr<const Program> program, std::string name)
    : program_(std::move(program)), name_(std::move(name)) {}
Template::Template(Template&&) noexcept = default;
Template& Template::operator=(Template&&) noexcept = default;
Template::~Template() = default;

Result<Template> Template::parse(std::string_view source, std::string name) {
  try {
    return Template(jinja::parse(source), std::move(name));
  } catch (const TemplateError& error) {
    return located(error, name, 1);
  }
}

Result<std::string> Template::render(const Variables& variables, const Options& options) const {
  Runtime rt(options.limits);
  rt.now = options.now;
  rt.microseconds = options.microseconds;
  try {
    const Dict* context = variables(rt);
    rt.line = 1;
    return Evaluator(rt, *program_, *context).run();
  } catch (const TemplateError& error) {
    if (rt.line == 0) return Error{error.code, error.message};  // the variables themselves are at fault
    return located(error, name_, rt.line);
  } catch (const std::bad_alloc&) {
    return Error{ErrorCode::kLimit, name_ + ": out of memory while rendering"};
  }
}

}  // namespace spindrift::jinja
