#include "nn/norm.h"

#include <utility>

#include "core/check.h"
#include "kernels/contract.h"
#include "nn/float_tensor.h"
#include "nn/parallel.h"
#include "nn/to_float.h"

namespace spindrift::nn {

RmsNorm::RmsNorm(std::vector<float> weight, float eps) : weight_(std::move(weight)), eps_(eps) {}

int64_t RmsNorm::size() const { return static_cast<int64_t>(weight_.size()); }

void RmsNorm::apply(ConstRows x, Rows y, const Exec& ex) const {
  SPINDRIFT_CHECK(x.cols() == size() && y.cols() == size() && x.rows() == y.rows(),
                  "rows have the norm's size");
  for_rows(ex, x.rows(), x.cols(), [&](int64_t first, int64_t last) {
    for (int64_t r = first; r < last; ++r) ex.kernels->rms_norm(x.row(r), weight_, eps_, y.row(r));
  });
}

void RmsNorm::apply_per_head(Rows x, const Exec& ex) const {
  SPINDRIFT_CHECK(x.cols() % size() == 0, "rows are whole heads");
  for_rows(ex, x.rows(), x.cols(), [&](int64_t first, int64_t last) {
    for (int64_t r = first; r < last; ++r) {
      for (size_t at = 0; at < static_cast<size_t>(x.cols()); at += weight_.size()) {
        const std::span<float> head = x.row(r).subspan(at, weight_.size());
        ex.kernels->rms_norm(head, weight_, eps_, head);
      }
    }
  });
}

LayerNorm::LayerNorm(std::vector<float> weight, std::vector<float> bias, float eps)
    : weight_(std::move(weight)), bias_(std::move(bias)), eps_(eps) {}

int64_t LayerNorm::size() const { return static_cast<int64_t>(weight_.size()); }

void LayerNorm::apply(ConstRows x, Rows y, const Exec& ex) const {
  SPINDRIFT_CHECK(x.cols() == size() && y.cols() == size() && x.rows() == y.rows(),
                  "rows have the norm's size");
  for_rows(ex, x.rows(), x.cols(), [&](int64_t first, int64_t last) {
    for (int64_t r = first; r < last; ++r)
      ex.kernels->layer_norm(x.row(r), weight_, bias_, eps_, y.row(r));
  });
}

Result<RmsNorm> load_rms_norm(const WeightScope& scope, int64_t size, float eps) {
  SPINDRIFT_TRY(std::vector<float> weight, load_vector(scope, "weight", size));
  return RmsNorm(std::move(weight), eps);
}

Result<LayerNorm> load_layer_norm(const WeightScope& scope, int64_t size, float eps) {
  SPINDRIFT_TRY(std::vector<float> weight, load_vector(scope, "weight", size));
  SPINDRIFT_TRY(std::vector<float> bias, load_vector(scope, "bias", size));
  return LayerNorm(std::move(weight), std::move(bias), eps);
}

Result<std::vector<float>> load_vector(const WeightScope& scope, std::string_view leaf,
                                       int64_t size) {
  SPINDRIFT_TRY(const TensorView view, get_float(scope, leaf, std::span(&size, 1)));
  std::vector<float> values(static_cast<size_t>(size));
  to_float(view.dtype, view.bytes, values);
  return values;
}

}  // namespace spindrift::nn
