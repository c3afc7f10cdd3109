#include "headrace/engine_process/confinement.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <thread>

namespace headrace {
namespace {

namespace fs = std::filesystem;

// The exit status of a process that confines itself and then does this.
int confined(const std::vector<std::string>& readable, const std::function<int(bool hides_files)>& act) {
  const pid_t child = fork();
  if (child == 0) {
    const auto holds = confine_process(readable);
    _exit(holds ? act(holds->find("no files") != std::string::npos) : 100);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 200;
}

bool can_open(const fs::path& path, int flags) {
  const int descriptor = open(path.c_str(), flags | O_CLOEXEC, 0600);
  if (descriptor >= 0) close(descriptor);
  return descriptor >= 0;
}

TEST(Confinement, NoSocketsAndNoPrograms) {
  EXPECT_EQ(confined({},
                     [](bool) {
                       if (socket(AF_INET, SOCK_STREAM, 0) >= 0 || errno != EPERM) return 1;
                       if (socket(AF_UNIX, SOCK_STREAM, 0) >= 0) return 2;
                       execl("/bin/true", "true", nullptr);
                       return errno == EPERM ? 0 : 3;
                     }),
            0);
}

TEST(Confinement, ThreadsThatWereThereBeforeHaveNoSocketsEither) {
  const pid_t child = fork();
  if (child == 0) {
    std::promise<void> is_confined;
    int opened = 0;
    std::jthread before([&] {
      is_confined.get_future().wait();
      opened = socket(AF_INET, SOCK_STREAM, 0);
    });
    const auto holds = confine_process({});
    is_confined.set_value();
    before.join();
    _exit(holds && opened < 0 ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST(Confinement, OtherProcessesAreLeftAlone) {
  EXPECT_EQ(confined({},
                     [](bool) {
                       const pid_t parent = getppid();
                       if (kill(parent, 0) == 0 || syscall(SYS_tgkill, parent, parent, 0) == 0) return 1;
                       const rlimit limit{RLIM_INFINITY, RLIM_INFINITY};
                       if (syscall(SYS_prlimit64, parent, RLIMIT_CPU, &limit, nullptr) == 0) return 2;
                       if (fork() >= 0) return 3;
                       rlimit own{};
                       if (getrlimit(RLIMIT_NOFILE, &own) != 0) return 4;
                       return syscall(SYS_tgkill, getpid(), getpid(), 0) == 0 ? 0 : 5;
                     }),
            0);
}

TEST(Confinement, FilesOfOthersAreHidden) {
  const fs::path folder = fs::path(testing::TempDir()) / "headrace-confinement";
  fs::create_directories(folder / "model");
  std::ofstream(folder / "model/saved_model.pb") << "a graph";
  std::ofstream(folder / "secret") << "a secret";
  EXPECT_EQ(confined({(folder / "model").string()},
                     [&](bool hides_files) {
                       if (!can_open(folder / "model/saved_model.pb", O_RDONLY)) return 1;
                       if (!can_open("/etc/passwd", O_RDONLY)) return 2;
                       if (!hides_files) return 0;
                       if (can_open(folder / "secret", O_RDONLY)) return 3;
                       if (can_open(folder / "model/saved_model.pb", O_RDWR)) return 4;
                       if (can_open(folder / "model/new", O_WRONLY | O_CREAT)) return 5;
                       if (can_open("/etc/shadow", O_RDONLY)) return 6;
                       if (truncate((folder / "secret").c_str(), 0) == 0) return 7;
                       if (chmod((folder / "secret").c_str(), 0777) == 0) return 8;
                       return 0;
                     }),
            0);
  fs::remove_all(folder);
}

TEST(Confinement, MemoryAndThreadsGoOn) {
  EXPECT_EQ(confined({},
                     [](bool) {
                       int ran = 0;
                       std::jthread([&] {
                         ran = static_cast<int>(std::vector<char>(50'000'000, 1).size());
                       }).join();
                       return ran == 50'000'000 ? 0 : 1;
                     }),
            0);
}

}  // namespace
}  // namespace headrace
