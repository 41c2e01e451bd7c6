#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace spindrift::testing {

// Runs `work` in a child process whose system calls are watched by the kernel (a seccomp filter)
// and returns, in order, the path of every file it opened or tried to open, and "forbidden system
// call N" for each other call by which a process reaches outside itself: starting programs or
// processes, sockets, creating, removing or renaming files. Those calls fail. Nothing when the
// system has no such filters.
std::optional<std::vector<std::string>> opened_files(const std::function<void()>& work);

}  // namespace spindrift::testing
