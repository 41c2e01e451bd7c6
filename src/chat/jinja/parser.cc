#include "chat/jinja/parser.h"

#include <algorithm>
#include <utility>

#include "chat/jinja/error.h"
#include "chat/jinja/expression_parser.h"
#include "chat/jinja/lexer.h"

namespace spindrift::jinja {
namespace {

constexpr size_t kProgramMemory = size_t{64} << 20;

class Parser : private ExpressionParser {
 public:
  using ExpressionParser::ExpressionParser;
  void run() { program_.body = statements({}, nullptr); }

 private:
  static StmtPtr make_statement(StmtKind kind, int line) {
    auto s = std::make_unique<Stmt>();
    s->kind = kind;
    s->line = line;
    return s;
  }

  // Parses until a block whose tag is one of `ends` (left unread after its "{%"), or to the end
  // when there are none.
  Body statements(std::initializer_list<std::string_view> ends, const Token* opened) {
    const Nest nest(*this);
    Body body;
    StmtPtr output;
    const auto add_output = [&](ExprPtr e) {
      if (!output) output = make_statement(StmtKind::kOutput, e->line);
      output->exprs.push_back(std::move(e));
    };
    const auto flush = [&] {
      if (output) body.push_back(std::move(output));
    };
    for (;;) {
      switch (now().type) {
        case Tok::kData: {
          const Token token = take();
          add_output(text_const(token.text, token.line));
          continue;
        }
        case Tok::kVariableBegin:
          take();
          add_output(tuple_or_expression(true));
          if (now().type != Tok::kVariableEnd) unexpected("'}}'");
          take();
          continue;
        case Tok::kBlockBegin:
          take();
          flush();
          if (now().type == Tok::kName &&
              std::find(ends.begin(), ends.end(), now().text) != ends.end())
            return body;
          body.push_back(statement());
          if (now().type != Tok::kBlockEnd) unexpected("'%}'");
          take();
          continue;
        default:
          break;
      }
      if (now().type != Tok::kEnd) unexpected("template text");
      if (opened != nullptr)
        fail_at(now().line, "the template ends inside '" + opened->text + "' of line " +
                                std::to_string(opened->line));
      flush();
      return body;
    }
  }

  // The body of a block tag: `%}` statements up to one of `ends`.
  Body block_body(const Token& opened, std::initializer_list<std::string_view> ends) {
    skip_op(":");
    if (now().type != Tok::kBlockEnd) unexpected("'%}'");
    take();
    return statements(ends, &opened);
  }
  Body closed_body(const Token& opened, std::string_view end) {
    Body body = block_body(opened, {end});
    take();
    return body;
  }

  StmtPtr statement() {
    if (now().type != Tok::kName) unexpected("a tag name");
    const Token tag = take();
    if (tag.text == "if") return if_statement(tag);
    if (tag.text == "for") return for_statement(tag);
    if (tag.text == "set") return set_statement(tag);
    if (tag.text == "macro") return macro_statement(tag);
    if (tag.text == "call") return call_statement(tag);
    if (tag.text == "generation") {
      StmtPtr s = make_statement(StmtKind::kGeneration, tag.line);
      s->body = function_body(tag, "endgeneration");
      return s;
    }
    if (tag.text == "filter") {
      StmtPtr s = make_statement(StmtKind::kFilterBlock, tag.line);
      s->value = filters(nullptr, true);
      s->body = closed_body(tag, "endfilter");
      return s;
    }
    if (tag.text == "with") return with_statement(tag);
    if (tag.text == "print") return print_statement(tag);
    if (tag.text == "block") return block_statement(tag);
    if (tag.text == "break" || tag.text == "continue") {
      if (loops_ == 0) fail_at(tag.line, "'" + tag.text + "' outside of a loop");
      return make_statement(tag.text == "break" ? StmtKind::kBreak : StmtKind::kContinue, tag.line);
    }
    if (tag.text == "include" || tag.text == "import" || tag.text == "from" ||
        tag.text == "extends")
      fail_unsupported(tag.line,
                       "'" + tag.text + "' is not supported: a chat template stands alone");
    if (tag.text == "autoescape") fail_unsupported(tag.line, "'autoescape' is not supported");
    fail_at(tag.line, "unknown tag '" + tag.text + "'");
  }

  // The body of something that becomes a function of its own: no loop reaches into it.
  Body function_body(const Token& tag, std::string_view end) {
    const int loops = std::exchange(loops_, 0);
    Body body = closed_body(tag, end);
    loops_ = loops;
    return body;
  }

  StmtPtr if_statement(const Token& tag) {
    StmtPtr s = make_statement(StmtKind::kIf, tag.line);
    for (;;) {
      Branch branch;
      branch.test = tuple_or_expression(false);
      branch.body = block_body(tag, {"elif", "else", "endif"});
      s->branches.push_back(std::move(branch));
      const Token next = take();
      if (next.text == "elif") continue;
      if (next.text == "else") s->else_body = closed_body(tag, "endif");
      return s;
    }
  }

