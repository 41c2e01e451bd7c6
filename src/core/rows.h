#pragma once

#include <cstdint>
#include <span>

namespace spindrift {

// A non-owning matrix of rows with unit column stride: [rows, cols], `stride` elements from one row
// to the next.
template <class T>
class RowsView {
 public:
  RowsView() = default;
  RowsView(T* data, int64_t rows, int64_t cols, int64_t stride)
      : data_(data), rows_(rows), cols_(cols), stride_(stride) {}
  RowsView(T* data, int64_t rows, int64_t cols) : RowsView(data, rows, cols, cols) {}
  operator RowsView<const T>() const { return {data_, rows_, cols_, stride_}; }

  int64_t rows() const { return rows_; }
  int64_t cols() const { return cols_; }
  int64_t stride() const { return stride_; }
  T* data() const { return data_; }
  std::span<T> row(int64_t r) const { return {data_ + r * stride_, static_cast<size_t>(cols_)}; }
  // Rows [first, first + count).
  RowsView slice(int64_t first, int64_t count) const {
    return {data_ + first * stride_, count, cols_, stride_};
  }
  // Columns [first, first + count) of every row.
  RowsView columns(int64_t first, int64_t count) const {
    return {data_ + first, rows_, count, stride_};
  }

 private:
  T* data_ = nullptr;
  int64_t rows_ = 0, cols_ = 0, stride_ = 0;
};

using Rows = RowsView<float>;
using ConstRows = RowsView<const float>;

}  // namespace spindrift
