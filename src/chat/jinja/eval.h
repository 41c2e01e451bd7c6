#pragma once

#include <string>
#include <utility>
#include <vector>

#include "chat/jinja/ast.h"
#include "chat/jinja/builtins.h"
#include "chat/jinja/runtime.h"

namespace spindrift::jinja {

// The variables of one running function. `parent` is the frame it was written in, not the caller's.
struct Frame {
  Frame* parent;
  Value* slots;
};

// Renders a program once. Throws TemplateError.
class Evaluator final : public Callee {
 public:
  Evaluator(Runtime& rt, const Program& program, const Dict& context)
      : rt_(rt), program_(program), context_(context) {}
  std::string run();

  Value call_macro(const Macro& macro, const Arguments& args) override;
  Value call_loop(Loop& loop, const Value& items) override;

 private:
  enum class Flow : uint8_t { kNext, kBreak, kContinue };
  class Capture;
  class FilteredItems;

  // Statements (eval_statement.cc).
  Flow body(const Body& statements, Frame& frame);
  Flow statement(const Stmt& s, Frame& frame);
  void write(const Value& v);
  Flow branches(const Stmt& s, Frame& frame);
  Flow captured_block(const Stmt& s, Frame& frame);
  Flow with_block(const Stmt& s, Frame& frame);
  Flow for_loop(const Stmt& s, Frame& frame);
  // Runs the loop's body for each item, or its else; a break there belongs to the loop around.
  // `loop` is null when the body never looks at it.
  Flow iterate_body(const Stmt& s, Frame& frame, Iter* items, Loop* loop);
  Value render_recursive(const Stmt& s, Frame* closure, const Value& items, int64_t depth0);
  Iter* filtered(const Stmt& s, Frame& frame, Iter* items);
  Frame* new_frame(Frame* parent, int slots);
  void enter(const Scope& scope, Frame& frame);
  void leave(const Scope& scope, Frame& frame);
  void assign(const Expr& target, const Value& v, Frame& frame, bool exported);
  void unpack(size_t count, const Value& v, std::vector<Value>* items);
  Value new_macro(const Stmt& s, Frame& frame);
  void export_variable(const Str* name, const Value& v);
  Value context_variable(const Str* name);

  // Expressions (eval_expression.cc).
  Value eval(const Expr& e, Frame& frame);
  Value eval_node(const Expr& e, Frame& frame);
  Value name(const Expr& e, Frame& frame);
  Value compare_chain(const Expr& e, Frame& frame);
  Value concat(const Expr& e, Frame& frame);
  Value call(const Expr& e, Frame& frame, const Value* caller);
  Value filter_or_test(const Expr& e, Frame& frame);
  void arguments(const Expr& e, Frame& frame, Arguments* args);
  static Value& slot(Frame& frame, const VarRef& ref) {
    Frame* f = &frame;
    for (int hops = ref.hops; hops > 0; --hops) f = f->parent;
    return f->slots[ref.slot];
  }

  Runtime& rt_;
  const Program& program_;
  const Dict& context_;
  std::vector<std::pair<const Str*, Value>> exported_;
  std::string output_;
  std::string* out_ = &output_;
  size_t written_ = 0;
  const std::string* filtered_text_ = nullptr;  // what a filter without operand applies to
};

// Collects output into a string for as long as it lives.
class Evaluator::Capture {
 public:
  explicit Capture(Evaluator& evaluator)
      : evaluator_(evaluator), outer_(std::exchange(evaluator.out_, &text_)) {}
  ~Capture() { evaluator_.out_ = outer_; }
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;
  std::string take() { return std::move(text_); }

 private:
  Evaluator& evaluator_;
  std::string text_;
  std::string* outer_;
};

}  // namespace spindrift::jinja
