#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "drafters/registry.h"
#include "models/registry.h"
#include "nn/formats.h"
#include "support/shared_dir.h"

namespace spindrift {
namespace {

// What docs/supported-models.md says, from the tables that loading itself goes by.
std::string supported_models_page() {
  std::ostringstream page;
  page << "# Supported models\n\n"
       << "Generated from the program's own tables; a test compares. To write it anew after a "
          "change:\n"
       << "`SPINDRIFT_WRITE_DOCS=1 ./dev test -R docs_test`.\n\n"
       << "## Targets\n\n"
       << "| family | `model_type` | `architectures` |\n|---|---|---|\n";
  for (const TargetFamily& family : target_families())
    page << "| " << family.description << " | `" << family.name << "` | `" << family.architecture
         << "` |\n";
  page << "\n## Drafters\n\n| `--draft-kind` |\n|---|\n";
  for (const std::string_view kind : drafter_kinds()) page << "| `" << kind << "` |\n";
  page << "\n## Weight formats\n\n"
       << "Decided layer by layer from the tensors that are there, whatever the family.\n\n"
       << "| format | tensors of a layer |\n|---|---|\n";
  for (const nn::LinearFormat* format : nn::linear_formats())
    page << "| " << format->name << " | " << format->expected << " |\n";
  return page.str();
}

TEST(SupportedModels, ThePageSaysWhatTheTablesSay) {
  const auto file = testing::repo_dir() / "docs" / "supported-models.md";
  if (std::getenv("SPINDRIFT_WRITE_DOCS") != nullptr)
    std::ofstream(file) << supported_models_page();
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  EXPECT_EQ(text.str(), supported_models_page());
}

}  // namespace
}  // namespace spindrift
