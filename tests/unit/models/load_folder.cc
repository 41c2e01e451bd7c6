// Loads model folders for tools/published_names.py: load_folder TARGET [DRAFTER]. Prints "tensors N
// ignored N bytes N" for each and every warning; exit 3 with the message when one does not load.
#include <iostream>
#include <string>

#include "drafters/registry.h"
#include "models/registry.h"

namespace spindrift {
namespace {

int refuse(const Error& error) {
  std::cout << error.message << "\n";
  return 3;
}

void report(const WeightStore& store, const std::vector<std::string>& warnings) {
  std::cout << "tensors " << store.size() << " ignored " << store.ignored().size() << " bytes "
            << store.total_bytes() << "\n";
  for (const std::string& warning : warnings) std::cout << "warning: " << warning << "\n";
}

int run(int argc, char** argv) {
  if (argc < 2) return 2;
  const auto target = load_target(argv[1], {});
  if (!target.ok()) return refuse(target.error());
  report(*target.value().store, target.value().warnings);
  if (argc < 3) return 0;
  const TargetFacts facts{target.value().family, target.value().model->info()};
  const auto drafter = load_drafter(argv[2], kAutoDraftKind, *target.value().model, facts);
  if (!drafter.ok()) return refuse(drafter.error());
  report(*drafter.value().weights, drafter.value().warnings);
  return 0;
}

}  // namespace
}  // namespace spindrift

int main(int argc, char** argv) { return spindrift::run(argc, argv); }
