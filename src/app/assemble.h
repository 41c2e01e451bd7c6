#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/generation_defaults.h"
#include "chat/chat_template.h"
#include "core/dtype.h"
#include "core/exec.h"
#include "core/result.h"
#include "core/types.h"
#include "drafters/drafter.h"
#include "drafters/mlp_speculator/options.h"
#include "models/target_model.h"
#include "tokenizer/special_tokens.h"
#include "tokenizer/tokenizer.h"

namespace spindrift {

// Hears what is being loaded, for a progress line: ("weights", "tokenizer", "drafter").
class LoadListener {
 public:
  virtual ~LoadListener() = default;
  virtual void on_stage(std::string_view /*what*/) {}
};

// Which texts of a model are read.
enum class TextPart : uint8_t { kNone, kTokenizer, kTemplate, kBoth };

struct AssembleOptions {
  std::string model;                // a folder or an id in the local hub cache
  std::string draft_model;          // empty = none
  std::string draft_kind = "auto";  // "auto", a drafter kind, or "none" (draft_model is not read)
  MlpSpeculatorOptions draft_options;  // over the config of a head
  int threads = 0;                     // 0 = physical cores this process may use
  DType kv_dtype = DType::kF32;
  bool rope_derived = false;
  bool lock = false;         // keep weights in memory (mlock)
  bool large_pages = false;  // copy weights into private large pages
  Position context = 0;      // asked for; more than the model's is a warning
  std::string isa;           // empty = SPINDRIFT_ISA, else the best
  TextPart text = TextPart::kBoth;
};

// Everything that one model folder (and a drafter's) becomes: const after load, shared by the
// command line, the server and the library. Only the thread pool inside exec() is used by one
// thread at a time.
class Assembly {
 public:
  virtual ~Assembly() = default;
  virtual const std::string& model_name() const = 0;        // as given
  virtual const std::string& draft_model_name() const = 0;  // empty = no drafter
  virtual const TargetModel& target() const = 0;
  virtual const Drafter* drafter() const = 0;             // null = none
  virtual const Tokenizer& tokenizer() const = 0;         // when it was asked for
  virtual const ChatTemplate* chat_template() const = 0;  // null = the model has none
  virtual const SpecialTokens& special_tokens() const = 0;
  virtual const GenerationDefaults& defaults() const = 0;
  virtual Exec exec() const = 0;
  virtual std::string_view isa() const = 0;  // of exec()'s kernels
  virtual const std::vector<std::string>& warnings() const = 0;
  virtual double load_seconds() const = 0;
  virtual std::vector<std::span<const std::byte>> weight_files() const = 0;  // of the target
};

Result<std::unique_ptr<Assembly>> assemble(const AssembleOptions& options,
                                           LoadListener* listener = nullptr);

// A model's tokenizer, template and texts alone: no weight is read.
struct TextParts {
  std::string folder;
  std::shared_ptr<const Tokenizer> tokenizer;
  std::unique_ptr<ChatTemplate> chat_template;  // null = none
  SpecialTokens special_tokens;
  GenerationDefaults defaults;
};
Result<TextParts> load_text_parts(const std::string& model, TextPart wanted = TextPart::kBoth);

// Ids that a target of `vocab` tokens has no embedding for must not come out of its tokenizer.
Status check_vocabulary(const std::string& folder, const Tokenizer& tokenizer, int64_t vocab);

}  // namespace spindrift
