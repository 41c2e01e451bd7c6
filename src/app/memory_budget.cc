#include "app/memory_budget.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "app/control_groups.h"

namespace spindrift {
namespace {

namespace fs = std::filesystem;

// What a control group's file says in bytes; `otherwise` when it sets no limit ("max").
int64_t limit_in(const fs::path& file, int64_t otherwise) {
  std::ifstream in(file);
  int64_t bytes = 0;
  return in >> bytes && bytes > 0 ? std::min(bytes, otherwise) : otherwise;
}

// The least limit from this process's group up to the root, in both versions of control groups.
int64_t within_groups(int64_t bytes) {
  for (const fs::path& group : control_groups("memory")) {
    bytes = limit_in("/sys/fs/cgroup" / group / "memory.max", bytes);
    bytes = limit_in("/sys/fs/cgroup/memory" / group / "memory.limit_in_bytes", bytes);
  }
  return bytes;
}

double gib(int64_t bytes) { return static_cast<double>(bytes) / (1 << 30); }

}  // namespace

int64_t memory_budget() {
  return within_groups(int64_t{sysconf(_SC_PHYS_PAGES)} * int64_t{sysconf(_SC_PAGE_SIZE)});
}

std::optional<std::string> memory_warning(const std::string& model, int64_t weight_bytes,
                                          int64_t budget) {
  if (weight_bytes <= budget) return std::nullopt;
  const double missing = 1 - static_cast<double>(budget) / static_cast<double>(weight_bytes);
  return fmt::format(
      "{}: {:.1f} GiB of weights and {:.1f} GiB of memory for them; it runs, but at least {:.0f} % "
      "of the weights that a token needs come from disk, again for every token",
      model, gib(weight_bytes), gib(budget), 100 * missing);
}

Status room_for_copies(const std::string& model, int64_t weight_bytes, int64_t budget) {
  if (weight_bytes <= budget) return ok_status();
  return Error{
      ErrorCode::kLimit,
      fmt::format("{}: --large-pages copies {:.1f} GiB of weights, and there are {:.1f} GiB "
                  "of memory",
                  model, gib(weight_bytes), gib(budget)),
      "leave --large-pages out: weights that are only mapped may be larger than memory"};
}

std::optional<std::string> large_pages_warning() {
  std::ifstream in("/sys/kernel/mm/transparent_hugepage/enabled");
  std::string line;
  if (!std::getline(in, line) || line.find("[never]") == std::string::npos) return std::nullopt;
  return "--large-pages: large pages are switched off on this machine "
         "(/sys/kernel/mm/transparent_hugepage/enabled), so the weights are copied to small ones";
}

}  // namespace spindrift
