#include "io/model_dir.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <set>
#include <utility>

#include "io/file.h"
#include "io/quote.h"

namespace spindrift {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kMaxRefBytes = 1024;
constexpr size_t kShortCommit = 12;
constexpr size_t kMaxIdBytes = 512;
constexpr int kMaxSearchDepth = 8;
constexpr int kMaxSearchedFolders = 100'000;

bool is_folder(const fs::path& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

// Names of the entries of a folder, ascending; empty when it cannot be read.
std::vector<std::string> entries(const fs::path& folder) {
  std::vector<std::string> out;
  std::error_code code;
  for (fs::directory_iterator at(folder, code), end; !code && at != end; at.increment(code))
    out.push_back(at->path().filename().string());
  std::sort(out.begin(), out.end());
  return out;
}

bool plain_part(std::string_view part) {
  return !part.empty() && part.front() != '.' && part.front() != '-' &&
         std::all_of(part.begin(), part.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '.' || c == '_' || c == '-';
         });
}

// A branch may have slashes (refs/pr/1); each part must be a plain name, so that no path leaves the
// cache.
bool plain_revision(std::string_view revision) {
  while (true) {
    const size_t slash = revision.find('/');
    if (!plain_part(revision.substr(0, slash))) return false;
    if (slash == std::string_view::npos) return true;
    revision.remove_prefix(slash + 1);
  }
}

struct HubId {
  std::string repository;  // org/name
  std::string revision;
};

std::optional<HubId> parse_hub_id(std::string_view model) {
  if (model.size() > kMaxIdBytes) return std::nullopt;
  const size_t at = model.find('@');
  const std::string_view repository = model.substr(0, at);
  const std::string_view revision = at == std::string_view::npos ? "main" : model.substr(at + 1);
  const size_t slash = repository.find('/');
  if (slash == std::string_view::npos || !plain_part(repository.substr(0, slash)) ||
      !plain_part(repository.substr(slash + 1)) || !plain_revision(revision))
    return std::nullopt;
  return HubId{std::string(repository), std::string(revision)};
}

std::string cache_folder_name(const std::string& repository) {
  const size_t slash = repository.find('/');
  return "models--" + repository.substr(0, slash) + "--" + repository.substr(slash + 1);
}

// The commit a ref file names, or nothing when it is absent or holds something else.
std::optional<std::string> read_ref(const fs::path& path) {
  Result<std::string> text = read_file(path, kMaxRefBytes);
  if (!text.ok()) return std::nullopt;
  std::string commit = std::move(text).value();
  while (!commit.empty() &&
         (commit.back() == '\n' || commit.back() == '\r' || commit.back() == ' '))
    commit.pop_back();
  if (!plain_part(commit)) return std::nullopt;
  return commit;
}

std::string joined(const std::vector<std::string>& names) {
  if (names.empty()) return "none";
  std::string out;
  for (const std::string& name : names) {
    if (!out.empty()) out += ", ";
    out += name;
  }
  return quoted_for_message(out, 200);
}

Result<fs::path> resolve_in_cache(const HubId& id, const fs::path& cache) {
  const fs::path repository = cache / cache_folder_name(id.repository);
  if (!is_folder(repository))
    return Error{ErrorCode::kNotFound,
                 id.repository + ": expected a folder or a model in the local cache, found no " +
                     repository.string(),
                 "nothing is downloaded here; get it first, for example: hf download " +
                     id.repository + (id.revision == "main" ? "" : " --revision " + id.revision)};
  const fs::path snapshots = repository / "snapshots";
  const std::vector<std::string> commits = entries(snapshots);
  if (const auto commit = read_ref(repository / "refs" / id.revision)) {
    if (is_folder(snapshots / *commit)) return snapshots / *commit;
    return Error{ErrorCode::kNotFound,
                 (repository / "refs" / id.revision).string() + ": expected a snapshot " +
                     quoted_for_message(*commit) + ", found " + joined(commits),
                 "the download is incomplete; run it again"};
  }
  std::vector<std::string> fitting;
  for (const std::string& commit : commits) {
    if (commit == id.revision) return snapshots / commit;
    if (commit.starts_with(id.revision)) fitting.push_back(commit);
  }
  if (fitting.size() == 1) return snapshots / fitting.front();
  const std::string where = id.repository + ": revision " + quoted_for_message(id.revision);
  if (fitting.size() > 1)
    return Error{ErrorCode::kInvalid,
                 where + ": expected the prefix of one snapshot, found " + joined(fitting),
                 "write more of the commit"};
  return Error{ErrorCode::kNotFound,
               where + ": expected one that is in the local cache, found the branches or tags " +
                   joined(entries(repository / "refs")) + " and the snapshots " + joined(commits),
               "name one of them as " + id.repository + "@REVISION, or download this one"};
}

bool has_config(const fs::path& folder) {
  std::error_code ignored;
  return fs::exists(folder / "config.json", ignored);
}

// Naming the folder above a model is a common slip.
Status refuse_folder_of_models(const fs::path& folder) {
  if (has_config(folder)) return ok_status();
  for (const std::string& name : entries(folder)) {
    if (!has_config(folder / name)) continue;
    return Error{ErrorCode::kNotFound,
                 quoted_for_message(folder.string(), 300) +
                     ": expected a model folder, found a folder of model folders",
                 "name one of them, for example " + (folder / name).string()};
  }
  return ok_status();
}

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

fs::path with_home(const std::string& path) {
  if (path == "~" || path.starts_with("~/"))
    return fs::path(environment("HOME")) / path.substr(std::min<size_t>(2, path.size()));
  return path;
}

// Walks folders and collects models.
class Search {
 public:
  void visit(const fs::path& folder, int depth) {
    if (depth > kMaxSearchDepth || ++folders_ > kMaxSearchedFolders) return;
    struct stat st {};
    if (::stat(folder.c_str(), &st) != 0 || !S_ISDIR(st.st_mode)) return;
    if (!seen_.emplace(st.st_dev, st.st_ino).second) return;
    std::error_code ignored;
    if (fs::is_regular_file(folder / "config.json", ignored)) {
      found_.push_back({folder.string(), folder});
      return;
    }
    for (const std::string& name : entries(folder)) {
      if (name.front() == '.') continue;
      if (name.starts_with("models--"))
        visit_repository(folder / name, name.substr(std::string_view("models--").size()));
      else
        visit(folder / name, depth + 1);
    }
  }

