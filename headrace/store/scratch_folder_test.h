#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

namespace headrace {

/// For tests: a folder that all tests of a program share. It is removed when the program ends.
class ScratchFolder final : public testing::Environment {
 public:
  void SetUp() override {
    path = (std::filesystem::temp_directory_path() / "headrace-test-XXXXXX").string();
    ASSERT_NE(mkdtemp(path.data()), nullptr);
  }
  void TearDown() override { std::filesystem::remove_all(path); }
  std::string new_root() { return path + "/" + std::to_string(++roots_); }

  std::string path;

 private:
  int roots_ = 0;
};

}  // namespace headrace
