#pragma once

/// \file The suite that every driver and every layer passes. A driver's test file adds one statement:
///
///   INSTANTIATE_TEST_SUITE_P(Memory, StoreConformance, testing::Values(DriverUnderTest{
///       "memory", [] { return make_memory_store("test"); }}), driver_name);
///
/// The suite is an object library, because the linker would drop its tests from an archive.
///
/// Two environment variables make the suite larger, for soak tests. HEADRACE_CONFORMANCE_KEYS is the number
/// of keys that are listed while others are written and removed (default 900).
/// HEADRACE_CONFORMANCE_OBJECT_BYTES is the size of the largest object (default 20 MB).

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
  /// Makes an empty store; called once for each test. Returning null fails the test.
  std::function<std::unique_ptr<Store>()> open_empty;
  /// False: the driver's server cannot list keys with control characters. They can still be written and read.
  bool lists_control_characters = true;
  /// Length of the longest key that the driver accepts.
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
