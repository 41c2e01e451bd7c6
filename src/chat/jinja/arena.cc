#include "chat/jinja/arena.h"

#include <algorithm>

namespace spindrift::jinja {

namespace {
constexpr size_t kFirstBlock = size_t{16} << 10;
constexpr size_t kLargestBlock = size_t{1} << 20;
constexpr size_t kTailWorthKeeping = 256;  // bytes; shorter results are simply copied
}  // namespace

void Arena::exhausted() {
  fail_limit("the template needs more memory than a chat template may use");
}

void Arena::refill(size_t bytes) {
  const size_t wanted =
      std::max(bytes, std::min(kLargestBlock, kFirstBlock << std::min<size_t>(blocks_.size(), 6)));
  if (bytes > limit_ || used_ > limit_ - bytes) exhausted();
  used_ += wanted;
  blocks_.push_back(std::unique_ptr<char[]>(new char[wanted]));
  next_ = blocks_.back().get();
  room_ = wanted;
}

const char* Arena::join(std::string_view left, std::string_view right) {
  for (Tail& tail : tails_) {
    if (left.empty() || tail.end != left.data() + left.size() || tail.room < right.size()) continue;
    std::memcpy(const_cast<char*>(tail.end), right.data(), right.size());
    tail.end += right.size();
    tail.room -= right.size();
    return left.data();
  }
  const size_t size = left.size() + right.size();
  const size_t capacity = size < kTailWorthKeeping ? size : 2 * size;
  char* at = array<char>(capacity);
  if (!left.empty()) std::memcpy(at, left.data(), left.size());
  if (!right.empty()) std::memcpy(at + left.size(), right.data(), right.size());
  if (capacity > size) {
    tails_[next_tail_] = Tail{at + size, capacity - size};
    next_tail_ = (next_tail_ + 1) % std::size(tails_);
  }
  return at;
}

}  // namespace spindrift::jinja
