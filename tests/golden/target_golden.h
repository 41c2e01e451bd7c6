#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "core/types.h"
#include "io/json_config.h"
#include "support/npy_reader.h"

namespace spindrift::testing {

// A target's golden/ folder: what the reference computes on the values its files decompress to.
struct TargetGolden {
  struct Greedy {
    std::vector<int64_t> prompt, ids;
    double smallest_margin = 0.0;
  };

  std::vector<int64_t> ids, stored_rows, argmax;
  std::vector<double> margin, logsumexp;
  std::vector<Greedy> greedy;
  // Of a logit: what the file says rounding can do, or for files that do not say, 1e-4.
  double tolerance = 1e-4;
  NpyArray logits{DType::kF32, {}, {}};  // [stored rows, vocab]

  static TargetGolden read(const std::filesystem::path& folder) {
    TargetGolden golden;
    const JsonObject json = JsonObject::parse_file(folder / "golden.json").value();
    golden.ids = json.get_ints("ids").value();
    golden.stored_rows = json.get_ints("stored_rows").value();
    golden.argmax = json.get_ints("argmax").value();
    golden.margin = json.get_numbers("margin").value();
    golden.logsumexp = json.get_numbers("logsumexp").value();
    for (const JsonObject& run : json.get_objects("greedy").value()) {
      golden.greedy.push_back({run.get_ints("prompt_ids").value(), run.get_ints("ids").value(),
                               run.get_number("smallest_margin").value()});
    }
    golden.tolerance = json.find_number("tolerance").value().value_or(golden.tolerance);
    golden.logits = read_npy(folder / "logits.npy").value();
    return golden;
  }
};

inline std::vector<TokenId> tokens_of(const std::vector<int64_t>& ids) {
  return {ids.begin(), ids.end()};
}

}  // namespace spindrift::testing
