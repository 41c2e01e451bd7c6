#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/assemble.h"
#include "app/generation_defaults.h"
#include "cli/terminal.h"
#include "core/result.h"
#include "core/types.h"
#include "engine/engine.h"
#include "engine/request.h"

namespace CLI {
class App;
}

namespace spindrift::cli {

// Flags that several commands share. add_*() declares them on a command; the functions below turn
// what was given into the engine's types, or a kUsage error that names the flag.

struct MachineFlags {
  int threads = 0;
  int64_t prefill_chunk = 256;
  std::string kv_dtype = "f32";
  int64_t context = 0;
  int64_t memory_limit = 0;
  bool lock = false;
  bool large_pages = false;
  bool rope_derived = false;
};
// All of them, or what a command uses: how a model is loaded, how a prompt is read.
void add_machine_flags(CLI::App& app, MachineFlags& flags);
void add_load_flags(CLI::App& app, MachineFlags& flags);
void add_prefill_flag(CLI::App& app, MachineFlags& flags);

struct ModelFlags {
  std::string model;
  std::string draft_model;
  std::string draft_kind = "auto";
  std::string draft_tokens;  // empty = not given
  MlpSpeculatorOptions draft_options;
};
void add_model_flag(CLI::App& app, ModelFlags& flags);
// The drafter and how many tokens it drafts, or the drafter alone.
void add_draft_flags(CLI::App& app, ModelFlags& flags);
void add_drafter_flags(CLI::App& app, ModelFlags& flags);

struct SamplingFlags {
  std::optional<int64_t> max_new_tokens;
  std::optional<float> temperature, top_p, min_p, repeat_penalty;
  std::optional<int32_t> top_k;
  std::optional<uint64_t> seed;
  std::vector<std::string> stop;
  bool ignore_eos = false;
};
void add_sampling_flags(CLI::App& app, SamplingFlags& flags);

struct ThinkFlags {
  bool think = false;
  bool no_think = false;
  // nullopt = neither flag.
  std::optional<bool> value() const;
};
void add_think_flags(CLI::App& app, ThinkFlags& flags);

void add_color_flag(CLI::App& app, ColorMode& color);

AssembleOptions assemble_options(const ModelFlags& model, const MachineFlags& machine);
EngineOptions engine_options(const MachineFlags& machine);
// --draft-tokens: auto, or the longest path, which is clamped to the drafter's maximum with a
// warning unless `quiet`. A tree's shape among the flags makes it a tree of that shape, in every
// round unless auto is asked for. Flags that ask for drafts without a drafter are a warning.
Result<DraftWidth> draft_width(const ModelFlags& flags, const Drafter* drafter, bool quiet);
// A positional argument that may only be "-".
void add_stdin_argument(CLI::App& app, std::string& target, const char* help);
Status check_stdin_argument(const std::string& value);
// The flags over the model's own defaults.
SamplingParams sampling_params(const SamplingFlags& flags, const GenerationDefaults& defaults);
StopSpec stop_spec(const SamplingFlags& flags, const GenerationDefaults& defaults);

// "2,31,7", blanks allowed, or "@FILE" with the same in a file; kUsage names what is no id in
// [0, vocab).
Result<std::vector<TokenId>> parse_ids(const std::string& text, int64_t vocab);
// Errors about a conversation call its parts `messages` and `tools`; where these came from files,
// their names are put in front.
Error name_files(Error error, const std::string& messages, const std::string& tools);
// A whole file, or standard input for "-"; at most 256 MiB. kUsage when it cannot be read.
Result<std::string> read_text(const std::string& path);
// The same, and UTF-8.
Result<std::string> read_prompt(const std::string& path);
// What --tools names: empty without a path. kUsage for an empty file, which would mean no tools.
Result<std::string> read_tools(const std::string& path);

}  // namespace spindrift::cli
