#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "chat/jinja/error.h"

namespace spindrift::jinja {

// Memory of one render (or of one parsed template): values are allocated here, never freed one by
// one, and all go at once. No cycle can leak and no deep value can overflow the stack when it dies.
// Throws TemplateError above `limit`.
class Arena {
 public:
  explicit Arena(size_t limit) : limit_(limit) {}
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  void* allocate(size_t bytes) {
    bytes = (bytes + 15) & ~size_t{15};
    if (bytes > room_) refill(bytes);
    void* at = next_;
    next_ += bytes;
    room_ -= bytes;
    return at;
  }
  template <class T, class... A>
  T* make(A&&... args) {
    static_assert(std::is_trivially_destructible_v<T>, "an arena runs no destructors");
    return new (allocate(sizeof(T))) T{std::forward<A>(args)...};
  }
  template <class T>
  T* array(size_t count) {
    static_assert(std::is_trivially_destructible_v<T> && std::is_trivially_copyable_v<T>);
    if (count > limit_ / sizeof(T)) exhausted();
    return static_cast<T*>(allocate(count * sizeof(T)));
  }
  char* copy(std::string_view text) {
    char* at = array<char>(text.size());
    if (!text.empty()) std::memcpy(at, text.data(), text.size());
    return at;
  }
  // The bytes of `left` followed by `right`. A text built up piece by piece is extended in place:
  // each of a few open tails keeps room behind it, so accumulating n bytes costs O(n), not O(n *
  // pieces).
  const char* join(std::string_view left, std::string_view right);

 private:
  struct Tail {
    const char* end = nullptr;
    size_t room = 0;
  };
  void refill(size_t bytes);
  [[noreturn]] static void exhausted();

  size_t limit_;
  size_t used_ = 0;
  char* next_ = nullptr;
  size_t room_ = 0;
  std::vector<std::unique_ptr<char[]>> blocks_;
  Tail tails_[4];
  size_t next_tail_ = 0;
};

}  // namespace spindrift::jinja
