#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>

#include "core/check.h"

namespace spindrift {

// What kind of failure an input caused. The command line maps codes to exit codes, the server to
// HTTP statuses.
enum class ErrorCode : uint8_t {
  kInvalid,      // the input breaks its format or a rule; nothing can be done with it
  kUnsupported,  // well formed, but a variant that is refused by name
  kNotFound,     // a file, tensor or key is absent
  kCorrupt,      // contents contradict themselves (lengths, checksums, offsets)
  kIo,           // the operating system refused
  kLimit,        // the request does not fit: context, memory budget, queue
  kUsage,        // the caller asked for something outside the contract (a token id outside the
                 // vocabulary)
  kBusy,         // no room at the moment; the same request may be accepted later
  kStopping,     // refused because the engine is being shut down
  kTimeout,      // the request's own deadline passed
};

// message: what, where (file, tensor or key), expected, found. One line. `hint` is a next step, or
// empty.
struct Error {
  ErrorCode code = ErrorCode::kInvalid;
  std::string message;
  std::string hint = {};
};

// A value or an Error: a C++20 subset of std::expected. Reading value() of an error stops the
// program: it is our bug.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : v_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : v_(std::in_place_index<1>, std::move(error)) {}
  bool ok() const { return v_.index() == 0; }
  T& value() & {
    SPINDRIFT_CHECK(ok(), "value() of an error");
    return std::get<0>(v_);
  }
  const T& value() const& {
    SPINDRIFT_CHECK(ok(), "value() of an error");
    return std::get<0>(v_);
  }
  T value() && {  // by value, so that a loop over it keeps it alive
    SPINDRIFT_CHECK(ok(), "value() of an error");
    return std::get<0>(std::move(v_));
  }
  const Error& error() const {
    SPINDRIFT_CHECK(!ok(), "error() of a value");
    return std::get<1>(v_);
  }

 private:
  std::variant<T, Error> v_;
};

using Status = Result<std::monostate>;
inline Status ok_status() { return std::monostate{}; }

}  // namespace spindrift

#define SPINDRIFT_CONCAT_INNER(a, b) a##b
#define SPINDRIFT_CONCAT(a, b) SPINDRIFT_CONCAT_INNER(a, b)
// SPINDRIFT_TRY(auto x, expression): declares x from the value, or returns the error from the
// enclosing function.
#define SPINDRIFT_TRY(declaration, ...) \
  SPINDRIFT_TRY_INNER(SPINDRIFT_CONCAT(spindrift_try_, __LINE__), declaration, __VA_ARGS__)
#define SPINDRIFT_TRY_INNER(tmp, declaration, ...) \
  auto tmp = (__VA_ARGS__);                        \
  if (!tmp.ok()) return tmp.error();               \
  declaration = std::move(tmp).value()
// The same for a Status whose value carries nothing.
#define SPINDRIFT_TRY_STATUS(...)                                      \
  do {                                                                 \
    if (auto spindrift_status = (__VA_ARGS__); !spindrift_status.ok()) \
      return spindrift_status.error();                                 \
  } while (false)
