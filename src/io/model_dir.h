#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace spindrift {

// Where the Hugging Face libraries keep downloads: HF_HUB_CACHE, else HF_HOME/hub, else
// XDG_CACHE_HOME/huggingface/hub, else ~/.cache/huggingface/hub. A leading ~ is the home folder.
// May not exist.
std::filesystem::path hub_cache_dir();

// The folder that MODEL names: an existing folder, or `org/name[@revision]` in the hub cache
// `cache`. A revision is a branch or tag that the cache knows, a commit, or a prefix of a commit
// that fits one snapshot only; without one it is "main". Nothing is downloaded and nothing in the
// folder is read. A folder that holds model folders and is none itself is refused.
Result<std::filesystem::path> resolve_model(std::string_view model,
                                            const std::filesystem::path& cache);
Result<std::filesystem::path> resolve_model(std::string_view model);  // in hub_cache_dir()

struct ModelCandidate {
  std::string name;  // a folder's path as it was reached, or an id that resolve_model takes with
                     // the cache it is in
  std::filesystem::path folder;
};

// Every folder at or under `folder` that has a config.json, names ascending; hub caches are
// recognised by their `models--org--name` folders, one candidate for each snapshot. A model's own
// subfolders are not searched, hidden folders neither. Links are followed, each folder is entered
// once, and depth and number of folders are bounded; what cannot be opened is passed over.
// kNotFound when `folder` itself is none.
Result<std::vector<ModelCandidate>> find_models(const std::filesystem::path& folder);

}  // namespace spindrift
