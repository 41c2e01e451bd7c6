#include "chat/jinja/template.h"

#include <new>
#include <set>
#include <string_view>
#include <utility>

#include "chat/jinja/ast.h"
#include "chat/jinja/error.h"
#include "chat/jinja/eval.h"
#include "chat/jinja/parser.h"

namespace spindrift::jinja {
namespace {

constexpr size_t kMaxMessage =
    400;  // bytes of an error message; a template may hand raise_exception a whole prompt

// Whether an expression is some message's content: x.content, x["content"], perhaps filtered, or a
// name set from one.
bool is_content(const Expr& e, const std::set<std::string_view>& names) {
  switch (e.kind) {
    case ExprKind::kAttribute:
      return e.name->view() == "content";
    case ExprKind::kItem:
      return e.b->kind == ExprKind::kConst && e.b->value.is_str() && e.b->value.text() == "content";
    case ExprKind::kName:
      return names.count(e.name->view()) != 0;
    case ExprKind::kFilter:
      return e.a && is_content(*e.a, names);
    default:
      return false;
  }
}

bool loops_over_content(const Body& body, std::set<std::string_view>* names) {
  for (const StmtPtr& s : body) {
    if (s->kind == StmtKind::kSet && s->target->kind == ExprKind::kName &&
        is_content(*s->value, *names))
      names->insert(s->target->name->view());
    if (s->kind == StmtKind::kFor && is_content(*s->iter, *names)) return true;
    for (const Branch& branch : s->branches)
      if (loops_over_content(branch.body, names)) return true;
    if (loops_over_content(s->body, names) || loops_over_content(s->else_body, names)) return true;
  }
  return false;
}

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
  return Error{error.code,
               name + ":" + std::to_string(error.line > 0 ? error.line : line) + ": " + message};
}

}  // namespace

Template::Template(std::unique_ptr<const Program> program, std::string name)
    : program_(std::move(program)), name_(std::move(name)) {
  std::set<std::string_view> names;
  reads_content_parts_ = loops_over_content(program_->body, &names);
}
Template::Template(Template&&) noexcept = default;
Template& Template::operator=(Template&&) noexcept = default;
Template::~Template() = default;

Result<Template> Template::parse(std::string_view source, std::string name) {
  try {
    std::unique_ptr<const Program> program = jinja::parse(source);
    return Template(std::move(program), std::move(name));
  } catch (const TemplateError& error) {
    return located(error, name, 1);
  }
}

Result<std::string> Template::render(const Variables& variables, const Options& options) const {
  Runtime rt(options.limits);
  rt.now = options.now;
  rt.microseconds = options.microseconds;
  const std::string& name = options.name.empty() ? name_ : options.name;
  try {
    const Dict* context = variables(rt);
    rt.line = 1;
    return Evaluator(rt, *program_, *context).run();
  } catch (const TemplateError& error) {
    if (rt.line == 0) return Error{ErrorCode::kUsage, error.message};  // the variables are at fault
    return located(error, name, rt.line);
  } catch (const std::bad_alloc&) {
    return Error{ErrorCode::kLimit, name + ": out of memory while rendering"};
  }
}

}  // namespace spindrift::jinja
