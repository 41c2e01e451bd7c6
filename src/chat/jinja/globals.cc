// Global functions: jinja2's own, and the two that transformers adds.
#include <algorithm>
#include <cstdio>

#include "chat/jinja/builtins.h"
#include "core/utf8.h"

namespace spindrift::jinja {
namespace {

constexpr int64_t kMaxRange = 100000;  // the sandbox's

Value range(Runtime& rt, const Arguments& args) {
  if (!args.named.empty() || args.positional.empty() || args.positional.size() > 3)
    fail_type("range takes one to three whole numbers");
  int64_t bounds[3] = {0, 0, 1};
  const size_t count = args.positional.size();
  for (size_t i = 0; i < count; ++i) {
    const int64_t v = index_of(args.positional[i], "a range bound");
    constexpr int64_t kFar =
        int64_t{1} << 40;  // keeps the arithmetic below exact; no shorter range lies beyond
    if (v > kFar || v < -kFar) fail("range: a bound is too large");
    bounds[count == 1 ? 1 : i] = v;
  }
  if (bounds[2] == 0) fail("range: the step must not be zero");
  Value v = Value::of(Kind::kRange);
  v.range = rt.arena().make<Range>(bounds[0], bounds[1], bounds[2]);
  if (v.range->size() > kMaxRange)
    fail("range too big: the sandbox blocks ranges of more than 100000 items");
  return v;
}

// dict(mapping or pairs, name=value ...), in order.
void fill(Runtime& rt, const char* function, const Arguments& args, DictBuilder* dict) {
  if (args.positional.size() > 1)
    fail_type(std::string(function) + " takes at most one positional argument");
  if (!args.positional.empty()) {
    const Value& from = args.positional[0];
    if (from.is(Kind::kDict)) {
      for (const Dict::Entry& entry : from.dict->items()) dict->set(entry.key, entry.value);
    } else {
      for (const Value& item : to_vector(rt, from)) {
        const std::vector<Value> pair = to_vector(rt, item);
        if (pair.size() != 2) fail(std::string(function) + " needs pairs");
        dict->set(pair[0], pair[1]);
      }
    }
  }
  for (const auto& [name, value] : args.named) dict->set(Value::of(name), value);
}

Value dict(Runtime& rt, const Arguments& args) {
  DictBuilder builder(rt);
  fill(rt, "dict", args, &builder);
  return Value::of(builder.build());
}

Value namespace_function(Runtime& rt, const Arguments& args) {
  DictBuilder builder(rt);
  fill(rt, "namespace", args, &builder);
  Value v = Value::of(Kind::kNamespace);
  v.ns = rt.arena().make<Namespace>(nullptr, size_t{0}, size_t{0});
  for (const Dict::Entry& entry : builder.build()->items()) {
    if (!entry.key.is_str()) fail_type("namespace attributes must have text names");
    assign(rt, *v.ns, entry.key.str, entry.value);
  }
  return v;
}

Value cycler(Runtime& rt, const Arguments& args) {
  if (!args.named.empty()) fail_type("cycler takes no keyword arguments");
  if (args.positional.empty()) fail("cycler: at least one item has to be provided");
  Value v = Value::of(Kind::kCycler);
  v.cycler = rt.arena().make<Cycler>(rt.tuple(args.positional).list, size_t{0});
  return v;
}

Value joiner(Runtime& rt, const Arguments& args) {
  const Bound bound("joiner", args, 0, {"sep"});
  Value v = Value::of(Kind::kJoiner);
  const Str* separator = bound.get(0) == nullptr ? rt.str(", ") : rt.str(to_str(rt, *bound.get(0)));
  v.joiner = rt.arena().make<Joiner>(separator, false);
  return v;
}

Value lipsum(Runtime&, const Arguments&) { fail("lipsum is not supported: its result is random"); }

Value raise_exception(Runtime& rt, const Arguments& args) {
  const Bound bound("raise_exception", args, 0, {"message"});
  fail("the template refuses: " + to_str(rt, bound.require(0)));
}

// datetime.now().strftime(format): the C library's directives, %f of Python, and nothing for a
// zone, which a naive datetime has not.
Value strftime_now(Runtime& rt, const Arguments& args) {
  const Bound bound("strftime_now", args, 0, {"format"});
  const Value& format_value = bound.require(0);
  if (!format_value.is_str())
    fail_type("strftime_now needs a text, found " + type_name(format_value));
  std::string format;
  const std::string_view given = format_value.text();
  if (given.size() > 1024) fail_limit("strftime_now: the format is too long");
  for (size_t i = 0; i < given.size(); ++i) {
    if (given[i] != '%' || i + 1 == given.size()) {
      format.push_back(given[i]);
      continue;
    }
    const char directive = given[++i];
    if (directive == 'f') {
      char digits[8];
      std::snprintf(digits, sizeof digits, "%06d", std::clamp(rt.microseconds, 0, 999999));
      format.append(digits);
    } else if (directive != 'z' && directive != 'Z') {
      format.push_back('%');
      format.push_back(directive);
    }
  }
  format.push_back(
      '.');  // strftime returns 0 both for an empty result and for one that does not fit
  std::string out(16 * format.size() + 64, '\0');
  const size_t size = std::strftime(out.data(), out.size(), format.c_str(), &rt.now);
  if (size == 0) fail("strftime_now: the result is too long");
  const std::string_view text = std::string_view(out).substr(0, size - 1);
  if (!valid_utf8(text)) fail("strftime_now: the result is not UTF-8");
  return rt.text(text);
}

constexpr Function kGlobals[] = {
    {"range", range},
    {"dict", dict},
    {"namespace", namespace_function},
    {"cycler", cycler},
    {"joiner", joiner},
    {"raise_exception", raise_exception},
    {"lipsum", lipsum},
    {"strftime_now", strftime_now},
};

}  // namespace

const Function* find_global(std::string_view name) {
  for (const Function& f : kGlobals)
    if (name == f.name) return &f;
  return nullptr;
}

}  // namespace spindrift::jinja
