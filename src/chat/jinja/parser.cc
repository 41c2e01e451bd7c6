#include "chat/jinja/parser.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "chat/jinja/builtins.h"
#include "chat/jinja/error.h"
#include "chat/jinja/lexer.h"
#include "chat/jinja/text.h"

namespace spindrift::jinja {
namespace {

constexpr int kMaxNesting = 100;    // blocks, brackets and operators inside each other
constexpr int kMaxTreeDepth = 400;  // of an expression, chains like a + b + c ... included
constexpr size_t kProgramMemory = size_t{64} << 20;

class Parser {
 public:
  Parser(Program& program, std::vector<Token> tokens)
      : program_(program), tokens_(std::move(tokens)) {}

  void run() { program_.body = statements({}, nullptr); }

 private:
  // ---- tokens
  const Token& now() const { return tokens_[at_]; }
  const Token& peek() const { return tokens_[std::min(at_ + 1, tokens_.size() - 1)]; }
  Token take() {
    Token token = now();
    if (at_ + 1 < tokens_.size()) ++at_;
    return token;
  }
  bool is_op(std::string_view op) const { return now().type == Tok::kOperator && now().text == op; }
  bool is_name(std::string_view name) const {
    return now().type == Tok::kName && now().text == name;
  }
  bool skip_op(std::string_view op) {
    if (!is_op(op)) return false;
    take();
    return true;
  }
  bool skip_name(std::string_view name) {
    if (!is_name(name)) return false;
    take();
    return true;
  }
  [[noreturn]] void unexpected(const std::string& expected) const {
    fail_at(now().line, "expected " + expected + ", found " + describe(now()));
  }
  void expect_op(std::string_view op) {
    if (!skip_op(op)) unexpected("'" + std::string(op) + "'");
  }
  void expect_name(std::string_view name) {
    if (!skip_name(name)) unexpected("'" + std::string(name) + "'");
  }
  const Str* name_token() {
    if (now().type != Tok::kName) unexpected("a name");
    return str(take().text);
  }

  // ---- construction
  const Str* str(std::string_view text) {
    return program_.arena.make<Str>(program_.arena.copy(text), text.size(), count_code_points(text),
                                    false);
  }
  static ExprPtr make(ExprKind kind, int line) {
    auto e = std::make_unique<Expr>();
    e->kind = kind;
    e->line = line;
    return e;
  }
  static StmtPtr make(StmtKind kind, int line) {
    auto s = std::make_unique<Stmt>();
    s->kind = kind;
    s->line = line;
    return s;
  }
  // Called once all children are in place.
  static ExprPtr finish(ExprPtr e) {
    int depth = 0;
    const auto see = [&](const ExprPtr& child) {
      if (child) depth = std::max(depth, child->depth);
    };
    see(e->a);
    see(e->b);
    see(e->c);
    see(e->star);
    see(e->star_star);
    for (const ExprPtr& child : e->args) see(child);
    for (const auto& [name, child] : e->named) see(child);
    e->depth = depth + 1;
    if (e->depth > kMaxTreeDepth) fail_at(e->line, "an expression nests too deep");
    return e;
  }
  static ExprPtr unary(ExprKind kind, int line, ExprPtr a) {
    ExprPtr e = make(kind, line);
    e->a = std::move(a);
    return finish(std::move(e));
  }
  static ExprPtr binary(ExprKind kind, int line, ExprPtr a, ExprPtr b, Op op = Op::kAdd) {
    ExprPtr e = make(kind, line);
    e->a = std::move(a);
    e->b = std::move(b);
    e->op = op;
    return finish(std::move(e));
  }
  ExprPtr text_const(const std::string& text, int line) {
    ExprPtr e = make(ExprKind::kConst, line);
    e->value = Value::of(str(text));
    return e;
  }
  class Nest {
   public:
    explicit Nest(Parser& parser) : parser_(parser) {
      if (++parser_.nesting_ > kMaxNesting)
        fail_at(parser_.now().line, "the template nests too deep");
    }
    ~Nest() { --parser_.nesting_; }
    Nest(const Nest&) = delete;
    Nest& operator=(const Nest&) = delete;

