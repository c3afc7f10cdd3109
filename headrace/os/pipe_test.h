#pragma once

/// \file For tests of code that reads a descriptor: a pipe.

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <stop_token>
#include <string_view>

namespace headrace {

class PipeTest : public testing::Test {
 protected:
  PipeTest() { EXPECT_EQ(pipe(ends_.data()), 0); }
  ~PipeTest() override {
    end();
    close(ends_[0]);
  }

  int descriptor() const { return ends_[0]; }
  void send(std::string_view text) {
    ASSERT_EQ(::write(ends_[1], text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  void end() {
    if (ends_[1] >= 0) close(ends_[1]);
    ends_[1] = -1;
  }

  std::stop_source stop;

 private:
  std::array<int, 2> ends_{};
};

}  // namespace headrace
