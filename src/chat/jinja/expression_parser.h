#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chat/jinja/ast.h"
#include "chat/jinja/error.h"
#include "chat/jinja/lexer.h"
#include "core/stack.h"

namespace spindrift::jinja {

inline constexpr int kMaxNesting = 100;    // blocks, brackets and operators inside each other
inline constexpr int kMaxTreeDepth = 400;  // of an expression, chains like a + b + c ... included

// Reads expressions from the tokens of a template, in jinja2's grammar. Throws TemplateError with
// the line. The parser of statements builds on it.
class ExpressionParser {
 public:
  ExpressionParser(Program& program, std::vector<Token> tokens)
      : program_(program), tokens_(std::move(tokens)) {}
  ExpressionParser(const ExpressionParser&) = delete;
  ExpressionParser& operator=(const ExpressionParser&) = delete;

 protected:
  // The token at hand, the one behind it, and moving on.
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

  // Constants and nodes. finish() is called once all children of a node are in place.
  const Str* str(std::string_view text);
  static ExprPtr make(ExprKind kind, int line);
  static ExprPtr finish(ExprPtr e);
  static ExprPtr unary(ExprKind kind, int line, ExprPtr a);
  static ExprPtr binary(ExprKind kind, int line, ExprPtr a, ExprPtr b, Op op = Op::kAdd);
  ExprPtr text_const(const std::string& text, int line);

  // Counts one level of nesting for as long as it lives.
  class Nest {
   public:
    explicit Nest(ExpressionParser& parser) : parser_(parser) {
      if (++parser_.nesting_ > kMaxNesting || stack_is_low())
        fail_at(parser_.now().line, "the template nests too deep");
    }
    ~Nest() { --parser_.nesting_; }
    Nest(const Nest&) = delete;
    Nest& operator=(const Nest&) = delete;

   private:
    ExpressionParser& parser_;
  };

  // One expression, or several with commas, which are a tuple; an empty one only in parentheses.
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

  ExprPtr tuple_or_expression(bool with_condition);
  ExprPtr expression();
  ExprPtr primary(bool with_namespace);
  // `| f | g(x)` applied to e (null: the text of a block). With `inline_first` the first filter
  // comes without a bar.
  ExprPtr filters(ExprPtr e, bool inline_first);

  Program& program_;

 private:
  // The rules of the grammar, loosest first.
  ExprPtr or_expression();
  ExprPtr and_expression();
  ExprPtr not_expression();
  bool comparison_operator(Op* op);
  ExprPtr comparison();
  ExprPtr sum();
  ExprPtr concatenation();
  ExprPtr product();
  ExprPtr power();
  ExprPtr unary_expression(bool with_filter);
  ExprPtr number(const Token& token);
  ExprPtr postfix(ExprPtr e);
  ExprPtr filter_expression(ExprPtr e);
  ExprPtr attribute(ExprPtr object);
  ExprPtr subscript(ExprPtr object);
  void call_arguments(Expr& e);
  ExprPtr call(ExprPtr callee);
  std::string dotted_name();
  ExprPtr test(ExprPtr e);

  std::vector<Token> tokens_;
  size_t at_ = 0;
  int nesting_ = 0;
};

}  // namespace spindrift::jinja
