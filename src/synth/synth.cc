#include "synth/synth.h"

#include <algorithm>
#include <system_error>

#include "synth/fill.h"
#include "synth/new_file.h"
#include "synth/shapes.h"
#include "synth/write_weights.h"

namespace spindrift::synth {
namespace {

namespace fs = std::filesystem;

Status make_folder(const fs::path& out) {
  std::error_code failure;
  fs::create_directories(out, failure);
  if (failure)
    return Error{ErrorCode::kIo,
                 out.string() + ": expected to make the folder, found: " + failure.message()};
  if (fs::is_empty(out, failure) && !failure) return ok_status();
  return Error{ErrorCode::kUsage, "--out: expected a new or empty folder, found `" + out.string() +
                                      "` with files in it"};
}

Status write_text(const fs::path& folder, const TextFile& file) {
  SPINDRIFT_TRY(const NewFile made,
                NewFile::create(folder / file.name, static_cast<int64_t>(file.text.size())));
  return made.write(0, file.text);
}

}  // namespace

Result<SynthReport> synthesize(const SynthOptions& options, const fs::path& out, const Exec& ex) {
  SPINDRIFT_TRY(const CheckpointPlan plan, plan_checkpoint(options.shape, options.layers));
  SPINDRIFT_TRY_STATUS(make_folder(out));
  if (!options.sparse) SPINDRIFT_TRY_STATUS(check_free_space(out, plan.bytes()));
  const Filler filler(options.seed, plan.tensors);
  const bool torch = plan.container == CheckpointPlan::Container::kTorchBin;
  SPINDRIFT_TRY_STATUS(torch ? write_torch_bin(plan, out, filler, ex, options.sparse)
                             : write_safetensors(plan, out, filler, ex, options.sparse));
  for (size_t i = plan.texts.size(); i-- > 0;)  // the config is the first
    SPINDRIFT_TRY_STATUS(write_text(out, plan.texts[i]));
  return SynthReport{std::ssize(plan.tensors), plan.bytes()};
}

}  // namespace spindrift::synth
