#include "app/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <set>

#include "app/cpu_budget.h"
#include "core/plural.h"
#include "core/thread_pool.h"
#include "drafters/scripted.h"
#include "engine/engine.h"
#include "kernels/registry.h"

namespace spindrift {
namespace {

constexpr uint64_t kSeed = 7;

// One way of running the engine.
struct Setting {
  std::string name;
  const Drafter* drafter = nullptr;
  DraftWidth width{.mode = DraftWidth::Mode::kOff};
  Exec exec;
  int64_t chunk = 256;
};

struct Plain {
  std::string digest;
  std::vector<TokenId> tokens;
};

class Verifier {
 public:
  Verifier(const Assembly& assembly, const VerifyOptions& options)
      : assembly_(assembly),
        options_(options),
        temperatures_(options.quick ? std::vector<float>{0.0F, 0.8F}
                                    : std::vector<float>{0.0F, 0.7F, 1.3F}) {}

  Status run_plain() {
    const Setting plain{.name = "plain", .exec = assembly_.exec()};
    for (const auto& prompt : options_.prompts) {
      for (const float temperature : temperatures_) {
        SPINDRIFT_TRY(Outcome outcome, run(plain, prompt, temperature));
        plain_.push_back({outcome.ledger_digest, outcome.tokens});
      }
    }
    return ok_status();
  }

  // What the plain runs produced, prompts in front: what a scripted drafter hits with.
  std::vector<ReferenceIds> references() const {
    std::vector<ReferenceIds> out;
    for (size_t i = 0; i < plain_.size(); ++i) {
      out.push_back(options_.prompts[i / temperatures_.size()]);
      out.back().insert(out.back().end(), plain_[i].tokens.begin(), plain_[i].tokens.end());
    }
    return out;
  }

  Result<VerifyRow> compare(const Setting& setting) const {
    VerifyRow row;
    row.setting = setting.name;
    int64_t rounds = 0, accepted = 0;
    for (size_t i = 0; i < plain_.size(); ++i) {
      const size_t prompt = i / temperatures_.size();
      const float temperature = temperatures_[i % temperatures_.size()];
      SPINDRIFT_TRY(const Outcome outcome, run(setting, options_.prompts[prompt], temperature));
      ++row.runs;
      rounds += outcome.stats.draft.rounds;
      accepted += outcome.stats.draft.accepted;
      if (outcome.ledger_digest == plain_[i].digest) continue;
      if (row.different++ == 0)
        row.first_difference = fmt::format("prompt {}, temperature {}", prompt, temperature);
    }
    row.mean_accepted = DraftStats::share(accepted, rounds);
    return row;
  }

 private:
  Result<Outcome> run(const Setting& setting, const std::vector<TokenId>& prompt,
                      float temperature) const {
    Engine engine(assembly_.target(), setting.drafter, setting.exec,
                  {.prefill_chunk = setting.chunk, .max_running = 1});
    Request request;
    request.prompt = prompt;
    request.sampling.temperature = temperature;
    request.sampling.seed = kSeed;
    request.stop.ids = assembly_.defaults().stop_ids;
    request.stop.max_new_tokens = options_.new_tokens;
    request.draft = setting.width;
    request.ledger = true;
    SPINDRIFT_TRY(Outcome outcome, engine.run(std::move(request)));
    if (outcome.error) return *outcome.error;
    return outcome;
  }

  const Assembly& assembly_;
  const VerifyOptions& options_;
  std::vector<float> temperatures_;
  std::vector<Plain> plain_;  // prompts in order, temperatures inside
};

std::vector<int> widths(int longest, bool quick) {
  std::set<int> out{1, longest};
  if (quick)
    out.insert(std::max(1, longest / 2));
  else
    for (int n = 2; n < longest; ++n) out.insert(n);
  return {out.begin(), out.end()};
}

// All that a drafter can propose in a round.
DraftWidth widest(const Drafter& drafter) {
  return {.mode = DraftWidth::Mode::kFixed,
          .tokens = drafter.max_depth(),
          .nodes = drafter.max_nodes()};
}

void add_drafter(const std::string& name, const Drafter& drafter, const Exec& ex, bool quick,
                 std::vector<Setting>& out) {
  const auto add = [&](std::string setting, const DraftWidth& width) {
    out.push_back({.name = name + ", " + setting, .drafter = &drafter, .width = width, .exec = ex});
  };
  const bool trees = drafter.max_nodes() > drafter.max_depth();
  for (const int width : widths(drafter.max_depth(), quick)) {
    DraftWidth fixed{.mode = DraftWidth::Mode::kFixed, .tokens = width};
    add(counted(width, "draft token"), fixed);
    fixed.nodes = drafter.max_nodes();
    if (trees) add(fmt::format("tree {} deep", width), fixed);
  }
  add("auto", {});
}

// A chain of every hit count up to its length, and one tree whose second branch is right.
std::vector<ScriptedRound> script() {
  std::vector<ScriptedRound> rounds;
  for (int hits = 0; hits <= 6; ++hits) rounds.push_back(scripted_chain(hits, 6));
  rounds.push_back({{kRoot, false}, {kRoot, true}, {0, false}, {1, true}, {1, false}, {3, true}});
  return rounds;
}

}  // namespace

Result<std::vector<VerifyRow>> verify(const Assembly& assembly, const VerifyOptions& options,
                                      const std::function<void(std::string_view)>& progress) {
  Verifier verifier(assembly, options);
  progress("plain");
  SPINDRIFT_TRY_STATUS(verifier.run_plain());

  const Exec ex = assembly.exec();
  const ScriptedDrafter scripted(assembly.target().info().vocab, verifier.references(), script());
  const Drafter* drafter = assembly.drafter();
  std::vector<Setting> settings;
  if (drafter != nullptr)
    add_drafter(fmt::format("drafter {}", drafter->kind()), *drafter, ex, options.quick, settings);
  add_drafter("scripted drafter", scripted, ex, options.quick, settings);

  // The axes below vary one thing against a full-width draft.
  const Drafter& full = drafter != nullptr ? *drafter : scripted;
  const DraftWidth full_width = widest(full);
  const auto chunks =
      options.quick ? std::vector<int64_t>{1, 4096} : std::vector<int64_t>{1, 7, 64, 4096};
  for (const int64_t chunk : chunks)
    settings.push_back({fmt::format("prefill chunk {}", chunk), &full, full_width, ex, chunk});
  std::vector<std::unique_ptr<ThreadPool>> pools;
  for (const int threads : {1, 2, 3}) {
    if (threads == thread_count(ex)) continue;
    SPINDRIFT_TRY(pools.emplace_back(), make_threads(threads));
    settings.push_back({fmt::format("{} thread{}", threads, threads == 1 ? "" : "s"),
                        &full,
                        full_width,
                        {.pool = pools.back().get(), .kernels = ex.kernels}});
  }
  for (const kernels::Isa isa : kernels::usable_isas()) {
    const kernels::Table& table = kernels::table(isa);
    // The twins and the emulated fused multiply-add are slow by design.
    const bool slow = isa == kernels::Isa::kScalar || isa == kernels::Isa::kSse4;
    if (&table == ex.kernels || (options.quick && slow)) continue;
    settings.push_back({fmt::format("instruction set {}", table.name),
                        &full,
                        full_width,
                        {.pool = ex.pool, .kernels = &table}});
  }

  std::vector<VerifyRow> rows;
  for (const Setting& setting : settings) {
    progress(setting.name);
    SPINDRIFT_TRY(rows.emplace_back(), verifier.compare(setting));
  }
  return rows;
}

}  // namespace spindrift
