#include "kernels/attention_walk.h"

#include <algorithm>

#include "core/dtype.h"

namespace spindrift::kernels {
namespace {

// Where position 0 would be stored: equal for segments of the same stretch of memory.
uintptr_t origin(const std::byte* data, const KeySegment& s) {
  return reinterpret_cast<uintptr_t>(data) -
         static_cast<uintptr_t>(s.first * s.position_stride * dtype_bytes(s.dtype));
}

bool same_memory(const KeySegment& a, const KeySegment& b) {
  return a.dtype == b.dtype && a.position_stride == b.position_stride &&
         a.head_stride == b.head_stride && origin(a.keys, a) == origin(b.keys, b) &&
         origin(a.values, a) == origin(b.values, b);
}

Position end(const KeySegment& s) { return s.first + s.count; }

}  // namespace

bool AttentionWalk::next(SharedKeys& shared) {
  shared.parts = 0;
  for (size_t r = 0; r < rows_.size(); ++r) {
    if (segment_[r] == rows_[r].segments.size()) continue;
    const KeySegment& s = rows_[r].segments[segment_[r]];
    if (shared.parts == 0) {
      shared.keys = s;
    } else {
      // Only memory that some row sees may be read, so the joined range has no holes.
      const bool touches = s.first <= end(shared.keys) && end(s) >= shared.keys.first;
      if (!touches || !same_memory(s, shared.keys)) continue;
      const Position last = std::max(end(shared.keys), end(s));
      if (s.first < shared.keys.first) shared.keys = s;
      shared.keys.count = last - shared.keys.first;
    }
    shared.part[shared.parts++] = {r, s.first, end(s), slot_[r]};
    slot_[r] += s.count;
    ++segment_[r];
  }
  return shared.parts != 0;
}

int64_t visible_keys(const AttentionRow& row) {
  int64_t keys = 0;
  for (const KeySegment& s : row.segments) keys += s.count;
  return keys;
}

}  // namespace spindrift::kernels