   private:
    Parser& parser_;
  };

  // ---- statements

  // Parses until a block whose tag is one of `ends` (left unread after its "{%"), or to the end
  // when there are none.
  Body statements(std::initializer_list<std::string_view> ends, const Token* opened) {
    const Nest nest(*this);
    Body body;
    StmtPtr output;
    const auto add_output = [&](ExprPtr e) {
      if (!output) output = make(StmtKind::kOutput, e->line);
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
      StmtPtr s = make(StmtKind::kGeneration, tag.line);
      s->body = function_body(tag, "endgeneration");
      return s;
    }
    if (tag.text == "filter") {
      StmtPtr s = make(StmtKind::kFilterBlock, tag.line);
      s->value = filters(nullptr, true);
      s->body = closed_body(tag, "endfilter");
      return s;
    }
    if (tag.text == "with") return with_statement(tag);
    if (tag.text == "print") return print_statement(tag);
    if (tag.text == "block") return block_statement(tag);
    if (tag.text == "break" || tag.text == "continue") {
      if (loops_ == 0) fail_at(tag.line, "'" + tag.text + "' outside of a loop");
      return make(tag.text == "break" ? StmtKind::kBreak : StmtKind::kContinue, tag.line);
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
    StmtPtr s = make(StmtKind::kIf, tag.line);
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
    StmtPtr s = make(StmtKind::kFor, tag.line);
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
    StmtPtr s = make(StmtKind::kSet, tag.line);
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
    StmtPtr s = make(StmtKind::kMacro, tag.line);
    s->name = name_token();
    check_assignable(*s->name, tag.line);
    signature(*s);
    s->body = function_body(tag, "endmacro");
    return s;
  }

  StmtPtr call_statement(const Token& tag) {
    StmtPtr s = make(StmtKind::kCallBlock, tag.line);
    if (is_op("(")) signature(*s);
    s->value = expression();
    if (s->value->kind != ExprKind::kCall) fail_at(tag.line, "'call' expects a call");
    s->body = function_body(tag, "endcall");
    return s;
  }

  StmtPtr with_statement(const Token& tag) {
    StmtPtr s = make(StmtKind::kWith, tag.line);
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
    StmtPtr s = make(StmtKind::kOutput, tag.line);
    while (now().type != Tok::kBlockEnd) {
      if (!s->exprs.empty()) expect_op(",");
      s->exprs.push_back(expression());
    }
    return s;
  }

  StmtPtr block_statement(const Token& tag) {
    StmtPtr s = make(StmtKind::kBlock, tag.line);
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

  // ---- expressions

  template <class One>
  ExprPtr tuple(bool parenthesised, One one) {
    const int line = now().line;
    std::vector<ExprPtr> items;
    bool is_tuple = false;
    for (;;) {
      if (!items.empty()) expect_op(",");
      const bool ended =
          now().type == Tok::kVariableEnd || now().type == Tok::kBlockEnd || is_op(")");
      if (ended) break;
      items.push_back(one());
      if (!is_op(",")) break;
      is_tuple = true;
    }
    if (!is_tuple) {
      if (!items.empty()) return std::move(items[0]);
      if (!parenthesised) unexpected("an expression");
    }
    ExprPtr e = make(ExprKind::kTuple, line);
    e->args = std::move(items);
    return finish(std::move(e));
  }

  ExprPtr tuple_or_expression(bool with_condition) {
    return tuple(false, [&] { return with_condition ? expression() : or_expression(); });
  }

  ExprPtr expression() {
    const Nest nest(*this);
    const int line = now().line;
    ExprPtr first = or_expression();
    while (skip_name("if")) {
      ExprPtr e = make(ExprKind::kCondition, line);
      e->a = std::move(first);
      e->b = or_expression();
      if (skip_name("else")) e->c = expression();
      first = finish(std::move(e));
    }
    return first;
  }

  ExprPtr or_expression() {
    ExprPtr left = and_expression();
    while (is_name("or")) {
      const int line = take().line;
      left = binary(ExprKind::kOr, line, std::move(left), and_expression());
    }
    return left;
  }

  ExprPtr and_expression() {
    ExprPtr left = not_expression();
    while (is_name("and")) {
      const int line = take().line;
      left = binary(ExprKind::kAnd, line, std::move(left), not_expression());
    }
    return left;
  }

  ExprPtr not_expression() {
    if (!is_name("not")) return comparison();
    const Nest nest(*this);
    const int line = take().line;
    return unary(ExprKind::kNot, line, not_expression());
  }

  bool comparison_operator(Op* op) {
    if (now().type == Tok::kOperator) {
      static constexpr std::pair<std::string_view, Op> kOps[] = {
          {"==", Op::kEqual},     {"!=", Op::kNotEqual}, {"<", Op::kLess},
          {"<=", Op::kLessEqual}, {">", Op::kGreater},   {">=", Op::kGreaterEqual}};
      for (const auto& [text, value] : kOps) {
        if (now().text != text) continue;
        *op = value;
        take();
        return true;
      }
      return false;
    }
    if (skip_name("in")) {
      *op = Op::kIn;
      return true;
    }
    if (is_name("not") && peek().type == Tok::kName && peek().text == "in") {
      take();
      take();
      *op = Op::kNotIn;
      return true;
    }
    return false;
  }

  ExprPtr comparison() {
    const int line = now().line;
    ExprPtr first = sum();
    Op op = Op::kEqual;
    if (!comparison_operator(&op)) return first;
    ExprPtr e = make(ExprKind::kCompare, line);
    e->a = std::move(first);
    do {
      e->ops.push_back(op);
      e->args.push_back(sum());
    } while (comparison_operator(&op));
    return finish(std::move(e));
  }

  ExprPtr sum() {
    ExprPtr left = concatenation();
    while (is_op("+") || is_op("-")) {
      const Token token = take();
      left = binary(ExprKind::kBinary, token.line, std::move(left), concatenation(),
                    token.text == "+" ? Op::kAdd : Op::kSubtract);
    }
    return left;
  }

  ExprPtr concatenation() {
    const int line = now().line;
    ExprPtr first = product();
    if (!is_op("~")) return first;
    ExprPtr e = make(ExprKind::kConcat, line);
    e->args.push_back(std::move(first));
    while (skip_op("~")) e->args.push_back(product());
    return finish(std::move(e));
  }

  ExprPtr product() {
    ExprPtr left = power();
    while (is_op("*") || is_op("/") || is_op("//") || is_op("%")) {
      const Token token = take();
      const Op op = token.text == "*"    ? Op::kMultiply
                    : token.text == "/"  ? Op::kDivide
                    : token.text == "//" ? Op::kFloorDivide
                                         : Op::kModulo;
      left = binary(ExprKind::kBinary, token.line, std::move(left), power(), op);
    }
    return left;
  }

  ExprPtr power() {
    ExprPtr left = unary_expression(true);
    while (is_op("**")) {
      const int line = take().line;
      left = binary(ExprKind::kBinary, line, std::move(left), unary_expression(true), Op::kPower);
    }
    return left;
  }

  ExprPtr unary_expression(bool with_filter) {
    const Nest nest(*this);
    ExprPtr e;
    if (is_op("-") || is_op("+")) {
      const Token sign = take();
      e = unary(sign.text == "-" ? ExprKind::kNegative : ExprKind::kPositive, sign.line,
                unary_expression(false));
    } else {
      e = primary(false);
    }
    e = postfix(std::move(e));
    return with_filter ? filter_expression(std::move(e)) : std::move(e);
  }

  ExprPtr number(const Token& token) {
    ExprPtr e = make(ExprKind::kConst, token.line);
    if (token.type == Tok::kFloat) {
      e->value = Value::of(std::strtod(token.text.c_str(), nullptr));
      return e;
    }
    std::string_view digits = token.text;
    uint32_t base = 10;
    if (digits.size() > 2 && digits[0] == '0') {
      const char letter = static_cast<char>(digits[1] | 0x20);
      base = letter == 'x' ? 16 : (letter == 'o' ? 8 : (letter == 'b' ? 2 : 10));
      if (base != 10) digits.remove_prefix(2);
    }
    const BigInt big = BigInt::from_digits(digits, base);
    if (const auto small = big.to_int64()) {
      e->value = Value::of(*small);
      return e;
    }
    auto* limbs = program_.arena.array<uint32_t>(big.limbs().size());
    std::copy(big.limbs().begin(), big.limbs().end(), limbs);
    e->value = Value::of(Kind::kBig);
    e->value.big =
        program_.arena.make<BigLimbs>(limbs, static_cast<uint32_t>(big.limbs().size()), false);
    return e;
  }

  ExprPtr primary(bool with_namespace) {
    const Token token = now();
    switch (token.type) {
      case Tok::kName: {
        take();
        ExprPtr e = make(ExprKind::kConst, token.line);
        if (token.text == "true" || token.text == "True")
          e->value = Value::of(true);
        else if (token.text == "false" || token.text == "False")
          e->value = Value::of(false);
        else if (token.text == "none" || token.text == "None")
          e->value = Value::none();
        else {
          e->kind = ExprKind::kName;
          e->name = str(token.text);
          if (with_namespace && skip_op(".")) {
            e->kind = ExprKind::kNsRef;
            e->attr = name_token();
          }
        }
        return e;
      }
      case Tok::kString: {
        std::string text;
        while (now().type == Tok::kString) text += take().text;
        return text_const(text, token.line);
      }
      case Tok::kInteger:
      case Tok::kFloat:
        return number(take());
      default:
        break;
    }
    const Nest nest(*this);
    if (skip_op("(")) {
      ExprPtr e = tuple(true, [&] { return expression(); });
      expect_op(")");
      return e;
    }
    if (skip_op("[")) {
      ExprPtr e = make(ExprKind::kList, token.line);
      while (!is_op("]")) {
        if (!e->args.empty()) expect_op(",");
        if (is_op("]")) break;
        e->args.push_back(expression());
      }
      expect_op("]");
      return finish(std::move(e));
    }
    if (skip_op("{")) {
      ExprPtr e = make(ExprKind::kDict, token.line);
      while (!is_op("}")) {
        if (!e->args.empty()) expect_op(",");
        if (is_op("}")) break;
        e->args.push_back(expression());
        expect_op(":");
        e->args.push_back(expression());
      }
      expect_op("}");
      return finish(std::move(e));
    }
    unexpected("an expression");
  }

  ExprPtr postfix(ExprPtr e) {
    for (;;) {
      if (is_op("."))
        e = attribute(std::move(e));
      else if (is_op("["))
        e = subscript(std::move(e));
      else if (is_op("("))
        e = call(std::move(e));
      else
        return e;
    }
  }

  ExprPtr filter_expression(ExprPtr e) {
    for (;;) {
      if (is_op("|"))
        e = filters(std::move(e), false);
      else if (is_name("is"))
        e = test(std::move(e));
      else if (is_op("("))
        e = call(std::move(e));
      else
        return e;
    }
  }

  ExprPtr attribute(ExprPtr object) {
    const int line = take().line;
    if (now().type == Tok::kName) {
      ExprPtr e = make(ExprKind::kAttribute, line);
      e->name = str(take().text);
      e->a = std::move(object);
      return finish(std::move(e));
    }
    if (now().type != Tok::kInteger) unexpected("a name or a number");
    return binary(ExprKind::kItem, line, std::move(object), number(take()));
  }

  ExprPtr subscript(ExprPtr object) {
    const int line = take().line;
    std::vector<ExprPtr> items;
    ExprPtr slice;
    while (!is_op("]")) {
      if (!items.empty() || slice) expect_op(",");
      if (slice) fail_unsupported(line, "a slice among several subscripts is not supported");
      ExprPtr first;
      if (!is_op(":")) first = expression();
      if (!is_op(":")) {
        items.push_back(std::move(first));
        continue;
      }
      if (!items.empty())
        fail_unsupported(line, "a slice among several subscripts is not supported");
      slice = make(ExprKind::kSlice, line);
      slice->args.push_back(std::move(first));
      for (int part = 0; part < 2; ++part) {
        const bool given = skip_op(":");
        const bool empty = !given || is_op(":") || is_op("]") || is_op(",");
        slice->args.push_back(empty ? nullptr : expression());
      }
    }
    expect_op("]");
    if (slice) {
      slice->a = std::move(object);
      return finish(std::move(slice));
    }
    ExprPtr key;
    if (items.size() == 1) {
      key = std::move(items[0]);
    } else {
      key = make(ExprKind::kTuple, line);
      key->args = std::move(items);
      key = finish(std::move(key));
    }
    return binary(ExprKind::kItem, line, std::move(object), std::move(key));
  }

  void call_arguments(Expr& e) {
    const int line = now().line;
    const auto ensure = [&](bool fine) {
      if (!fine) fail_at(line, "arguments are in the wrong order");
    };
    expect_op("(");
    bool first = true;
    while (!is_op(")")) {
      if (!first) {
        expect_op(",");
        if (is_op(")")) break;
      }
      first = false;
      if (skip_op("*")) {
        ensure(!e.star && !e.star_star);
        e.star = expression();
      } else if (skip_op("**")) {
        ensure(!e.star_star);
        e.star_star = expression();
      } else if (now().type == Tok::kName && peek().type == Tok::kOperator && peek().text == "=") {
        ensure(!e.star_star);
        const Str* name = str(take().text);
        take();
        for (const auto& [other, value] : e.named)
          if (other->view() == name->view())
            fail_at(line, "argument '" + std::string(name->view()) + "' is given twice");
        e.named.emplace_back(name, expression());
      } else {
        ensure(!e.star && !e.star_star && e.named.empty());
        e.args.push_back(expression());
      }
    }
    expect_op(")");
  }

  ExprPtr call(ExprPtr callee) {
    ExprPtr e = make(ExprKind::kCall, now().line);
    e->a = std::move(callee);
    call_arguments(*e);
    return finish(std::move(e));
  }

  std::string dotted_name() {
    std::string name(name_token()->view());
    while (skip_op(".")) name.append(".").append(name_token()->view());
    return name;
  }

  // `| f | g(x)` applied to e (null: the text of a block). With `inline_first` the first filter
  // comes without a bar.
  ExprPtr filters(ExprPtr e, bool inline_first) {
    while (inline_first || is_op("|")) {
      if (!inline_first) take();
      inline_first = false;
      ExprPtr filter = make(ExprKind::kFilter, now().line);
      const std::string name = dotted_name();
      if (const std::string_view why = refused_filter(name); !why.empty())
        fail_unsupported(filter->line,
                         "filter '" + name + "' is not supported: " + std::string(why));
      filter->name = str(name);
      filter->builtin = find_filter(name);
      if (is_op("(")) call_arguments(*filter);
      filter->a = std::move(e);
      e = finish(std::move(filter));
    }
    return e;
  }

  ExprPtr test(ExprPtr e) {
    ExprPtr t = make(ExprKind::kTest, take().line);
    const bool negated = skip_name("not");
    const std::string name = dotted_name();
    t->name = str(name);
    t->builtin = find_test(name);
    const Tok type = now().type;
    if (is_op("(")) {
      call_arguments(*t);
    } else if ((type == Tok::kName || type == Tok::kString || type == Tok::kInteger ||
                type == Tok::kFloat || is_op("[") || is_op("{")) &&
               !is_name("else") && !is_name("or") && !is_name("and")) {
      if (is_name("is")) fail_at(now().line, "tests with 'is' cannot be chained");
      t->args.push_back(postfix(primary(false)));
    }
    t->a = std::move(e);
    const int line = t->line;
    ExprPtr done = finish(std::move(t));
    return negated ? unary(ExprKind::kNot, line, std::move(done)) : std::move(done);
  }

  Program& program_;
  std::vector<Token> tokens_;
  size_t at_ = 0;
  int nesting_ = 0;
  int loops_ = 0;
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
