#include "chat/jinja/expression_parser.h"

#include <algorithm>
#include <cstdlib>

#include "chat/jinja/builtins.h"
#include "chat/jinja/text.h"

namespace spindrift::jinja {

const Str* ExpressionParser::str(std::string_view text) {
  return program_.arena.make<Str>(program_.arena.copy(text), text.size(), count_code_points(text),
                                  false);
}

ExprPtr ExpressionParser::make(ExprKind kind, int line) {
  auto e = std::make_unique<Expr>();
  e->kind = kind;
  e->line = line;
  return e;
}

ExprPtr ExpressionParser::finish(ExprPtr e) {
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

ExprPtr ExpressionParser::unary(ExprKind kind, int line, ExprPtr a) {
  ExprPtr e = make(kind, line);
  e->a = std::move(a);
  return finish(std::move(e));
}

ExprPtr ExpressionParser::binary(ExprKind kind, int line, ExprPtr a, ExprPtr b, Op op) {
  ExprPtr e = make(kind, line);
  e->a = std::move(a);
  e->b = std::move(b);
  e->op = op;
  return finish(std::move(e));
}

ExprPtr ExpressionParser::text_const(const std::string& text, int line) {
  ExprPtr e = make(ExprKind::kConst, line);
  e->value = Value::of(str(text));
  return e;
}

ExprPtr ExpressionParser::tuple_or_expression(bool with_condition) {
  return tuple(false, [&] { return with_condition ? expression() : or_expression(); });
}

ExprPtr ExpressionParser::expression() {
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

ExprPtr ExpressionParser::or_expression() {
  ExprPtr left = and_expression();
  while (is_name("or")) {
    const int line = take().line;
    left = binary(ExprKind::kOr, line, std::move(left), and_expression());
  }
  return left;
}

ExprPtr ExpressionParser::and_expression() {
  ExprPtr left = not_expression();
  while (is_name("and")) {
    const int line = take().line;
    left = binary(ExprKind::kAnd, line, std::move(left), not_expression());
  }
  return left;
}

ExprPtr ExpressionParser::not_expression() {
  if (!is_name("not")) return comparison();
  const Nest nest(*this);
  const int line = take().line;
  return unary(ExprKind::kNot, line, not_expression());
}

bool ExpressionParser::comparison_operator(Op* op) {
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

ExprPtr ExpressionParser::comparison() {
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

ExprPtr ExpressionParser::sum() {
  ExprPtr left = concatenation();
  while (is_op("+") || is_op("-")) {
    const Token token = take();
    left = binary(ExprKind::kBinary, token.line, std::move(left), concatenation(),
                  token.text == "+" ? Op::kAdd : Op::kSubtract);
  }
  return left;
}

ExprPtr ExpressionParser::concatenation() {
  const int line = now().line;
  ExprPtr first = product();
  if (!is_op("~")) return first;
  ExprPtr e = make(ExprKind::kConcat, line);
  e->args.push_back(std::move(first));
  while (skip_op("~")) e->args.push_back(product());
  return finish(std::move(e));
}

ExprPtr ExpressionParser::product() {
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

ExprPtr ExpressionParser::power() {
  ExprPtr left = unary_expression(true);
  while (is_op("**")) {
    const int line = take().line;
    left = binary(ExprKind::kBinary, line, std::move(left), unary_expression(true), Op::kPower);
  }
  return left;
}

ExprPtr ExpressionParser::unary_expression(bool with_filter) {
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

ExprPtr ExpressionParser::number(const Token& token) {
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

ExprPtr ExpressionParser::primary(bool with_namespace) {
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

ExprPtr ExpressionParser::postfix(ExprPtr e) {
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

ExprPtr ExpressionParser::filter_expression(ExprPtr e) {
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

ExprPtr ExpressionParser::attribute(ExprPtr object) {
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

ExprPtr ExpressionParser::subscript(ExprPtr object) {
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
    if (!items.empty()) fail_unsupported(line, "a slice among several subscripts is not supported");
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

void ExpressionParser::call_arguments(Expr& e) {
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

ExprPtr ExpressionParser::call(ExprPtr callee) {
  ExprPtr e = make(ExprKind::kCall, now().line);
  e->a = std::move(callee);
  call_arguments(*e);
  return finish(std::move(e));
}

std::string ExpressionParser::dotted_name() {
  std::string name(name_token()->view());
  while (skip_op(".")) name.append(".").append(name_token()->view());
  return name;
}

ExprPtr ExpressionParser::filters(ExprPtr e, bool inline_first) {
  while (inline_first || is_op("|")) {
    if (!inline_first) take();
    inline_first = false;
    ExprPtr filter = make(ExprKind::kFilter, now().line);
    const std::string name = dotted_name();
    if (const std::string_view why = refused_filter(name); !why.empty())
      fail_unsupported(filter->line, "filter '" + name + "' is not supported: " + std::string(why));
    filter->name = str(name);
    filter->builtin = find_filter(name);
    if (is_op("(")) call_arguments(*filter);
    filter->a = std::move(e);
    e = finish(std::move(filter));
  }
  return e;
}

ExprPtr ExpressionParser::test(ExprPtr e) {
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

}  // namespace spindrift::jinja
