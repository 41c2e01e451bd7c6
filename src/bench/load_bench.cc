#include "bench/load_bench.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "bench/spread.h"
#include "io/mmap_file.h"
#include "io/model_dir.h"

namespace spindrift::bench {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

// What a child process tells.
struct Loaded {
  double ms = 0, first_token_ms = 0, rss_bytes = 0;
};

double resident_bytes() {
  std::ifstream in("/proc/self/statm");
  int64_t size = 0, resident = 0;
  in >> size >> resident;
  return static_cast<double>(resident * int64_t{sysconf(_SC_PAGE_SIZE)});
}

Result<Loaded> load_once(const AssembleOptions& options) {
  Loaded out;
  const auto start = Clock::now();
  SPINDRIFT_TRY(const auto assembly, assemble(options));
  out.ms = ms_since(start);
  Workspace ws;
  const std::unique_ptr<Sequence> seq = assembly->target().open();
  constexpr TokenId kFirst[] = {0};
  const SeqRows rows{.seq = seq.get(), .tokens = kFirst};
  assembly->target().forward(std::span(&rows, 1), {}, ws, assembly->exec());
  out.first_token_ms = ms_since(start);
  out.rss_bytes = resident_bytes();
  return out;
}

// load_once() in a child. A failure is repeated here, where its error can be returned.
Result<Loaded> load_in_child(const AssembleOptions& options) {
  int ends[2];
  if (pipe(ends) != 0) return Error{ErrorCode::kIo, "bench load: no pipe to a child process"};
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    const Result<Loaded> loaded = load_once(options);
    if (loaded.ok() && write(ends[1], &loaded.value(), sizeof(Loaded)) == sizeof(Loaded)) _exit(0);
    _exit(1);
  }
  close(ends[1]);
  Loaded out;
  const bool told = child > 0 && read(ends[0], &out, sizeof out) == sizeof out;
  close(ends[0]);
  if (child > 0) waitpid(child, nullptr, 0);
  if (told) return out;
  SPINDRIFT_TRY(out, load_once(options));
  return Error{ErrorCode::kIo, "bench load: expected a child process to load the model"};
}

std::vector<fs::path> files_of(const fs::path& folder) {
  std::vector<fs::path> out;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error))
    if (entry.is_regular_file(error)) out.push_back(entry.path());
  return out;
}

void drop_from_memory(const fs::path& file) {
  const int fd = open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
  close(fd);
}

// Of the files' pages, the share that is in memory.
double cached_share(const std::vector<fs::path>& files) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGE_SIZE));
  size_t pages = 0, present = 0;
  for (const fs::path& file : files) {
    const auto mapped = MappedFile::open(file);
    if (!mapped.ok() || mapped.value()->bytes().empty()) continue;
    const std::span<const std::byte> bytes = mapped.value()->bytes();
    std::vector<unsigned char> in_memory((bytes.size() + page - 1) / page);
    if (mincore(const_cast<std::byte*>(bytes.data()), bytes.size(), in_memory.data()) != 0)
      continue;
    pages += in_memory.size();
    for (const unsigned char p : in_memory) present += p & 1U;
  }
  return pages == 0 ? 0 : static_cast<double>(present) / static_cast<double>(pages);
}

struct Kind {
  const char* what;
  bool drop;
  std::vector<double> ms, first_token_ms, rss_bytes, cached;
};

}  // namespace

Result<std::vector<Point>> bench_load(const AssembleOptions& options, int repeat,
                                      const std::function<void(std::string_view)>& progress) {
  SPINDRIFT_TRY(const fs::path folder, resolve_model(options.model));
  std::vector<fs::path> files = files_of(folder);
  if (!options.draft_model.empty()) {
    SPINDRIFT_TRY(const fs::path draft_folder, resolve_model(options.draft_model));
    for (fs::path& file : files_of(draft_folder)) files.push_back(std::move(file));
  }
  Kind kinds[] = {{"cold", true, {}, {}, {}, {}}, {"warm", false, {}, {}, {}, {}}};
  for (int pass = 0; pass < repeat; ++pass) {
    for (Kind& kind : kinds) {
      progress(kind.what);
      if (kind.drop)
        for (const fs::path& file : files) drop_from_memory(file);
      kind.cached.push_back(cached_share(files));
      SPINDRIFT_TRY(const Loaded loaded, load_in_child(options));
      kind.ms.push_back(loaded.ms);
      kind.first_token_ms.push_back(loaded.first_token_ms);
      kind.rss_bytes.push_back(loaded.rss_bytes);
    }
  }
  std::vector<Point> points;
  for (const Kind& kind : kinds) {
    Point point = {{"what", std::string(kind.what)}};
    add_spread(point, "ms", spread(kind.ms));
    const Field rest[] = {{"first_token_ms", spread(kind.first_token_ms).median},
                          {"rss_bytes", static_cast<int64_t>(spread(kind.rss_bytes).median)},
                          {"cached_share", spread(kind.cached).median}};
    point.insert(point.end(), std::begin(rest), std::end(rest));
    points.push_back(std::move(point));
  }
  return points;
}

}  // namespace spindrift::bench
