#pragma once

/// \file The suite that every driver and every layer passes. A driver's test file adds one statement:
///
///   INSTANTIATE_TEST_SUITE_P(Memory, StoreConformance, testing::Values(DriverUnderTest{
///       "memory", [] { return make_memory_store("test"); }}), driver_name);
///
/// Built as an object library: from an archive the linker would drop its tests.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>

#include "headrace/store/store.h"

namespace headrace {

struct DriverUnderTest {
  std::string name;
  /// An empty store; called once a test. Null fails the test.
  std::function<std::unique_ptr<Store>()> open_empty;
};

class StoreConformance : public testing::TestWithParam<DriverUnderTest> {
 protected:
  void SetUp() override;
  std::string text_of(std::string_view key);
  std::vector<std::string> keys(std::string_view prefix, const ListOptions& options = {});

  std::unique_ptr<Store> store;
};

inline std::string driver_name(const testing::TestParamInfo<DriverUnderTest>& info) {
  return info.param.name;
}

}  // namespace headrace
