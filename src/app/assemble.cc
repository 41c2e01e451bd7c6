#include "app/assemble.h"

#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <utility>

#include "app/cpu_budget.h"
#include "app/memory_budget.h"
#include "app/pair_warnings.h"
#include "core/thread_pool.h"
#include "drafters/registry.h"
#include "io/json_config.h"
#include "io/mmap_file.h"
#include "io/model_dir.h"
#include "kernels/registry.h"
#include "models/registry.h"

namespace spindrift {
namespace {

namespace fs = std::filesystem;

// A file beyond what its reader takes is a fault of the folder. kLimit is about requests.
template <class T>
Result<T> fault_of_folder(Result<T> loaded) {
  if (loaded.ok() || loaded.error().code != ErrorCode::kLimit) return loaded;
  Error error = loaded.error();
  error.code = ErrorCode::kInvalid;
  return error;
}

class Parts final : public Assembly {
 public:
  const std::string& model_name() const override { return model_name_; }
  const std::string& draft_model_name() const override { return draft_model_name_; }
  const TargetModel& target() const override { return *target_.model; }
  const Drafter* drafter() const override { return drafter_ ? drafter_->drafter.get() : nullptr; }
  const Tokenizer& tokenizer() const override { return *text_.tokenizer; }
  const ChatTemplate* chat_template() const override { return text_.chat_template.get(); }
  const SpecialTokens& special_tokens() const override { return text_.special_tokens; }
  const GenerationDefaults& defaults() const override { return text_.defaults; }
  Exec exec() const override {
    return {.pool = pool_.get(), .kernels = kernels_, .draft_kernels = draft_kernels_};
  }
  std::string_view isa() const override { return kernels_->name; }
  const std::vector<std::string>& warnings() const override { return warnings_; }
  double load_seconds() const override { return load_seconds_; }
  std::vector<std::span<const std::byte>> weight_files() const override {
    std::vector<std::span<const std::byte>> out;
    for (const auto& file : target_.store->files()) out.push_back(file->bytes());
    return out;
  }

  static Result<std::unique_ptr<Assembly>> load(const AssembleOptions& options,
                                                LoadListener& listener);

 private:
  Status choose_kernels(const std::string& isa);
  Status load_texts(const std::string& folder, TextPart wanted, LoadListener& listener);
  Status load_drafter_model(const AssembleOptions& options);
  std::vector<std::shared_ptr<const MappedFile>> files() const;  // of both models

