#include "laws/demo_pair.h"

#include "io/json_config.h"
#include "support/shared_dir.h"

namespace spindrift::testing {
namespace {

std::vector<TokenId> ids(const std::vector<int64_t>& numbers) {
  return {numbers.begin(), numbers.end()};
}

Demo load_demo() {
  const std::filesystem::path models = repo_dir() / "models";
  Demo demo;
  demo.target = load_target(models / "laguna-tiny-nvfp4", {}).value();
  demo.drafter = load_drafter(models / "laguna-tiny-dflash", kAutoDraftKind, *demo.target.model,
                              {.family = demo.target.family, .info = demo.target.model->info()})
                     .value();
  const JsonObject golden =
      JsonObject::parse_file(models / "laguna-tiny-dflash/golden/golden.json").value();
  const auto foreign = golden.get_objects("greedy_rounds_foreign").value();
  demo.short_prompt = ids(foreign.at(0).get_ints("prompt_ids").value());
  demo.long_prompt = ids(foreign.back().get_ints("prompt_ids").value());
  return demo;
}

}  // namespace

const Demo& demo() {
  static const Demo loaded = load_demo();
  return loaded;
}

}  // namespace spindrift::testing
