#include "app/cpu_budget.h"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>

#include "app/control_groups.h"

namespace spindrift {
namespace {

namespace fs = std::filesystem;

std::string first_line(const fs::path& file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  return line;
}

int physical_cores() {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0)
    return static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  // Processors of one core name the same list of siblings; without one, each counts as a core.
  std::set<std::string> cores;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &allowed) == 0) continue;
    const std::string name = "cpu" + std::to_string(cpu);
    const std::string siblings =
        first_line(fs::path("/sys/devices/system/cpu") / name / "topology/thread_siblings_list");
    cores.insert(siblings.empty() ? name : siblings);
  }
  return std::max(1, static_cast<int>(cores.size()));
}

// Processors' worth of time from "quota period"; infinity when there is no quota.
double share(double quota, double period) {
  return quota > 0 && period > 0 ? quota / period : HUGE_VAL;
}

double quota_of(const fs::path& v2, const fs::path& v1) {
  double least = HUGE_VAL;
  if (std::ifstream in(v2 / "cpu.max"); in) {
    std::string quota;
    double period = 0;
    if (in >> quota >> period && quota != "max")
      least = std::min(least, share(std::strtod(quota.c_str(), nullptr), period));
  }
  if (std::ifstream quota(v1 / "cpu.cfs_quota_us"), period(v1 / "cpu.cfs_period_us");
      quota && period) {
    double q = 0, p = 0;
    if (quota >> q && period >> p) least = std::min(least, share(q, p));
  }
  return least;
}

// The tightest quota from this process's group up to the root, in both versions of control groups.
double cgroup_quota() {
  double least = HUGE_VAL;
  for (const fs::path& group : control_groups("cpu"))
    least = std::min(least, quota_of("/sys/fs/cgroup" / group, "/sys/fs/cgroup/cpu" / group));
  return least;
}

}  // namespace

int cpu_budget() {
  const double quota = cgroup_quota();
  const int cores = physical_cores();
  if (quota >= cores) return cores;
  return std::max(1, static_cast<int>(std::floor(quota + 0.5)));
}

Result<std::unique_ptr<ThreadPool>> make_threads(int threads) {
  try {
    return std::make_unique<ThreadPool>(threads);
  } catch (const std::system_error& error) {
    return Error{ErrorCode::kLimit,
                 "threads: expected " + std::to_string(threads) +
                     ", found that the system does not give so many: " + error.what(),
                 "ask for fewer with --threads"};
  }
}

}  // namespace spindrift
