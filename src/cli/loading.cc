#include "cli/loading.h"

#include <fmt/format.h>

#include "cli/exit_code.h"
#include "cli/progress.h"

namespace spindrift::cli {
namespace {

class ShowStages final : public LoadListener {
 public:
  ShowStages(std::string_view model, Progress& progress) : model_(model), progress_(progress) {}
  void on_stage(std::string_view what) override {
    progress_.show(fmt::format("loading {}: {}", model_, what));
  }

 private:
  std::string_view model_;
  Progress& progress_;
};

}  // namespace

Result<std::unique_ptr<Assembly>> load(const AssembleOptions& options, bool quiet) {
  Progress progress(quiet);
  ShowStages stages(options.model, progress);
  auto assembly = assemble(options, &stages);
  progress.clear();
  if (assembly.ok() && !quiet)
    for (const std::string& warning : assembly.value()->warnings()) warn(warning);
  return assembly;
}

}  // namespace spindrift::cli
