#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/exec.h"
#include "core/result.h"
#include "core/rows.h"
#include "io/weight_store.h"
#include "kernels/contract.h"

namespace spindrift::nn {

// y = W x, plus a bias where the layer has one, with W [out, in] in some stored format. The format
// lives here and nowhere above. Const after load; views into the weight store must not outlive it.
class Linear {
 public:
  virtual ~Linear() = default;
  Linear(const Linear&) = delete;
  Linear& operator=(const Linear&) = delete;

  int64_t in() const { return in_; }
  int64_t out() const { return out_; }
  // Output columns `columns` of every row, on the calling thread. Row law.
  void columns(kernels::InRows x, kernels::OutRows y, kernels::Columns columns,
               const kernels::Table& kernels) const {
    do_columns(x, y, columns, kernels);
  }
  // The float32 values of output row `o` of W (embedding lookup, tests). row.size() == in.
  virtual void read_row(int64_t o, std::span<float> row) const = 0;
  // Output columns [first, first + count) as a linear of their own, for tensors that join several
  // layers (qkv_proj). Views the same bytes, not this object.
  virtual std::unique_ptr<Linear> slice(int64_t first, int64_t count) const = 0;
  // Name of the stored format as `inspect` shows it ("bf16", "nvfp4", ...) and its bytes, scales
  // included.
  virtual std::string_view format() const = 0;
  virtual int64_t bytes() const = 0;

 protected:
  Linear(int64_t out, int64_t in) : out_(out), in_(in) {}

 private:
  virtual void do_columns(kernels::InRows x, kernels::OutRows y, kernels::Columns columns,
                          const kernels::Table& kernels) const = 0;
  int64_t out_, in_;
};

// One product of a group that runs in a single parallel region (q, k, v and gate; the experts of a
// layer).
struct LinearCall {
  const Linear* linear = nullptr;
  kernels::InRows x;
  kernels::OutRows y;
};

// Runs all calls, split over threads by output columns weighted by bytes. y rows are overwritten.
void apply(std::span<const LinearCall> calls, const Exec& ex);
// y[r] = W x[r].
void apply(const Linear& linear, ConstRows x, Rows y, const Exec& ex);
// Adds one product over `rows` rows to the meter, as apply() does: for who calls columns() itself.
void count(const Linear& linear, int64_t rows, Meter& meter);

// Name of the format in which a linear layer is stored under `scope`, from names and dtypes alone;
// empty when there is none that can be read, or more than one. Integer codes are "int" or "affine"
// unless the layer's columns are given: then "int4", "int8", "affine4" or "affine8".
std::string_view stored_format(const WeightScope& scope, int64_t in = 0);
// Output rows of whatever linear layer is stored under `scope`, in any format; nullopt when there
// is none.
std::optional<int64_t> stored_rows(const WeightScope& scope);
// Format of the linear layer, of `in` columns if given, that the tensor `name` is part of; its own
// dtype ("bf16") when it is part of none. The store has that tensor.
std::string tensor_format(WeightStore& store, std::string_view name, int64_t in = 0);

// Whether a layer's `bias` tensor is read. kNone leaves one that is there unread, for the loader's
// final check to find.
enum class Bias : uint8_t { kNone, kRequired, kIfPresent };

// Reads the linear layer stored under `scope` ("...q_proj"): its format is decided from the tensors
// that are present and their dtypes (formats.h lists them). Errors name the tensor, what was
// expected and what was found.
Result<std::unique_ptr<Linear>> load_linear(const WeightScope& scope, int64_t out, int64_t in,
                                            Bias bias = Bias::kNone);

// Reads `count` linear layers of one size that are stacked in the tensors under `scope`, each with
// a first dimension of `count` ("...switch_mlp.gate_proj": weight [count, out, in]). A float tensor
// that has the scope's own name is such a stack, too ("...experts.gate_up_proj", with no leaf). The
// layers view the tensors in place.
Result<std::vector<std::unique_ptr<Linear>>> load_stacked(const WeightScope& scope, int64_t count,
                                                          int64_t out, int64_t in);

}  // namespace spindrift::nn