  std::string model_name_, draft_model_name_;
  const kernels::Table* kernels_ = nullptr;
  const kernels::Table* draft_kernels_ = nullptr;
  std::unique_ptr<ThreadPool> pool_;
  TextParts text_;
  LoadedTarget target_;
  std::optional<LoadedDrafter> drafter_;  // views the target, so it goes first
  std::vector<std::string> warnings_;     // of both
  double load_seconds_ = 0;
};

Status Parts::choose_kernels(const std::string& isa) {
  SPINDRIFT_TRY(const kernels::Isa chosen,
                isa.empty() ? kernels::default_isa() : kernels::parse_isa(isa));
  kernels_ = &kernels::table(chosen);
  if (isa.empty()) draft_kernels_ = kernels::drafting_table(*kernels_);
  return ok_status();
}

Status Parts::load_texts(const std::string& folder, TextPart wanted, LoadListener& listener) {
  if (wanted == TextPart::kNone) return ok_status();
  listener.on_stage("tokenizer");
  SPINDRIFT_TRY(text_, load_text_parts(folder, wanted));
  if (text_.tokenizer == nullptr) return ok_status();
  return check_vocabulary(folder, *text_.tokenizer, target_.model->info().vocab);
}

Status Parts::load_drafter_model(const AssembleOptions& options) {
  SPINDRIFT_TRY(const fs::path folder, resolve_model(options.draft_model));
  const TargetFacts facts{.family = target_.family, .info = target_.model->info()};
  SPINDRIFT_TRY(drafter_, fault_of_folder(load_drafter(folder, options.draft_kind, *target_.model,
                                                       facts, options.draft_options)));
  warnings_.insert(warnings_.end(), drafter_->warnings.begin(), drafter_->warnings.end());
  if (target_.rotated_residual) {
    if (auto warning = rotated_pair_warning(options.model, options.draft_model))
      warnings_.push_back(std::move(*warning));
  }
  draft_model_name_ = options.draft_model;
  return ok_status();
}

std::vector<std::shared_ptr<const MappedFile>> Parts::files() const {
  auto out = target_.store->files();
  if (drafter_) {
    const auto& more = drafter_->weights->files();
    out.insert(out.end(), more.begin(), more.end());
  }
  return out;
}

Result<std::unique_ptr<Assembly>> Parts::load(const AssembleOptions& options,
                                              LoadListener& listener) {
  const auto start = std::chrono::steady_clock::now();
  auto parts = std::make_unique<Parts>();
  SPINDRIFT_TRY_STATUS(parts->choose_kernels(options.isa));
  SPINDRIFT_TRY(const fs::path folder, resolve_model(options.model));
  parts->model_name_ = options.model;
  listener.on_stage("weights");
  SPINDRIFT_TRY(parts->target_,
                fault_of_folder(load_target(
                    folder, {.kv_dtype = options.kv_dtype, .rope_derived = options.rope_derived})));
  parts->warnings_ = parts->target_.warnings;
  SPINDRIFT_TRY_STATUS(parts->load_texts(folder.string(), options.text, listener));
  if (!options.draft_model.empty() && options.draft_kind != "none") {
    listener.on_stage("drafter");
    SPINDRIFT_TRY_STATUS(parts->load_drafter_model(options));
  }
  const auto files = parts->files();
  int64_t weight_bytes = 0;
  for (const auto& file : files) weight_bytes += std::ssize(file->bytes());
  const int64_t budget = memory_budget();
  if (auto warning = memory_warning(options.model, weight_bytes, budget))
    parts->warnings_.push_back(std::move(*warning));
  if (const Position most = parts->target_.model->info().max_context; options.context > most)
    parts->warnings_.push_back(fmt::format("--ctx {} is above the limit of {}; using {}",
                                           options.context, options.model, most));
  if (options.large_pages) {
    listener.on_stage("copying to large pages");
    SPINDRIFT_TRY_STATUS(room_for_copies(options.model, weight_bytes, budget));
    if (auto warning = large_pages_warning()) parts->warnings_.push_back(std::move(*warning));
    for (const auto& file : files) SPINDRIFT_TRY_STATUS(file->copy_to_large_pages());
  }
  if (options.lock) {
    listener.on_stage("locking");
    for (const auto& file : files) SPINDRIFT_TRY_STATUS(file->lock());
  }
  const int threads = options.threads > 0 ? options.threads : cpu_budget();
  if (threads > 1) {
    SPINDRIFT_TRY(parts->pool_, make_threads(threads));
  }
  parts->load_seconds_ =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return std::unique_ptr<Assembly>(std::move(parts));
}

}  // namespace

Result<std::unique_ptr<Assembly>> assemble(const AssembleOptions& options, LoadListener* listener) {
  LoadListener silent;
  return Parts::load(options, listener == nullptr ? silent : *listener);
}

Status check_vocabulary(const std::string& folder, const Tokenizer& tokenizer, int64_t vocab) {
  if (tokenizer.vocab_size() <= vocab) return ok_status();
  const TokenId last = tokenizer.vocab_size() - 1;
  return Error{ErrorCode::kInvalid,
               fmt::format("{}/tokenizer.json: token `{}`: expected an id below config.json's "
                           "vocab_size {}, found {}",
                           folder, tokenizer.spelling(last), vocab, last)};
}

Result<TextParts> load_text_parts(const std::string& model, TextPart wanted) {
  SPINDRIFT_TRY(const fs::path folder, resolve_model(model));
  TextParts out;
  out.folder = folder.string();
  if (wanted == TextPart::kTokenizer || wanted == TextPart::kBoth) {
    SPINDRIFT_TRY(out.tokenizer, fault_of_folder(Tokenizer::load(folder)));
  }
  if (wanted == TextPart::kTemplate || wanted == TextPart::kBoth) {
    SPINDRIFT_TRY(out.chat_template, fault_of_folder(ChatTemplate::load(folder)));
    SPINDRIFT_TRY(out.defaults, fault_of_folder(load_generation_defaults(folder)));
  }
  SPINDRIFT_TRY(out.special_tokens, fault_of_folder(read_special_tokens(folder)));
  return out;
}

}  // namespace spindrift
