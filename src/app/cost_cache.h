#pragma once

#include <filesystem>
#include <string>

#include "app/assemble.h"
#include "engine/round_costs.h"

namespace spindrift {

// What drafting costs on this machine with this pair, kept from one process to the next in a small
// file under $XDG_CACHE_HOME/spindrift (~/.cache/spindrift). It belongs to the models' files, the
// processor, the number of threads and the instruction set; a file that is broken, of another
// version or of anything else is ignored. It can change the speed only.
class CostCache {
 public:
  explicit CostCache(const Assembly& assembly);
  // Nothing when nothing is kept.
  RoundCosts load() const;
  // Best effort: written beside and renamed, so that no reader sees half of it.
  void save(const RoundCosts& costs) const;
  // Empty when there is neither a drafter nor a place to keep anything.
  const std::filesystem::path& file() const { return file_; }

 private:
  std::string key_;
  std::filesystem::path file_;
};

}  // namespace spindrift
