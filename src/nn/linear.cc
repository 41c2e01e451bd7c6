#include "nn/linear.h"

#include <algorithm>
#include <string>
#include <utility>

#include "core/check.h"
#include "core/meter.h"
#include "nn/float_tensor.h"
#include "nn/formats.h"
#include "nn/norm.h"
#include "nn/parallel.h"
#include "nn/row_pointers.h"

namespace spindrift::nn {
namespace {

// Every format that can be read. Names and dtypes keep them apart: at most one claims a layer.
const LinearFormat* const kFormats[] = {&kDenseFormats[0], &kDenseFormats[1], &kDenseFormats[2],
                                        &kNvfp4Format,     &kMlxNvfp4Format,  &kFp8Format,
                                        &kIntFormat,       &kAffineFormat};

constexpr int64_t kColumnTile =
    16;  // shares begin at whole tiles, so kernels seldom see a ragged one

// Time of one output column, roughly: its bytes are read once, its products done for every row; a
// byte takes as long as some eight products.
int64_t column_cost(const LinearCall& call) {
  const Linear& linear = *call.linear;
  return linear.bytes() / linear.out() + linear.in() * static_cast<int64_t>(call.x.size()) / 8 + 1;
}

// The column of `call` where the work up to `mark` ends; the call itself begins at `start`.
int64_t column_at(const LinearCall& call, int64_t start, int64_t mark) {
  const int64_t out = call.linear->out();
  const int64_t column = (mark - start) / column_cost(call);
  if (mark <= start) return 0;
  // Past the end is the end: a ragged last tile belongs to the share before.
  return column >= out ? out : column - column % kColumnTile;
}

// Tensors that only quantised layers have. One beside a format that does not know it is part of a
// form that is not read (zero points, a reordering) or a leftover of another one.
constexpr std::string_view kQuantisedLeaves[] = {
    "biases",       "scales",           "weight_g_idx",      "weight_global_scale", "weight_packed",
    "weight_scale", "weight_scale_inv", "weight_zero_point", "weight_shape"};

Status check_no_other_form(const LinearFormat& format, const WeightScope& scope) {
  const auto lists = [](std::span<const std::string_view> leaves, std::string_view leaf) {
    return std::find(leaves.begin(), leaves.end(), leaf) != leaves.end();
  };
  for (const std::string_view name : scope.store->names(scope.prefix + '.')) {
    const std::string_view leaf = name.substr(scope.prefix.size() + 1);
    if (!lists(kQuantisedLeaves, leaf) || lists(format.leaves, leaf)) continue;
    return scope.mismatch(leaf, "nothing beside " + std::string(format.expected));
  }
  return ok_status();
}

// The one format that claims the tensors under `scope`.
Result<const LinearFormat*> format_of(const WeightScope& scope) {
  const LinearFormat* found = nullptr;
  for (const LinearFormat* format : kFormats) {
    if (!format->claims(scope)) continue;
    if (found != nullptr) {
      return Error{ErrorCode::kInvalid,
                   scope.store->where() + ": layer `" + scope.prefix +
                       "`: expected the tensors of one format, found those of " +
                       std::string(found->name) + " and of " + std::string(format->name)};
    }
    found = format;
  }
  if (found != nullptr) {
    SPINDRIFT_TRY_STATUS(check_no_other_form(*found, scope));
    return found;
  }
  std::string expected, present;
  for (const LinearFormat* format : kFormats)
    expected.append(expected.empty() ? "" : " or ").append(format->expected);
  for (const std::string_view name : scope.store->names(scope.prefix + '.')) {
    if (present.size() > 200) break;
    const TensorInfo& info = *scope.store->find(name);
    present.append(present.empty() ? "" : ", ").append(name.substr(scope.prefix.size() + 1));
    present.append(" ").append(dtype_name(info.dtype));
  }
  return Error{present.empty() ? ErrorCode::kNotFound : ErrorCode::kUnsupported,
               scope.store->where() + ": layer `" + scope.prefix + "`: expected " + expected +
                   ", found " + (present.empty() ? "nothing" : present)};
}

// A stack in the tensor that has the scope's own name, as plain float elements.
Result<std::unique_ptr<Linear>> load_bare_stack(const WeightScope& scope, LinearSize size) {
  const DType stored = scope.store->find(scope.prefix)->dtype;
  const DType dtype =
      is_float(stored) ? stored : DType::kBf16;  // anything else: reported as bf16's
  SPINDRIFT_TRY(const TensorView tensor,
                scope.store->get(scope.prefix, dtype, size.shape(size.in)));
  return dense_linear(dtype, tensor.bytes, {.out = size.rows(), .in = size.in});
}

}  // namespace

void apply(std::span<const LinearCall> calls, const Exec& ex) {
  int64_t total = 0;
  for (const LinearCall& call : calls) {
    SPINDRIFT_DCHECK(call.x.size() == call.y.size(), "one output row an input row");
    if (call.x.empty()) continue;
    total += column_cost(call) * call.linear->out();
    if (ex.meter != nullptr) count(*call.linear, std::ssize(call.x), *ex.meter);
  }
  const int64_t shares = total < kWorthSharing ? 1 : share_count(ex);
  const auto run_share = [&](int64_t first, int64_t last) {
    const int64_t begin = total * first / shares, end = total * last / shares;
    int64_t start = 0;
    for (const LinearCall& call : calls) {
      if (call.x.empty()) continue;
      const int64_t after = start + column_cost(call) * call.linear->out();
      const kernels::Columns columns{
          column_at(call, start, begin),
          end >= after ? call.linear->out() : column_at(call, start, end)};
      if (columns.first < columns.last) call.linear->columns(call.x, call.y, columns, *ex.kernels);
      start = after;
    }
  };
  for_cells(ex, shares, run_share);
}

void count(const Linear& linear, int64_t rows, Meter& meter) {
  meter.weight_bytes += linear.bytes();
  meter.linear_multiply_adds += linear.out() * linear.in() * rows;
}

void apply(const Linear& linear, ConstRows x, Rows y, const Exec& ex) {
  SPINDRIFT_CHECK(x.cols() == linear.in() && y.cols() == linear.out() && x.rows() == y.rows(),
                  "rows have the layer's sizes");
  const InPointers in(x);
  const OutPointers out(y);
  const LinearCall call{&linear, in, out};
  apply(std::span(&call, 1), ex);
}

std::span<const LinearFormat* const> linear_formats() { return kFormats; }

std::string_view stored_format(const WeightScope& scope, int64_t in) {
  const LinearFormat* found = nullptr;
  for (const LinearFormat* format : kFormats) {
    if (!format->claims(scope)) continue;
    if (found != nullptr) return {};
    found = format;
  }
  if (found == nullptr) return {};
  return in > 0 && found->variant != nullptr ? found->variant(scope, in) : found->name;
}

std::optional<int64_t> stored_rows(const WeightScope& scope) {
  for (const std::string_view leaf : {"weight", "weight_packed"}) {
    const TensorInfo* info = scope.find(leaf);
    if (info != nullptr && !info->shape.empty()) return info->shape[0];
  }
  return std::nullopt;
}

std::string tensor_format(WeightStore& store, std::string_view name, int64_t in) {
  const WeightScope layer{&store, std::string(name.substr(0, name.rfind('.')))};
  if (const std::string_view format = stored_format(layer, in); !format.empty())
    return std::string(format);
  std::string dtype(dtype_name(store.find(name)->dtype));
  std::transform(dtype.begin(), dtype.end(), dtype.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return dtype;
}

Result<std::unique_ptr<Linear>> load_linear(const WeightScope& scope, int64_t out, int64_t in,
                                            Bias bias) {
  SPINDRIFT_TRY(const LinearFormat* format, format_of(scope));
  std::vector<float> bias_values;
  if (bias == Bias::kRequired || (bias == Bias::kIfPresent && scope.has("bias"))) {
    SPINDRIFT_TRY(bias_values, load_vector(scope, "bias", out));
  }
  return format->load(scope, {.out = out, .in = in}, std::move(bias_values));
}

Result<std::vector<std::unique_ptr<Linear>>> load_stacked(const WeightScope& scope, int64_t count,
                                                          int64_t out, int64_t in) {
  const LinearSize size{.out = out, .in = in, .stack = count};
  std::unique_ptr<Linear> tall;
  if (scope.store->has(scope.prefix)) {
    SPINDRIFT_TRY(tall, load_bare_stack(scope, size));
  } else {
    SPINDRIFT_TRY(const LinearFormat* format, format_of(scope));
    if (!format->stacks) {
      return Error{ErrorCode::kUnsupported, scope.store->where() + ": layers `" + scope.prefix +
                                                "`: expected a format that stacks layers, found " +
                                                std::string(format->name)};
    }
    SPINDRIFT_TRY(tall, format->load(scope, size, {}));
  }
  std::vector<std::unique_ptr<Linear>> layers;
  layers.reserve(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) layers.push_back(tall->slice(i * out, out));
  return layers;
}

}  // namespace spindrift::nn
