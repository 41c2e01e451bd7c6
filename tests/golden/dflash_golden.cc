#include "golden/dflash_golden.h"

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "core/check.h"

namespace spindrift::testing {
namespace {

nlohmann::json read_json(const std::filesystem::path& folder) {
  std::ifstream file(folder / "golden.json");
  SPINDRIFT_CHECK(file.good(), "golden.json opens");
  return nlohmann::json::parse(file);
}

NpyArray must_read(const std::filesystem::path& path) {
  auto array = read_npy(path);
  SPINDRIFT_CHECK(array.ok(), "a stored array reads");
  return std::move(array).value();
}

GoldenRound read_round(const nlohmann::json& json) {
  return {.position = json.at("position").get<Position>(),
          .bonus = json.at("bonus").get<TokenId>(),
          .draft = json.at("draft").get<std::vector<TokenId>>(),
          .draft_margins = json.at("draft_margins").get<std::vector<double>>(),
          .verify_margin = json.at("verify_margin").get<double>(),
          .accepted = json.at("accepted").get<int>(),
          .emitted = json.at("emitted").get<int>()};
}

}  // namespace

DFlashGolden DFlashGolden::read(const std::filesystem::path& folder) {
  const nlohmann::json json = read_json(folder);
  DFlashGolden golden;
  golden.target = json.at("target").get<std::string>();
  golden.tolerance = json.value("tolerance", golden.tolerance);
  golden.ids = json.at("ids").get<std::vector<TokenId>>();
  golden.context_rows = json.at("context_rows").get<std::vector<int64_t>>();
  golden.context = must_read(folder / "context.npy");
  for (const nlohmann::json& block : json.at("blocks")) {
    const auto position = block.at("position").get<Position>();
    golden.blocks.push_back(
        {.position = position,
         .bonus = block.at("bonus").get<TokenId>(),
         .top_ids = block.at("top_ids").get<std::vector<std::vector<TokenId>>>(),
         .top_logits = block.at("top_logits").get<std::vector<std::vector<double>>>(),
         .hidden = must_read(folder / ("hidden_" + std::to_string(position) + ".npy"))});
  }
  return golden;
}

std::vector<GoldenRun> read_golden_runs(const std::filesystem::path& folder,
                                        std::string_view label) {
  const nlohmann::json json = read_json(folder);
  std::vector<GoldenRun> runs;
  if (!json.contains(label)) return runs;
  for (const nlohmann::json& run : json.at(std::string(label))) {
    GoldenRun read{.prompt_ids = run.at("prompt_ids").get<std::vector<TokenId>>(),
                   .ids = run.at("ids").get<std::vector<TokenId>>(),
                   .rounds = {}};
    for (const nlohmann::json& round : run.at("rounds")) read.rounds.push_back(read_round(round));
    runs.push_back(std::move(read));
  }
  return runs;
}

}  // namespace spindrift::testing