  std::vector<ModelCandidate> take() {
    std::sort(found_.begin(), found_.end(),
              [](const auto& a, const auto& b) { return a.name < b.name; });
    return std::move(found_);
  }

 private:
  // `label` is org--name. A name may itself have "--", an organisation may not.
  void visit_repository(const fs::path& repository, const std::string& label) {
    const size_t dashes = label.find("--");
    if (dashes == std::string::npos) return;
    const std::string id = label.substr(0, dashes) + "/" + label.substr(dashes + 2);
    const auto main = read_ref(repository / "refs" / "main");
    for (const std::string& commit : entries(repository / "snapshots")) {
      const fs::path folder = repository / "snapshots" / commit;
      std::error_code ignored;
      if (!fs::is_regular_file(folder / "config.json", ignored)) continue;
      found_.push_back({commit == main ? id : id + "@" + commit.substr(0, kShortCommit), folder});
    }
  }

  std::set<std::pair<dev_t, ino_t>> seen_;
  int folders_ = 0;
  std::vector<ModelCandidate> found_;
};

}  // namespace

fs::path hub_cache_dir() {
  if (const std::string hub = environment("HF_HUB_CACHE"); !hub.empty()) return with_home(hub);
  if (const std::string home = environment("HF_HOME"); !home.empty())
    return with_home(home) / "hub";
  if (const std::string cache = environment("XDG_CACHE_HOME"); !cache.empty())
    return with_home(cache) / "huggingface" / "hub";
  return with_home("~/.cache/huggingface/hub");
}

Result<fs::path> resolve_model(std::string_view model, const fs::path& cache) {
  const fs::path folder(model);
  if (is_folder(folder)) {
    SPINDRIFT_TRY_STATUS(refuse_folder_of_models(folder));
    return folder;
  }
  const std::string shown = quoted_for_message(model, 300);
  std::error_code ignored;
  if (fs::exists(folder, ignored))
    return Error{ErrorCode::kInvalid, shown + ": expected a model folder, found a file",
                 "name the folder that holds config.json"};
  if (const auto id = parse_hub_id(model)) return resolve_in_cache(*id, cache);
  return Error{ErrorCode::kNotFound,
               shown + ": expected a model folder or an org/name[@revision], found neither"};
}

Result<fs::path> resolve_model(std::string_view model) {
  return resolve_model(model, hub_cache_dir());
}

Result<std::vector<ModelCandidate>> find_models(const fs::path& folder) {
  if (!is_folder(folder))
    return Error{ErrorCode::kNotFound,
                 quoted_for_message(folder.string(), 300) + ": expected a folder, found none"};
  Search search;
  search.visit(folder, 0);
  return search.take();
}

}  // namespace spindrift
