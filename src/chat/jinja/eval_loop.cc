#include "chat/jinja/eval.h"

namespace spindrift::jinja {

// The items of `for x in items if test`, tested one by one as the loop asks for them.
class Evaluator::FilteredItems final : public Iter {
 public:
  FilteredItems(Evaluator* evaluator, const Stmt* s, Frame* frame, Iter* items)
      : evaluator_(evaluator), s_(s), frame_(frame), items_(items) {}

  bool next(Runtime& rt, Value* item) override {
    const DepthGuard guard(rt);
    if (!entered_) {
      evaluator_->enter(s_->test_scope, *frame_);
      entered_ = true;
    }
    for (Value v; items_->next(rt, &v);) {
      rt.tick();
      size_t name = 0;
      const Value kept = store(*s_->target, v, &name);
      if (!truthy(rt, evaluator_->eval(*s_->test, *frame_))) continue;
      *item = kept;
      return true;
    }
    return false;
  }

 private:
  // Stores the item in the filter's own variables and returns it as the loop's target will unpack
  // it again.
  Value store(const Expr& target, const Value& v, size_t* name) {
    if (target.kind != ExprKind::kTuple) {
      frame_->slots[s_->test_target[(*name)++].slot] = v;
      return v;
    }
    std::vector<Value> items;
    evaluator_->unpack(target.args.size(), v, &items);
    for (size_t i = 0; i < items.size(); ++i) items[i] = store(*target.args[i], items[i], name);
    return evaluator_->rt_.tuple(items);
  }

  Evaluator* evaluator_;
  const Stmt* s_;
  Frame* frame_;
  Iter* items_;
  bool entered_ = false;
};

namespace {

bool advance(Runtime& rt, Loop& loop) {
  Value item = std::exchange(loop.after, Value());
  if (item.is(Kind::kMissing) && !loop.items->next(rt, &item)) return false;
  ++loop.index0;
  loop.before = loop.current;
  loop.current = item;
  return true;
}

struct VectorItems final : Iter {
  VectorItems(const List* l) : list(l) {}
  bool next(Runtime&, Value* item) override {
    if (at == list->size) return false;
    *item = list->data[at++];
    return true;
  }
  const List* list;
  size_t at = 0;
};

}  // namespace

int64_t loop_length(Runtime& rt, Loop& loop) {
  if (loop.length >= 0) return loop.length;
  loop.length = length_of(loop.iterable);
  if (loop.length >= 0) return loop.length;
  std::vector<Value> rest;
  for (Value item; loop.items->next(rt, &item);) {
    rt.tick();
    rest.push_back(item);
  }
  loop.items = rt.arena().make<VectorItems>(rt.list(rest).list);
  loop.length =
      static_cast<int64_t>(rest.size()) + loop.index0 + 1 + (loop.after.is(Kind::kMissing) ? 0 : 1);
  return loop.length;
}

Iter* Evaluator::filtered(const Stmt& s, Frame& frame, Iter* items) {
  return rt_.arena().make<FilteredItems>(this, &s, new_frame(&frame, s.test_slots), items);
}

Evaluator::Flow Evaluator::for_loop(const Stmt& s, Frame& frame) {
  const Value items = eval(*s.iter, frame);
  rt_.line = s.line;
  if (s.recursive) {
    write(render_recursive(s, &frame, items, 0));
    return Flow::kNext;
  }
  Iter* source = iterate(rt_, items);
  if (s.test) source = filtered(s, frame, source);
  if (s.loop_ref.slot < 0) {
    return iterate_body(s, frame, source, nullptr);
  }
  Loop* loop = rt_.arena().make<Loop>();
  *loop =
      Loop{source, s.test ? Value() : items, -1, 0, -1, Value(), Value(), Value(), Value(), nullptr,
           nullptr};
  return iterate_body(s, frame, source, loop);
}

Value Evaluator::render_recursive(const Stmt& s, Frame* closure, const Value& items,
                                  int64_t depth0) {
  const DepthGuard guard(rt_);
  Frame& frame = *new_frame(closure, s.slots);
  Iter* source = iterate(rt_, items);
  if (s.test) source = filtered(s, *closure, source);
  Loop* loop = rt_.arena().make<Loop>();
  *loop =
      Loop{source, s.test ? Value() : items, -1, depth0, -1, Value(), Value(), Value(), Value(), &s,
           closure};
  Capture capture(*this);
  iterate_body(s, frame, source, loop);
  return rt_.text(capture.take());
}

Value Evaluator::call_loop(Loop& loop, const Value& items) {
  if (loop.recursive == nullptr)
    fail_type("the loop must have the 'recursive' marker to be called recursively");
  return render_recursive(*loop.recursive, loop.closure, items, loop.depth0 + 1);
}

Evaluator::Flow Evaluator::iterate_body(const Stmt& s, Frame& frame, Iter* items, Loop* loop) {
  Value loop_value = Value::of(Kind::kLoop);
  loop_value.loop = loop;
  bool to_the_end = false;  // of some iteration: as in jinja2, one that breaks or continues does
                            // not keep `else` away
  Value item;
  while (loop != nullptr ? advance(rt_, *loop) : items->next(rt_, &item)) {
    rt_.tick();
    assign(*s.target, loop != nullptr ? loop->current : item, frame, false);
    if (loop != nullptr) frame.slots[s.loop_ref.slot] = loop_value;
    enter(s.scope, frame);
    const Flow flow = body(s.body, frame);
    if (flow == Flow::kBreak) break;
    if (flow == Flow::kNext) to_the_end = true;
  }
  leave(s.scope, frame);
  if (to_the_end || s.else_body.empty()) return Flow::kNext;
  enter(s.else_scope, frame);
  const Flow flow = body(s.else_body, frame);
  leave(s.else_scope, frame);
  return flow;
}

}  // namespace spindrift::jinja
