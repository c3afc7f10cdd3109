#include "headrace/engine_process/confinement.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <functional>
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

TEST(Confinement, ThreadsThatWereThereBeforeAreConfinedToo) {
  EXPECT_EQ(confined({},
                     [](bool) {
                       int opened = 0;
                       std::jthread([&] { opened = socket(AF_INET, SOCK_STREAM, 0); }).join();
                       return opened < 0 ? 0 : 1;
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
