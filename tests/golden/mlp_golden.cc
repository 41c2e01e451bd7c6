#include "golden/mlp_golden.h"

#include <fstream>
#include <nlohmann/json.hpp>

#include "core/check.h"

namespace spindrift::testing {
namespace {

using nlohmann::json;

json parse_file(const std::filesystem::path& path) {
  std::ifstream file(path);
  SPINDRIFT_CHECK(file.good(), "a golden file opens");
  return json::parse(file);
}

template <class T>
T get_or_empty(const json& object, const char* key) {
  return object.contains(key) ? object.at(key).get<T>() : T{};
}

std::vector<MlpCandidate> read_candidates(const json& list) {
  std::vector<MlpCandidate> out;
  for (const json& entry : list) {
    out.push_back({entry.at("ids").get<std::vector<TokenId>>(), entry.at("score").get<double>()});
  }
  return out;
}

std::vector<MlpRun> read_runs(const json& file, const char* label) {
  std::vector<MlpRun> runs;
  if (!file.contains(label)) return runs;
  for (const json& run : file.at(label)) {
    MlpRun read{.prompt_ids = run.at("prompt_ids").get<std::vector<TokenId>>(),
                .ids = run.at("ids").get<std::vector<TokenId>>(),
                .rounds = {}};
    for (const json& round : run.at("rounds")) {
      read.rounds.push_back(
          {.position = round.at("position").get<Position>(),
           .bonus = round.at("bonus").get<TokenId>(),
           .draft = get_or_empty<std::vector<TokenId>>(round, "draft"),
           .draft_margins = get_or_empty<std::vector<double>>(round, "draft_margins"),
           .candidates = get_or_empty<std::vector<std::vector<TokenId>>>(round, "candidates"),
           .chosen = get_or_empty<size_t>(round, "chosen"),
           .accepted = round.at("accepted").get<int>(),
           .emitted = round.at("emitted").get<int>()});
    }
    runs.push_back(std::move(read));
  }
  return runs;
}

}  // namespace

MlpHeadGolden MlpHeadGolden::read(const std::filesystem::path& file) {
  const json from = parse_file(file);
  MlpHeadGolden golden;
  golden.config = from.at("config").dump();
  golden.state = from.at("state").get<std::vector<std::vector<float>>>();
  golden.token = from.at("token").get<std::vector<TokenId>>();
  golden.alpha = from.at("alpha").get<double>();
  golden.greedy = from.at("greedy").get<std::vector<std::vector<TokenId>>>();
  golden.greedy_logits =
      from.at("greedy_logits").get<std::vector<std::vector<std::vector<float>>>>();
  golden.candidates = from.at("candidates").get<std::vector<std::vector<std::vector<TokenId>>>>();
  for (const auto& [name, value] : from.at("params").items()) {
    golden.params.push_back({.name = name,
                             .shape = value.at("shape").get<std::vector<int64_t>>(),
                             .values = value.at("values").get<std::vector<float>>()});
  }
  return golden;
}

MlpPairGolden MlpPairGolden::read(const std::filesystem::path& folder) {
  const json from = parse_file(folder / "golden.json");
  MlpPairGolden golden;
  golden.ids = from.at("ids").get<std::vector<TokenId>>();
  for (const json& at : from.at("positions")) {
    golden.positions.push_back({.position = at.at("position").get<Position>(),
                                .token = at.at("token").get<TokenId>(),
                                .chain = at.at("chain").get<std::vector<TokenId>>(),
                                .margins = at.at("margins").get<std::vector<double>>(),
                                .candidates = read_candidates(at.at("candidates")),
                                .wide_top_k = at.at("wide_top_k").get<std::vector<int>>(),
                                .wide = read_candidates(at.at("wide"))});
  }
  golden.greedy = read_runs(from, "greedy_rounds");
  golden.greedy_foreign = read_runs(from, "greedy_rounds_foreign");
  golden.tree = read_runs(from, "tree_rounds");
  golden.tree_foreign = read_runs(from, "tree_rounds_foreign");
  return golden;
}

}  // namespace spindrift::testing