  StmtPtr for_statement(const Token& tag) {
    StmtPtr s = make_statement(StmtKind::kFor, tag.line);
    s->target = assignment_target(false);
    expect_name("in");
    s->iter = tuple_or_expression(false);
    if (skip_name("if")) s->test = expression();
    s->recursive = skip_name("recursive");
    const int loops = std::exchange(loops_, s->recursive ? 1 : loops_ + 1);
    s->body = block_body(tag, {"endfor", "else"});
    loops_ = s->recursive ? 0 : loops;
    if (take().text == "else") s->else_body = closed_body(tag, "endfor");
    loops_ = loops;
    return s;
  }

  StmtPtr set_statement(const Token& tag) {
    StmtPtr s = make_statement(StmtKind::kSet, tag.line);
    s->target = assignment_target(true);
    if (skip_op("=")) {
      s->value = tuple_or_expression(true);
      return s;
    }
    s->kind = StmtKind::kSetBlock;
    s->value = filters(nullptr, false);
    s->body = closed_body(tag, "endset");
    return s;
  }

  void signature(Stmt& s) {
    expect_op("(");
    while (!is_op(")")) {
      if (!s.parameters.empty()) expect_op(",");
      Parameter p;
      const int line = now().line;
      p.name = name_token();
      check_assignable(*p.name, line);
      for (const Parameter& other : s.parameters)
        if (other.name->view() == p.name->view())
          fail_at(line, "parameter '" + std::string(p.name->view()) + "' is given twice");
      if (skip_op("="))
        p.fallback = expression();
      else if (!s.parameters.empty() && s.parameters.back().fallback)
        fail_at(line, "a parameter without a default follows one with a default");
      s.parameters.push_back(std::move(p));
    }
    expect_op(")");
  }

  StmtPtr macro_statement(const Token& tag) {
    StmtPtr s = make_statement(StmtKind::kMacro, tag.line);
    s->name = name_token();
    check_assignable(*s->name, tag.line);
    signature(*s);
    s->body = function_body(tag, "endmacro");
    return s;
  }

  StmtPtr call_statement(const Token& tag) {
    StmtPtr s = make_statement(StmtKind::kCallBlock, tag.line);
    if (is_op("(")) signature(*s);
    s->value = expression();
    if (s->value->kind != ExprKind::kCall) fail_at(tag.line, "'call' expects a call");
    s->body = function_body(tag, "endcall");
    return s;
  }

  StmtPtr with_statement(const Token& tag) {
    StmtPtr s = make_statement(StmtKind::kWith, tag.line);
    while (now().type != Tok::kBlockEnd) {
      if (!s->exprs.empty()) expect_op(",");
      s->exprs.push_back(assignment_target(false));
      expect_op("=");
      s->exprs.push_back(expression());
    }
    s->body = closed_body(tag, "endwith");
    return s;
  }

  StmtPtr print_statement(const Token& tag) {
    StmtPtr s = make_statement(StmtKind::kOutput, tag.line);
    while (now().type != Tok::kBlockEnd) {
      if (!s->exprs.empty()) expect_op(",");
      s->exprs.push_back(expression());
    }
    return s;
  }

  StmtPtr block_statement(const Token& tag) {
    StmtPtr s = make_statement(StmtKind::kBlock, tag.line);
    s->name = name_token();
    for (std::string_view other : blocks_)
      if (other == s->name->view())
        fail_at(tag.line, "block '" + std::string(other) + "' is defined twice");
    blocks_.push_back(s->name->view());
    if (is_name("scoped") || is_name("required"))
      fail_unsupported(
          tag.line, "'" + now().text + "' blocks are not supported: a chat template stands alone");
    s->body = function_body(tag, "endblock");
    skip_name(s->name->view());
    return s;
  }

  void check_assignable(const Str& name, int line) {
    const std::string_view n = name.view();
    if (n == "true" || n == "false" || n == "none" || n == "True" || n == "False" || n == "None")
      fail_at(line, "cannot assign to '" + std::string(n) + "'");
  }

  void check_target(const Expr& e) {
    if (e.kind == ExprKind::kTuple) {
      for (const ExprPtr& item : e.args) check_target(*item);
    } else if (e.kind == ExprKind::kName) {
      check_assignable(*e.name, e.line);
    } else if (e.kind != ExprKind::kNsRef) {
      fail_at(e.line, "this cannot be assigned to");
    }
  }

  ExprPtr assignment_target(bool with_namespace) {
    ExprPtr target = tuple(false, [&] { return primary(with_namespace); });
    check_target(*target);
    return target;
  }

  int loops_ = 0;  // that a break here could leave
  std::vector<std::string_view> blocks_;
};

}  // namespace

std::unique_ptr<Program> parse(std::string_view source) {
  auto program = std::make_unique<Program>(kProgramMemory);
  Parser(*program, tokenize(source)).run();
  resolve(*program);
  return program;
}

}  // namespace spindrift::jinja
