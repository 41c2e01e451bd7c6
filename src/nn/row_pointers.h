#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "core/rows.h"

namespace spindrift::nn {

// The row pointers of a matrix, as kernels take them; no heap for the few rows of a decode step.
template <class T>
class RowPointers {
 public:
  explicit RowPointers(RowsView<T> rows) : count_(static_cast<size_t>(rows.rows())) {
    T** to = inline_.data();
    if (count_ > inline_.size()) {
      heap_.resize(count_);
      to = heap_.data();
    }
    for (size_t r = 0; r < count_; ++r)
      to[r] = rows.data() + static_cast<int64_t>(r) * rows.stride();
  }
  RowPointers(const RowPointers&) = delete;
  RowPointers& operator=(const RowPointers&) = delete;

  operator std::span<T* const>() const {
    return {count_ > inline_.size() ? heap_.data() : inline_.data(), count_};
  }

 private:
  size_t count_;
  std::array<T*, 24> inline_;
  std::vector<T*> heap_;
};

using InPointers = RowPointers<const float>;
using OutPointers = RowPointers<float>;

}  // namespace spindrift::nn
