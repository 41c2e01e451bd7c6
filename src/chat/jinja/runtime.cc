#include "chat/jinja/runtime.h"

#include "chat/jinja/text.h"

namespace spindrift::jinja {

void Runtime::out_of_steps() const {
  fail_limit("the template does not end: it took more than " + std::to_string(limits_.steps) +
             " steps");
}

void DepthGuard::too_deep() {
  --rt_.depth_;
  const bool low = rt_.depth_ < rt_.limits_.depth;
  fail_limit("the template nests too deep: more evaluations inside each other than " +
             (low ? "the stack holds" : std::to_string(rt_.limits_.depth)));
}

const Str* Runtime::str(std::string_view view, bool markup) {
  if (view.size() > limits_.text) fail_limit("a text in the template grew too large");
  scanned(view.size());
  return arena_.make<Str>(arena_.copy(view), view.size(), count_code_points(view), markup);
}

const Str* Runtime::borrow(std::string_view view, bool markup) {
  scanned(view.size());
  return arena_.make<Str>(view.data(), view.size(), count_code_points(view), markup);
}

const Str* Runtime::concat(const Str& a, const Str& b, bool markup) {
  const size_t size = a.size + b.size;
  if (size > limits_.text) fail_limit("a text in the template grew too large");
  scanned(b.size);
  return arena_.make<Str>(arena_.join(a.view(), b.view()), size, a.length + b.length, markup);
}

Value Runtime::sequence(Kind kind, std::span<const Value> items) {
  tick(static_cast<int64_t>(items.size() / 8));
  Value* data = arena_.array<Value>(items.size());
  std::copy(items.begin(), items.end(), data);
  Value v = Value::of(kind);
  v.list = arena_.make<List>(data, items.size(), false);
  return v;
}

Value Runtime::whole(const BigInt& value) {
  tick(static_cast<int64_t>(value.limbs().size()));
  if (const auto small = value.to_int64()) return Value::of(*small);
  uint32_t* limbs = arena_.array<uint32_t>(value.limbs().size());
  std::copy(value.limbs().begin(), value.limbs().end(), limbs);
  Value v = Value::of(Kind::kBig);
  v.big =
      arena_.make<BigLimbs>(limbs, static_cast<uint32_t>(value.limbs().size()), value.negative());
  return v;
}

Value Runtime::undefined(std::string message, bool unsafe) {
  Value v = Value::of(Kind::kUndefined);
  v.undefined = arena_.make<UndefinedInfo>(str(message), unsafe);
  return v;
}

Value Runtime::undefined_name(std::string_view name) {
  return undefined("'" + std::string(name) + "' is undefined");
}

Value Runtime::generator(Iter* iter) {
  Value v = Value::of(Kind::kIter);
  v.iter = iter;
  return v;
}

void fail_undefined(const Value& v) { fail(std::string(v.undefined->message->view())); }
void fail_type(const std::string& what) { fail(what); }

}  // namespace spindrift::jinja
