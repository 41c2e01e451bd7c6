#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/types.h"

namespace spindrift::testing {

// A small random head with outputs of fms-extras for three sequences.
struct MlpHeadGolden {
  struct Tensor {
    std::string name;
    std::vector<int64_t> shape;
    std::vector<float> values;
  };
  std::string config;  // JSON text
  std::vector<std::vector<float>> state;
  std::vector<TokenId> token;
  double alpha = 0.0;
  std::vector<std::vector<TokenId>> greedy;                    // [sequence][stage]
  std::vector<std::vector<std::vector<float>>> greedy_logits;  // [sequence][stage][vocab]
  std::vector<std::vector<std::vector<TokenId>>> candidates;   // [sequence], best first
  std::vector<Tensor> params;                                  // every stage's name

  static MlpHeadGolden read(const std::filesystem::path& file);
};

struct MlpCandidate {
  std::vector<TokenId> ids;
  double score = 0.0;
};

// What the reference drafts after one row of a base's text.
struct MlpPosition {
  Position position = 0;
  TokenId token = 0;
  std::vector<TokenId> chain;
  std::vector<double> margins;
  std::vector<MlpCandidate> candidates;  // with the config's setting
  std::vector<int> wide_top_k;
  std::vector<MlpCandidate> wide;  // with that one
};

struct MlpRound {
  Position position = 0;
  TokenId bonus = 0;
  std::vector<TokenId> draft;                    // of a chain round
  std::vector<double> draft_margins;             // of a chain round
  std::vector<std::vector<TokenId>> candidates;  // of a tree round
  size_t chosen = 0;                             // of a tree round
  int accepted = 0;
  int emitted = 0;
};

struct MlpRun {
  std::vector<TokenId> prompt_ids;
  std::vector<TokenId> ids;
  std::vector<MlpRound> rounds;
};

// The `golden/golden.json` beside a head.
struct MlpPairGolden {
  std::vector<TokenId> ids;
  std::vector<MlpPosition> positions;
  std::vector<MlpRun> greedy, greedy_foreign, tree, tree_foreign;

  static MlpPairGolden read(const std::filesystem::path& folder);
};

}  // namespace spindrift::testing
