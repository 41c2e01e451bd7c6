#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "io/weight_store.h"
#include "nn/quantization_claims.h"

namespace spindrift {

// Compares the names and shapes in a checkpoint's headers with what a config asks for, without
// reading weights.
class HeaderCheck {
 public:
  explicit HeaderCheck(const WeightStore& store) : store_(store) {}

  // A linear layer of `rows` output rows and `columns` inputs, in any format.
  void linear(const WeightScope& scope, int64_t rows, int64_t columns);
  // A vector of `size` elements.
  void vector(const WeightScope& scope, std::string_view leaf, int64_t size);
  // Tensors directly under `scope` may be there.
  void allow(const WeightScope& scope) { known_.insert(scope.prefix); }

  // What was found wrong, tensors that nobody asked for included; one line each, at most 20.
  std::vector<std::string> problems();
  // Every linear layer that was asked for.
  const std::vector<nn::LinearLayer>& linears() const { return linears_; }

 private:
  void note(const std::string& what);

  const WeightStore& store_;
  std::set<std::string, std::less<>> known_;  // scopes
  std::vector<nn::LinearLayer> linears_;
  std::vector<std::string> problems_;
};

}  // namespace spindrift
