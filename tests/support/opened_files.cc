#include "support/opened_files.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstring>

namespace spindrift::testing {
namespace {

// Shared by the child, which writes, and its parent.
struct Log {
  size_t used;
  bool complete;  // the work was done
  char lines[64 * 1024];
};
Log* shared_log = nullptr;

// The sixth argument of a call that the handler passes on; openat ignores it.
constexpr unsigned long kPassedOn = 0x5EED;

void append(const char* text) {
  const size_t length = std::strlen(text);
  if (shared_log->used + length + 1 > sizeof shared_log->lines) ::_exit(3);
  std::memcpy(shared_log->lines + shared_log->used, text, length);
  shared_log->used += length;
  shared_log->lines[shared_log->used++] = '\n';
}

// The result and the arguments of the interrupted system call.
#if defined(__x86_64__)
long long& result_of(ucontext_t& context) { return context.uc_mcontext.gregs[REG_RAX]; }
unsigned long argument(const ucontext_t& context, int number) {
  constexpr int kRegisters[] = {REG_RDI, REG_RSI, REG_RDX, REG_R10};
  return static_cast<unsigned long>(context.uc_mcontext.gregs[kRegisters[number]]);
}
constexpr unsigned kArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
unsigned long long& result_of(ucontext_t& context) { return context.uc_mcontext.regs[0]; }
unsigned long argument(const ucontext_t& context, int number) {
  return context.uc_mcontext.regs[number];
}
constexpr unsigned kArchitecture = AUDIT_ARCH_AARCH64;
#else
#error "say where this processor keeps the arguments of a system call"
#endif

void on_system_call(int, siginfo_t* info, void* raw_context) {
  auto& context = *static_cast<ucontext_t*>(raw_context);
  long result = -EPERM;
  if (info->si_syscall == SYS_openat) {
    append(reinterpret_cast<const char*>(argument(context, 1)));
    result = ::syscall(SYS_openat, argument(context, 0), argument(context, 1), argument(context, 2),
                       argument(context, 3), 0UL, kPassedOn);
    if (result < 0) result = -errno;
  } else {
    char line[64];
    std::snprintf(line, sizeof line, "forbidden system call %d", info->si_syscall);
    append(line);
  }
  result_of(context) = static_cast<std::remove_reference_t<decltype(result_of(context))>>(result);
}

bool watch() {
  struct sigaction action = {};
  action.sa_sigaction = on_system_call;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  if (::sigaction(SIGSYS, &action, nullptr) != 0) return false;

  std::vector<sock_filter> program = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kArchitecture, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 4),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args[5])),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kPassedOn, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
  };
  for (const int call : {
#if defined(__x86_64__)
         SYS_open, SYS_creat, SYS_fork, SYS_vfork, SYS_unlink, SYS_rename, SYS_link, SYS_symlink,
             SYS_mkdir,
#endif
             SYS_openat2, SYS_open_by_handle_at, SYS_clone, SYS_clone3, SYS_execve, SYS_execveat,
             SYS_socket, SYS_socketpair, SYS_connect, SYS_memfd_create, SYS_unlinkat, SYS_renameat2,
             SYS_linkat, SYS_symlinkat, SYS_mkdirat, SYS_ptrace, SYS_io_uring_setup
       }) {
    program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(call), 0, 1));
    program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP));
  }
  program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  const sock_fprog filter{static_cast<unsigned short>(program.size()), program.data()};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

}  // namespace

std::optional<std::vector<std::string>> opened_files(const std::function<void()>& work) {
  constexpr int kNoFilter = 2;
  void* memory =
      ::mmap(nullptr, sizeof(Log), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return std::nullopt;
  shared_log = static_cast<Log*>(memory);
  const pid_t child = ::fork();
  if (child == 0) {
    if (!watch()) ::_exit(kNoFilter);
    work();
    shared_log->complete = true;
    ::_exit(0);
  }
  int status = 0;
  std::optional<std::vector<std::string>> files;
  if (child > 0 && ::waitpid(child, &status, 0) == child &&
      !(WIFEXITED(status) && WEXITSTATUS(status) == kNoFilter)) {
    files.emplace();
    std::string line;
    for (size_t i = 0; i < shared_log->used; ++i) {
      if (shared_log->lines[i] != '\n') {
        line += shared_log->lines[i];
        continue;
      }
      files->push_back(std::move(line));
      line.clear();
    }
    if (!shared_log->complete) files->push_back("the child died");
  }
  ::munmap(memory, sizeof(Log));
  shared_log = nullptr;
  return files;
}

}  // namespace spindrift::testing
