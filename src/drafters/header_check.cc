#include "drafters/header_check.h"

#include <utility>

#include "nn/linear.h"

namespace spindrift {

constexpr size_t kMaxProblems = 20;

void HeaderCheck::note(const std::string& what) {
  if (problems_.size() < kMaxProblems) problems_.push_back(store_.where() + ": " + what);
}

void HeaderCheck::linear(const WeightScope& scope, int64_t rows, int64_t columns) {
  allow(scope);
  linears_.push_back({.scope = scope, .in = columns});
  if (nn::stored_format(scope).empty())
    return note("layer `" + scope.prefix + "`: missing, or in no known format");
  const int64_t found = nn::stored_rows(scope).value_or(0);
  if (found != rows)
    note("layer `" + scope.prefix + "`: expected " + std::to_string(rows) + " rows, found " +
         std::to_string(found));
}

void HeaderCheck::vector(const WeightScope& scope, std::string_view leaf, int64_t size) {
  allow(scope);
  const TensorInfo* info = scope.find(leaf);
  if (info == nullptr || info->shape != std::vector<int64_t>{size})
    note("tensor `" + scope.name(leaf) + "`: missing, or not of " + std::to_string(size) +
         " elements");
}

std::vector<std::string> HeaderCheck::problems() {
  for (const std::string_view name : store_.names())
    if (!known_.contains(name.substr(0, name.rfind('.'))))
      note("tensor `" + std::string(name) + "`: not part of the drafter");
  return std::move(problems_);
}

}  // namespace spindrift
