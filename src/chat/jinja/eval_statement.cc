#include <algorithm>
#include <memory>

#include "chat/jinja/eval.h"

namespace spindrift::jinja {

std::string Evaluator::run() {
  rt_.callee = this;
  Frame* frame = new_frame(nullptr, program_.slots);
  enter(program_.scope, *frame);
  body(program_.body, *frame);
  return std::move(output_);
}

Frame* Evaluator::new_frame(Frame* parent, int slots) {
  rt_.tick(1 + slots / 8);
  Value* values = rt_.arena().array<Value>(static_cast<size_t>(slots));
  std::uninitialized_fill_n(values, slots, Value());
  return rt_.arena().make<Frame>(parent, values);
}

Value Evaluator::context_variable(const Str* name) {
  for (const auto& [other, value] : exported_)
    if (other->view() == name->view()) return value;
  if (const Value* v = find(context_, name->view())) return *v;
  if (const Function* function = find_global(name->view())) {
    Value v = Value::of(Kind::kFunction);
    v.function = function;
    return v;
  }
  return Value();
}

void Evaluator::export_variable(const Str* name, const Value& v) {
  for (auto& [other, value] : exported_) {
    if (other->view() != name->view()) continue;
    value = v;
    return;
  }
  exported_.emplace_back(name, v);
}

void Evaluator::enter(const Scope& scope, Frame& frame) {
  for (const Scope::Variable& v : scope.variables) {
    if (v.load == Scope::Load::kParameter) continue;
    Value& target = frame.slots[v.slot];
    if (v.load == Scope::Load::kResolve)
      target = context_variable(v.name);
    else if (v.load == Scope::Load::kAlias)
      target = slot(frame, v.outer);
    else
      target = Value();
  }
}

void Evaluator::leave(const Scope& scope, Frame& frame) {
  for (const Scope::Variable& v : scope.variables) frame.slots[v.slot] = Value();
}

void Evaluator::write(const Value& v) {
  const size_t before = out_->size();
  append_str(rt_, v, out_);
  const size_t added = out_->size() - before;
  written_ += added;
  rt_.scanned(added);
  if (written_ > rt_.limits().output)
    fail_limit("the template writes more text than a prompt may have");
}

Evaluator::Flow Evaluator::body(const Body& statements, Frame& frame) {
  for (const StmtPtr& s : statements) {
    const Flow flow = statement(*s, frame);
    if (flow != Flow::kNext) return flow;
  }
  return Flow::kNext;
}

Evaluator::Flow Evaluator::statement(const Stmt& s, Frame& frame) {
  rt_.tick();
  rt_.line = s.line;
  const DepthGuard guard(rt_);
  switch (s.kind) {
    case StmtKind::kOutput:
      for (const ExprPtr& e : s.exprs) write(eval(*e, frame));
      return Flow::kNext;
    case StmtKind::kIf:
      return branches(s, frame);
    case StmtKind::kFor:
      return for_loop(s, frame);
    case StmtKind::kSet: {
      const Value v = eval(*s.value, frame);
      rt_.line = s.line;
      assign(*s.target, v, frame, s.toplevel);
      return Flow::kNext;
    }
    case StmtKind::kSetBlock:
    case StmtKind::kFilterBlock:
      return captured_block(s, frame);
    case StmtKind::kMacro: {
      const Value macro = new_macro(s, frame);
      slot(frame, s.ref) = macro;
      if (s.toplevel) export_variable(s.name, macro);
      return Flow::kNext;
    }
    case StmtKind::kCallBlock: {
      const Value caller = new_macro(s, frame);
      write(call(*s.value, frame, &caller));
      return Flow::kNext;
    }
    case StmtKind::kGeneration:
      write(call_macro(*new_macro(s, frame).macro, Arguments()));
      return Flow::kNext;
    case StmtKind::kWith:
      return with_block(s, frame);
    case StmtKind::kBlock: {
      Frame* inside = new_frame(nullptr, s.slots);
      enter(s.scope, *inside);
      body(s.body, *inside);
      return Flow::kNext;
    }
    case StmtKind::kBreak:
      return Flow::kBreak;
    case StmtKind::kContinue:
      return Flow::kContinue;
  }
  return Flow::kNext;
}

Evaluator::Flow Evaluator::branches(const Stmt& s, Frame& frame) {
  for (const Branch& branch : s.branches)
    if (truthy(rt_, eval(*branch.test, frame))) return body(branch.body, frame);
  return body(s.else_body, frame);
}

Evaluator::Flow Evaluator::captured_block(const Stmt& s, Frame& frame) {
  Flow flow = Flow::kNext;
  std::string text;
  enter(s.scope, frame);
  {
    Capture capture(*this);
    flow = body(s.body, frame);
    text = capture.take();
  }
  if (flow != Flow::kNext) return flow;
  Value v;
  if (s.value) {
    const std::string* outer = std::exchange(filtered_text_, &text);
    v = eval(*s.value, frame);
    filtered_text_ = outer;
  } else {
    v = rt_.text(text);
  }
  rt_.line = s.line;
  if (s.kind == StmtKind::kFilterBlock)
    write(v);
  else
    assign(*s.target, v, frame, s.toplevel);
  leave(s.scope, frame);
  return Flow::kNext;
}

Evaluator::Flow Evaluator::with_block(const Stmt& s, Frame& frame) {
  enter(s.scope, frame);
  for (size_t i = 0; i + 1 < s.exprs.size(); i += 2) {
    const Value v = eval(*s.exprs[i + 1], frame);
    assign(*s.exprs[i], v, frame, false);
  }
  const Flow flow = body(s.body, frame);
  if (flow == Flow::kNext) leave(s.scope, frame);
  return flow;
}

void Evaluator::assign(const Expr& target, const Value& v, Frame& frame, bool exported) {
  if (target.kind == ExprKind::kName) {
    slot(frame, target.ref) = v;
    if (exported) export_variable(target.name, v);
    return;
  }
  if (target.kind == ExprKind::kNsRef) {
    const Value& ns = slot(frame, target.ref);
    if (!ns.is(Kind::kNamespace)) fail("cannot assign attribute on non-namespace object");
    jinja::assign(rt_, *ns.ns, target.attr, v);
    return;
  }
  std::vector<Value> items;
  unpack(target.args.size(), v, &items);
  for (size_t i = 0; i < items.size(); ++i) assign(*target.args[i], items[i], frame, exported);
}

void Evaluator::unpack(size_t count, const Value& v, std::vector<Value>* items) {
  Iter* source = iterate(rt_, v);
  for (Value item; items->size() <= count && source->next(rt_, &item);) items->push_back(item);
  if (items->size() != count)
    fail("expected " + std::to_string(count) + " values to unpack, found " +
         (items->size() > count ? "more" : std::to_string(items->size())));
}

Value Evaluator::new_macro(const Stmt& s, Frame& frame) {
  Value v = Value::of(Kind::kMacro);
  v.macro = rt_.arena().make<Macro>(s.name, &s, &frame);
  return v;
}

Value Evaluator::call_macro(const Macro& macro, const Arguments& args) {
  const DepthGuard guard(rt_);
  const Stmt& s = *macro.node;
  const std::string label =
      macro.name == nullptr ? "the caller" : "macro '" + std::string(macro.name->view()) + "'";
  Frame& frame = *new_frame(macro.closure, s.slots);
  std::vector<std::pair<const Str*, Value>> named = args.named;
  const auto take = [&](std::string_view name, Value* v) {
    for (auto it = named.begin(); it != named.end(); ++it) {
      if (it->first->view() != name) continue;
      *v = it->second;
      named.erase(it);
      return true;
    }
    return false;
  };
  const size_t wanted = s.parameters.size();
  const size_t given = std::min(args.positional.size(), wanted);
  bool found_caller = s.explicit_caller && given == wanted;
  std::vector<Value> values(args.positional.begin(),
                            args.positional.begin() + static_cast<std::ptrdiff_t>(given));
  for (size_t i = given; i < wanted; ++i) {
    Value v;
    take(s.parameters[i].name->view(), &v);
    if (s.parameters[i].name->view() == "caller") found_caller = true;
    values.push_back(v);
  }
  if (s.caller_ref.slot >= 0 && !found_caller) {
    Value v;
    if (!take("caller", &v) || v.is_none()) v = rt_.undefined("No caller defined");
    slot(frame, s.caller_ref) = v;
  }
  if (s.kwargs_ref.slot >= 0) {
    DictBuilder rest(rt_);
    for (const auto& [name, value] : named) rest.set(Value::of(name), value);
    slot(frame, s.kwargs_ref) = Value::of(rest.build());
  } else if (!named.empty()) {
    fail_type(label + " takes no argument '" + std::string(named.front().first->view()) + "'");
  }
  const auto extra = std::span(args.positional).subspan(given);
  if (s.varargs_ref.slot >= 0)
    slot(frame, s.varargs_ref) = rt_.tuple(extra);
  else if (!extra.empty())
    fail_type(label + " takes at most " + std::to_string(wanted) + " arguments");

  for (size_t i = 0; i < wanted; ++i) slot(frame, s.parameters[i].ref) = values[i];
  enter(s.scope, frame);
  for (size_t i = 0; i < wanted; ++i) {
    Value& v = slot(frame, s.parameters[i].ref);
    if (!v.is(Kind::kMissing)) continue;
    const Parameter& p = s.parameters[i];
    if (p.fallback) {
      const Value fallback = eval(*p.fallback, frame);
      slot(frame, p.ref) = fallback;
    } else {
      v = rt_.undefined("parameter '" + std::string(p.name->view()) + "' was not provided");
    }
  }
  Capture capture(*this);
  body(s.body, frame);
  return rt_.text(capture.take());
}

}  // namespace spindrift::jinja
