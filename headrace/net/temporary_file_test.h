#pragma once

/// \file For tests: a file that is gone with the test.

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <string>
#include <string_view>

#include "headrace/base/environment.h"
#include "headrace/base/text.h"

namespace headrace {

class TemporaryFile {
 public:
  explicit TemporaryFile(std::string_view content)
      : path_(testing::TempDir() + "headrace-" + hex64(random_name_bits())) {
    std::FILE* file = std::fopen(path_.c_str(), "wb");
    EXPECT_EQ(std::fwrite(content.data(), 1, content.size(), file), content.size());
    std::fclose(file);
  }
  ~TemporaryFile() { ::unlink(path_.c_str()); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace headrace
