#pragma once

#include <cstdint>
#include <ctime>
#include <string>
#include <string_view>
#include <vector>

#include "chat/jinja/arena.h"
#include "chat/jinja/value.h"
#include "core/stack.h"

namespace spindrift::jinja {

// What one render may cost. The defaults end an endless loop well within a second; a conversation
// of a thousand messages needs a few per cent of them.
struct Limits {
  int64_t steps =
      5'000'000;     // nodes evaluated, items visited, and text scanned (64 bytes = 1 step)
  int depth = 1200;  // nested evaluations: about 170 macro calls, as in CPython
  size_t memory = size_t{64} << 20;  // bytes of values made
  size_t output = size_t{32} << 20;  // bytes of rendered text, captured blocks included
  size_t text = size_t{16} << 20;    // bytes of one value
};

class Callee;  // evaluates calls of template macros; the evaluator

// The state of one render: memory, budget and clock.
class Runtime {
 public:
  explicit Runtime(const Limits& limits)
      : limits_(limits), arena_(limits.memory), steps_left_(limits.steps) {}

  Arena& arena() { return arena_; }
  const Limits& limits() const { return limits_; }

  void tick(int64_t steps = 1) {
    steps_left_ -= steps;
    if (steps_left_ < 0) out_of_steps();
  }
  void scanned(size_t bytes) { tick(1 + static_cast<int64_t>(bytes / 64)); }

  // Text. `view` is copied; it must be valid UTF-8.
  const Str* str(std::string_view view, bool markup = false);
  // Text that already lives in this arena or outlives it.
  const Str* borrow(std::string_view view, bool markup = false);
  Value text(std::string_view view, bool markup = false) { return Value::of(str(view, markup)); }
  const Str* concat(const Str& a, const Str& b, bool markup = false);
  Value character(std::string_view utf8) { return text(utf8); }

  Value list(std::span<const Value> items) { return sequence(Kind::kList, items); }
  Value tuple(std::span<const Value> items) { return sequence(Kind::kTuple, items); }
  Value whole(const BigInt& value);
  Value undefined(std::string message, bool unsafe = false);
  Value undefined_name(std::string_view name);
  // A generator value over an Iter made with arena().make.
  static Value generator(Iter* iter);

  int line = 0;      // of the template, for error messages
  std::tm now = {};  // what strftime_now tells
  int microseconds = 0;
  Callee* callee = nullptr;

 private:
  friend class DepthGuard;
  Value sequence(Kind kind, std::span<const Value> items);
  [[noreturn]] void out_of_steps() const;
  Limits limits_;
  Arena arena_;
  int64_t steps_left_;
  int depth_ = 0;
};

// Counts one level of recursion for as long as it lives.
class DepthGuard {
 public:
  explicit DepthGuard(Runtime& rt) : rt_(rt) {
    if (++rt_.depth_ > rt_.limits_.depth || stack_is_low()) too_deep();
  }
  ~DepthGuard() { --rt_.depth_; }
  DepthGuard(const DepthGuard&) = delete;
  DepthGuard& operator=(const DepthGuard&) = delete;

 private:
  [[noreturn]] void too_deep();
  Runtime& rt_;
};

// Fails the way using an undefined value does.
[[noreturn]] void fail_undefined(const Value& v);
[[noreturn]] void fail_type(const std::string& what);

}  // namespace spindrift::jinja
