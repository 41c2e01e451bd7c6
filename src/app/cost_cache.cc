#include "app/cost_cache.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string_view>
#include <system_error>
#include <vector>

#include "app/machine.h"
#include "core/thread_pool.h"
#include "io/model_dir.h"

namespace spindrift {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr int kVersion = 2;
constexpr size_t kMostBytes = size_t{1} << 20;
constexpr int64_t kEnough = 2;  // measurements of a plain round, without which nothing is kept

// The folder for caches; empty when the environment names none.
fs::path cache_folder() {
  const auto absolute = [](const char* name) {
    const char* value = std::getenv(name);
    const fs::path path = value == nullptr ? "" : value;
    return path.is_absolute() ? path : fs::path();
  };
  fs::path folder = absolute("XDG_CACHE_HOME");
  if (folder.empty()) {
    folder = absolute("HOME");
    if (folder.empty()) return folder;
    folder /= ".cache";
  }
  return folder / "spindrift";
}

// Says which files a model folder holds: a changed model is another one.
std::string files_key(const std::string& model) {
  const auto folder = resolve_model(model);
  if (!folder.ok()) return model;
  std::error_code error;
  uintmax_t bytes = 0;
  fs::file_time_type newest{};
  for (const auto& entry : fs::directory_iterator(folder.value(), error)) {
    if (!entry.is_regular_file(error)) continue;
    bytes += entry.file_size(error);
    newest = std::max(newest, entry.last_write_time(error));
  }
  return fmt::format("{} {} bytes {}", fs::weakly_canonical(folder.value(), error).string(), bytes,
                     newest.time_since_epoch().count());
}

// FNV-1a.
uint64_t hash(std::string_view text) {
  uint64_t value = 0xCBF29CE484222325U;
  for (const char c : text) value = (value ^ static_cast<unsigned char>(c)) * 0x100000001B3U;
  return value;
}

Json to_json(const CostCurve& curve) {
  Json out = Json::array();
  for (const CostCurve::Sample& s : curve.samples()) out.push_back({s.size, s.seconds, s.count});
  return out;
}

void restore(const Json& list, CostCurve& curve) {
  if (!list.is_array()) return;
  std::vector<CostCurve::Sample> samples;
  for (const Json& s : list) {
    const bool sound = s.is_array() && s.size() == 3 && s[0].is_number_integer() &&
                       s[1].is_number() && s[2].is_number_integer();
    if (!sound) continue;
    const auto size = s[0].get<int64_t>();
    if (size <= 0 || size > 1'000'000) continue;
    samples.push_back({static_cast<int>(size), s[1].get<double>(), s[2].get<int64_t>()});
  }
  curve.restore(samples);
}

void restore(const Json& file, const char* name, CostCurve& curve) {
  const auto at = file.find(name);
  if (at != file.end()) restore(*at, curve);
}

Json to_json(const PassCosts& costs) {
  Json out = Json::array();
  for (const CostCurve& curve : costs.groups()) out.push_back(to_json(curve));
  return out;
}

void restore(const Json& file, const char* name, PassCosts& costs) {
  const auto at = file.find(name);
  if (at == file.end() || !at->is_array() || at->size() != costs.groups().size()) return;
  for (size_t i = 0; i < at->size(); ++i) restore((*at)[i], costs.groups()[i]);
}

}  // namespace

CostCache::CostCache(const Assembly& assembly) {
  const fs::path folder = cache_folder();
  if (assembly.drafter() == nullptr || folder.empty()) return;
  const auto machine = describe_machine();
  key_ = fmt::format("{}\n{} {} {}\n{}\n{} threads {}", files_key(assembly.model_name()),
                     files_key(assembly.draft_model_name()), assembly.drafter()->kind(),
                     assembly.drafter()->max_nodes(), machine.ok() ? machine.value().cpu : "",
                     thread_count(assembly.exec()), assembly.isa());
  file_ = folder / fmt::format("costs-{:016x}.json", hash(key_));
}

RoundCosts CostCache::load() const {
  RoundCosts costs;
  if (file_.empty()) return costs;
  std::error_code error;
  const uintmax_t bytes = fs::file_size(file_, error);
  if (error || bytes > kMostBytes) return costs;
  std::ifstream in(file_, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  const Json file = Json::parse(text.str(), nullptr, /*allow_exceptions=*/false);
  if (!file.is_object() || file.value("version", Json()) != kVersion ||
      file.value("key", Json()) != key_)
    return costs;
  restore(file, "verify", costs.verify);
  restore(file, "chain", costs.chain);
  restore(file, "tree", costs.tree);
  restore(file, "intake", costs.intake);
  const auto credit = file.find("credit");
  if (credit != file.end() && credit->is_number())
    costs.credit = std::clamp(credit->get<double>(), 0.0, RoundCosts::kMostCredit);
  return costs;
}

void CostCache::save(const RoundCosts& costs) const {
  if (file_.empty() || costs.verify.count(1) < kEnough || !costs.chain.any()) return;
  const Json json = {{"version", kVersion},
                     {"key", key_},
                     {"verify", to_json(costs.verify)},
                     {"chain", to_json(costs.chain)},
                     {"tree", to_json(costs.tree)},
                     {"intake", to_json(costs.intake)},
                     {"credit", costs.credit}};
  std::error_code error;
  fs::create_directories(file_.parent_path(), error);
  const fs::path beside = fmt::format("{}.{}", file_.string(), getpid());
  bool written = false;
  {
    std::ofstream out(beside, std::ios::binary | std::ios::trunc);
    out << json.dump(-1, ' ', false, Json::error_handler_t::replace) << '\n';
    out.flush();
    written = out.good();
  }
  if (written) fs::rename(beside, file_, error);
  if (!written || error) fs::remove(beside, error);
}

}  // namespace spindrift
