#include "app/machine.h"

#include <unistd.h>

#include <fstream>
#include <string_view>

#include "app/cpu_budget.h"
#include "kernels/registry.h"

namespace spindrift {
namespace {

std::string cpu_name() {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);) {
    if (line.rfind("model name", 0) != 0) continue;
    const size_t colon = line.find(": ");
    if (colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown";
}

}  // namespace

Result<Machine> describe_machine() {
  Machine out;
  out.cpu = cpu_name();
  for (const kernels::Isa isa : kernels::usable_isas())
    out.usable_isas.emplace_back(kernels::table(isa).name);
  SPINDRIFT_TRY(const kernels::Isa isa, kernels::default_isa());
  out.isa = kernels::table(isa).name;
  out.threads = cpu_budget();
  out.memory_bytes = int64_t{sysconf(_SC_PHYS_PAGES)} * int64_t{sysconf(_SC_PAGE_SIZE)};
  return out;
}

}  // namespace spindrift
