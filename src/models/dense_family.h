#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "core/result.h"
#include "io/json_config.h"
#include "io/weight_store.h"
#include "models/registry.h"

// What families of dense decoders, one attention and one MLP a layer, have in common outside the
// forward: the way from a folder to a target, and the names by which `inspect` sorts tensors.
namespace spindrift {

// Loads the target in `folder`, whose config.json is `json`. A family's namespace has Config,
// load_weights(WeightStore&, Config) and summarise(Config), and a Model made of both.
template <class Model, class Config>
Result<LoadedTarget> load_dense(const std::filesystem::path& folder, const JsonObject& json,
                                Result<Config> read_config, const TargetOptions& options) {
  LoadedTarget target;
  SPINDRIFT_TRY(target.family, json.get_string("model_type"));
  SPINDRIFT_TRY(Config config, std::move(read_config));
  SPINDRIFT_TRY(target.store, open_weights(folder));
  SPINDRIFT_TRY(auto weights, load_weights(*target.store, config));
  target.summary = summarise(config);
  target.model = std::make_unique<Model>(std::move(config), std::move(weights), options.kv_dtype);
  return target;
}

// Published tensor names, part by part.
struct DenseNames {
  std::string_view root;                                // of all but the head, which is `lm_head`
  std::string_view embedding;                           // in the root
  std::string_view positions;                           // learned ones, in the root; empty = none
  std::string_view final_norm;                          // in the root
  std::string_view layers;                              // in the root, numbered
  std::string_view attention;                           // in a layer
  std::string_view mlp;                                 // in a layer
  std::array<std::string_view, 2> norms;                // in a layer
  std::span<const std::string_view> attention_linears;  // in the attention
  std::span<const std::string_view> mlp_linears;        // in the MLP
  std::span<const std::string_view> unused;  // ends of names that checkpoints carry for nothing
};

struct DenseFacts {
  ModelInfo info;
  ConfigSummary summary;
  bool tied = false;  // the head is the embedding
};

// Describes the target in `folder` from its config and headers.
Result<TargetDescription> describe_dense(const std::filesystem::path& folder,
                                         const JsonObject& json, const DenseNames& names,
                                         DenseFacts facts);

}  // namespace spindrift
