#pragma once

/// \file The suite that every driver and every layer passes. A driver's test file adds one statement:
///
///   INSTANTIATE_TEST_SUITE_P(Memory, StoreConformance, testing::Values(DriverUnderTest{
///       "memory", [] { return make_memory_store("test"); }}), driver_name);
///
/// Built as an object library: from an archive the linker would drop its tests.
///
/// Two variables make it larger, for soaks: HEADRACE_CONFORMANCE_KEYS, how many keys are listed while others
/// come and go (900 else), and HEADRACE_CONFORMANCE_OBJECT_BYTES, how large the largest object is (20 MB
/// else).

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/store/store.h"

namespace headrace {

struct DriverUnderTest {
  std::string name;
  /// An empty store; called once a test. Null fails the test.
  std::function<std::unique_ptr<Store>()> open_empty;
  /// False: its server cannot list keys with control characters. That they are written and read still counts.
  bool lists_control_characters = true;
  /// Longest key that it takes.
  std::size_t max_key_bytes = 1024;
};

class StoreConformance : public testing::TestWithParam<DriverUnderTest> {
 protected:
  void SetUp() override;
  std::string text_of(std::string_view key);
  std::vector<std::string> keys(std::string_view prefix, const ListOptions& options = {});

  std::unique_ptr<Store> store;
};

Bytes random_bytes(std::size_t size, unsigned seed);

#define ASSERT_OK(expression)                            \
  do {                                                   \
    const auto& ok_result = (expression);                \
    ASSERT_TRUE(ok_result) << ok_result.error().message; \
  } while (false)

inline std::string driver_name(const testing::TestParamInfo<DriverUnderTest>& info) {
  return info.param.name;
}

}  // namespace headrace
