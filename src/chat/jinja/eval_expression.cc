#include <algorithm>

#include "chat/jinja/eval.h"

namespace spindrift::jinja {

Value Evaluator::eval(const Expr& e, Frame& frame) {
  // The two leaves need no guard.
  if (e.kind == ExprKind::kConst) return e.value;
  rt_.tick();
  if (e.kind == ExprKind::kName) return name(e, frame);
  const DepthGuard guard(rt_);
  return eval_node(e, frame);
}

Value Evaluator::name(const Expr& e, Frame& frame) {
  const Value& v = slot(frame, e.ref);
  return v.is(Kind::kMissing) ? rt_.undefined_name(e.name->view()) : v;
}

Value Evaluator::eval_node(const Expr& e, Frame& frame) {
  switch (e.kind) {
    case ExprKind::kConst:
      return e.value;
    case ExprKind::kName:
    case ExprKind::kNsRef:
      return name(e, frame);
    case ExprKind::kTuple:
    case ExprKind::kList: {
      std::vector<Value> items;
      items.reserve(e.args.size());
      for (const ExprPtr& item : e.args) items.push_back(eval(*item, frame));
      return e.kind == ExprKind::kTuple ? rt_.tuple(items) : rt_.list(items);
    }
    case ExprKind::kDict: {
      DictBuilder dict(rt_);
      for (size_t i = 0; i < e.args.size(); i += 2) {
        const Value key = eval(*e.args[i], frame);
        dict.set(key, eval(*e.args[i + 1], frame));
      }
      return Value::of(dict.build());
    }
    case ExprKind::kNot:
      return Value::of(!truthy(rt_, eval(*e.a, frame)));
    case ExprKind::kNegative:
    case ExprKind::kPositive: {
      const Value v = eval(*e.a, frame);
      rt_.line = e.line;
      return e.kind == ExprKind::kNegative ? negate(rt_, v) : positive(rt_, v);
    }
    case ExprKind::kBinary: {
      const Value a = eval(*e.a, frame);
      const Value b = eval(*e.b, frame);
      rt_.line = e.line;
      return e.op == Op::kAdd ? add(rt_, a, b) : arithmetic(rt_, e.op, a, b);
    }
    case ExprKind::kAnd: {
      const Value a = eval(*e.a, frame);
      return truthy(rt_, a) ? eval(*e.b, frame) : a;
    }
    case ExprKind::kOr: {
      const Value a = eval(*e.a, frame);
      return truthy(rt_, a) ? a : eval(*e.b, frame);
    }
    case ExprKind::kCompare:
      return compare_chain(e, frame);
    case ExprKind::kConcat:
      return concat(e, frame);
    case ExprKind::kCondition:
      if (truthy(rt_, eval(*e.b, frame))) return eval(*e.a, frame);
      if (e.c) return eval(*e.c, frame);
      return rt_.undefined("the inline if-expression on line " + std::to_string(e.line) +
                           " evaluated to false and no else section was defined");
    case ExprKind::kAttribute: {
      const Value object = eval(*e.a, frame);
      rt_.line = e.line;
      return get_attribute(rt_, object, e.name);
    }
    case ExprKind::kItem: {
      const Value object = eval(*e.a, frame);
      const Value key = eval(*e.b, frame);
      rt_.line = e.line;
      return get_item(rt_, object, key);
    }
    case ExprKind::kSlice: {
      const Value object = eval(*e.a, frame);
      Value part[3];
      for (size_t i = 0; i < 3; ++i) part[i] = e.args[i] ? eval(*e.args[i], frame) : Value::none();
      rt_.line = e.line;
      return get_slice(rt_, object, part[0], part[1], part[2]);
    }
    case ExprKind::kCall:
      return call(e, frame, nullptr);
    case ExprKind::kFilter:
    case ExprKind::kTest:
      return filter_or_test(e, frame);
  }
  return Value();
}

Value Evaluator::compare_chain(const Expr& e, Frame& frame) {
  Value left = eval(*e.a, frame);
  for (size_t i = 0; i < e.ops.size(); ++i) {
    const Value right = eval(*e.args[i], frame);
    rt_.line = e.line;
    bool holds = false;
    switch (e.ops[i]) {
      case Op::kEqual:
        holds = equals(rt_, left, right);
        break;
      case Op::kNotEqual:
        holds = !equals(rt_, left, right);
        break;
      case Op::kLess:
        holds = compare(rt_, Order::kLess, left, right);
        break;
      case Op::kLessEqual:
        holds = compare(rt_, Order::kLessEqual, left, right);
        break;
      case Op::kGreater:
        holds = compare(rt_, Order::kGreater, left, right);
        break;
      case Op::kGreaterEqual:
        holds = compare(rt_, Order::kGreaterEqual, left, right);
        break;
      case Op::kIn:
        holds = contains(rt_, right, left);
        break;
      default:
        holds = !contains(rt_, right, left);
        break;
    }
    if (!holds) return Value::of(false);
    left = right;
  }
  return Value::of(true);
}

Value Evaluator::concat(const Expr& e, Frame& frame) {
  const Str* joined = nullptr;
  for (const ExprPtr& part : e.args) {
    const Value v = eval(*part, frame);
    const Str* text = v.is_str() ? v.str : rt_.str(to_str(rt_, v));
    joined = joined == nullptr ? text : rt_.concat(*joined, *text);
  }
  if (joined->markup) return rt_.text(joined->view());
  return Value::of(joined);
}

void Evaluator::arguments(const Expr& e, Frame& frame, Arguments* args) {
  args->positional.reserve(args->positional.size() + e.args.size());
  for (const ExprPtr& arg : e.args) args->positional.push_back(eval(*arg, frame));
  for (const auto& [name, value] : e.named) args->named.emplace_back(name, eval(*value, frame));
  if (e.star)
    for (const Value& v : to_vector(rt_, eval(*e.star, frame))) args->positional.push_back(v);
  if (!e.star_star) return;
  const Value more = eval(*e.star_star, frame);
  if (!more.is(Kind::kDict))
    fail_type("the argument after ** must be a mapping, found " + type_name(more));
  for (const Dict::Entry& entry : more.dict->items()) {
    if (!entry.key.is_str()) fail_type("keywords must be strings");
    for (const auto& [name, value] : args->named)
      if (name->view() == entry.key.text())
        fail_type("argument '" + std::string(name->view()) + "' is given twice");
    args->named.emplace_back(entry.key.str, entry.value);
  }
}

Value Evaluator::call(const Expr& e, Frame& frame, const Value* caller) {
  static constexpr Str kCaller{"caller", 6, 6, false};
  Arguments args;
  const auto finish_arguments = [&] {
    arguments(e, frame, &args);
    if (caller != nullptr) args.named.emplace_back(&kCaller, *caller);
    rt_.line = e.line;
  };
  if (e.a->kind == ExprKind::kAttribute) {  // a method call needs no bound method
    const Value object = eval(*e.a->a, frame);
    if (has_method(object, e.a->name->view())) {
      finish_arguments();
      return call_method(rt_, object, e.a->name->view(), args);
    }
    rt_.line = e.line;
    const Value callee = get_attribute(rt_, object, e.a->name);
    finish_arguments();
    return call_value(rt_, callee, args);
  }
  const Value callee = eval(*e.a, frame);
  finish_arguments();
  return call_value(rt_, callee, args);
}

Value Evaluator::filter_or_test(const Expr& e, Frame& frame) {
  rt_.line = e.line;
  if (e.builtin == nullptr)
    fail(std::string(e.kind == ExprKind::kFilter ? "no filter" : "no test") + " named '" +
         std::string(e.name->view()) + "'");
  Arguments args;
  args.positional.push_back(e.a ? eval(*e.a, frame) : rt_.text(*filtered_text_));
  arguments(e, frame, &args);
  rt_.line = e.line;
  return e.builtin->call(rt_, args);
}

}  // namespace spindrift::jinja
