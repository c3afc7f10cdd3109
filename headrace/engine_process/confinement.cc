#include "headrace/engine_process/confinement.h"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include "headrace/base/text.h"
#include "headrace/os/file_descriptor.h"

namespace headrace {
namespace {

#if defined(__x86_64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
#endif
// Calls of the x32 interface have this bit set, and different numbers.
constexpr std::uint32_t kX32Bit = 0x40000000;

// io_uring opens sockets and files without a system call for each. clone3 is refused because its flags lie in
// memory, where no filter sees them; the C library then falls back to clone.
constexpr int kRefusedCalls[] = {
    __NR_socket,
    __NR_socketpair,
    __NR_connect,
    __NR_bind,
    __NR_listen,
    __NR_accept,
    __NR_accept4,
    __NR_execve,
    __NR_execveat,
    __NR_ptrace,
    __NR_process_vm_readv,
    __NR_process_vm_writev,
    __NR_pidfd_getfd,
    __NR_pidfd_open,
    __NR_pidfd_send_signal,
    __NR_process_madvise,
    __NR_io_uring_setup,
    __NR_io_uring_enter,
    __NR_io_uring_register,
    __NR_bpf,
    __NR_perf_event_open,
    __NR_userfaultfd,
    __NR_keyctl,
    __NR_add_key,
    __NR_request_key,
    __NR_mount,
    __NR_umount2,
    __NR_pivot_root,
    __NR_chroot,
    __NR_unshare,
    __NR_setns,
    __NR_open_by_handle_at,
    __NR_kexec_load,
    __NR_init_module,
    __NR_finit_module,
    __NR_delete_module,
    __NR_kill,
    __NR_tkill,
    __NR_rt_sigqueueinfo,
    __NR_rt_tgsigqueueinfo,
    __NR_truncate,
    __NR_fchmodat,
    __NR_fchownat,
    __NR_utimensat,
    __NR_setxattr,
    __NR_lsetxattr,
    __NR_removexattr,
    __NR_lremovexattr,
    __NR_shmget,
    __NR_msgget,
    __NR_semget,
#if defined(__x86_64__)  // other architectures have only the successors of these calls
    __NR_fork,
    __NR_vfork,
    __NR_chmod,
    __NR_chown,
    __NR_lchown,
    __NR_utime,
    __NR_utimes,
    __NR_futimesat,
#endif
};
// The first argument of these calls names a process or a thread: only 0 and this process are allowed. Calls
// for priorities and policies are not listed: this process's threads need them, and a filter cannot know the
// threads' numbers.
constexpr int kOwnProcessCalls[] = {__NR_tgkill, __NR_prlimit64, __NR_sched_setaffinity, __NR_sched_setparam,
                                    __NR_sched_setattr};

// Folders and files that libraries read while they run.
constexpr const char* kSystemFolders[] = {"/usr",
                                          "/lib",
                                          "/lib64",
                                          "/etc/ld.so.cache",
                                          "/etc/ld.so.conf",
                                          "/etc/ld.so.conf.d",
                                          "/etc/localtime",
                                          "/etc/passwd",
                                          "/etc/group",
                                          "/etc/nsswitch.conf",
                                          "/etc/hosts",
                                          "/etc/alternatives",
                                          "/dev/null",
                                          "/dev/zero",
                                          "/dev/urandom",
                                          "/dev/random",
                                          "/proc/self",
                                          "/proc/cpuinfo",
                                          "/proc/meminfo",
                                          "/proc/stat",
                                          "/sys/devices",
                                          "/sys/fs/cgroup"};

// Rights that only newer kernels know: linking and renaming between folders, and truncating.
constexpr std::uint64_t kRefer = std::uint64_t{1} << 13, kTruncate = std::uint64_t{1} << 14;

sock_filter statement(std::uint16_t code, std::uint32_t value) { return {code, 0, 0, value}; }
sock_filter jump(std::uint16_t code, std::uint32_t value, std::uint8_t if_true, std::uint8_t if_false) {
  return {code, if_true, if_false, value};
}

bool refuse_calls() {
  const auto refuse = statement(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
  std::vector<sock_filter> program = {
      statement(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch)),
      jump(BPF_JMP | BPF_JEQ | BPF_K, kArchitecture, 1, 0),
      refuse,
      statement(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      jump(BPF_JMP | BPF_JGE | BPF_K, kX32Bit, 0, 1),
      refuse,
  };
  const auto argument = statement(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args));  // its lower half
  const auto allow = statement(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  const auto is_call = [](int call, std::uint8_t skipped) {
    return jump(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(call), 0, skipped);
  };
  for (const int call : kRefusedCalls) {
    program.push_back(is_call(call, 1));
    program.push_back(refuse);
  }
  for (const int call : kOwnProcessCalls) {
    program.insert(
        program.end(),
        {is_call(call, 5), argument, jump(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0),
         jump(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(getpid()), 0, 1), allow, refuse});
  }
  // A new thread may start, a new process may not.
  program.insert(program.end(), {is_call(__NR_clone, 4), argument,
                                 jump(BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 0, 1), allow, refuse});
  program.push_back(is_call(__NR_clone3, 1));
  program.push_back(statement(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS));
  program.push_back(allow);
  const sock_fprog filter{static_cast<unsigned short>(program.size()), program.data()};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         syscall(__NR_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &filter) == 0;
}

// Allows reading below `path`. A folder that does not exist needs no rule.
bool allow_reading(const FileDescriptor& rules, const std::string& path) {
  const FileDescriptor folder(open(path.c_str(), O_PATH | O_CLOEXEC));
  if (!folder.is_open()) return true;
  landlock_path_beneath_attr rule{};
  rule.allowed_access = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;
  rule.parent_fd = folder.get();
  if (syscall(__NR_landlock_add_rule, rules.get(), LANDLOCK_RULE_PATH_BENEATH, &rule, 0) == 0) return true;
  rule.allowed_access = LANDLOCK_ACCESS_FS_READ_FILE;  // `path` is not a folder
  return syscall(__NR_landlock_add_rule, rules.get(), LANDLOCK_RULE_PATH_BENEATH, &rule, 0) == 0;
}

// Existing threads keep their rights, but they are Headrace's own: the model's threads start later.
bool hide_files(const std::vector<std::string>& readable) {
  landlock_ruleset_attr handled{};
  handled.handled_access_fs = (LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1;  // all rights of Landlock's version 1
  const auto version = syscall(__NR_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  if (version >= 2) handled.handled_access_fs |= kRefer;
  if (version >= 3) handled.handled_access_fs |= kTruncate;
  const auto number = syscall(__NR_landlock_create_ruleset, &handled, sizeof handled, 0);
  const FileDescriptor rules(static_cast<int>(number));
  if (!rules.is_open()) return false;
  for (const char* const folder : kSystemFolders) {
    if (!allow_reading(rules, folder)) return false;
  }
  for (const std::string& folder : readable) {
    if (!allow_reading(rules, folder)) return false;
  }
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         syscall(__NR_landlock_restrict_self, rules.get(), 0) == 0;
}

}  // namespace

Result<std::string> confine_process(const std::vector<std::string>& readable) {
  const bool are_files_hidden = hide_files(readable);
  if (!refuse_calls()) {
    return Error{Code::kUnavailable,
                 concat("seccomp: ", std::strerror(errno),
                        ". A model from an untrusted source may not run without it: use a kernel, "
                        "or a container profile, that allows seccomp")};
  }
  return std::string(are_files_hidden
                         ? "no network, no programs, no files but the model's and the system's"
                         : "no network, no programs; all files, because this kernel has no Landlock");
}

}  // namespace headrace
