#include "headrace/events/log_layout.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace headrace {
namespace {

std::vector<ObjectInfo> objects(const std::vector<std::string>& keys) {
  std::vector<ObjectInfo> out;
  for (const std::string& key : keys) out.push_back({.key = key});
  return out;
}

std::vector<std::string> keys(const LogSegments& segments) {
  std::vector<std::string> out;
  for (const ObjectInfo& object : segments) out.push_back(object.key);
  return out;
}

TEST(LogLayout, EveryFolderThatHoldsAnEventFileIsARun) {
  const LogLayout layout = lay_out_logs(
      "logs/", objects({"logs/events.out.tfevents.1", "logs/a/b/x.tfevents", "logs/a/weights.bin",
                        "logs/c/d/notes", "logs/tfevents/model.bin", "elsewhere/tfevents"}));
  ASSERT_EQ(layout.size(), 2U);
  EXPECT_TRUE(layout.contains("."));
  EXPECT_TRUE(layout.contains("a/b"));
}

TEST(LogLayout, NumberedObjectsAreSegmentsOfTheOneTheyBeginWith) {
  const LogLayout layout = lay_out_logs(
      "", objects({"r/tfevents.1", "r/tfevents.1.1000000", "r/tfevents.1.000002", "r/tfevents.1.000001"}));
  EXPECT_EQ(keys(layout.at("r").at("tfevents.1")),
            (std::vector<std::string>{"r/tfevents.1", "r/tfevents.1.000001", "r/tfevents.1.000002",
                                      "r/tfevents.1.1000000"}));
}

TEST(LogLayout, OtherNamesAreLogsOfTheirOwn) {
  const LogLayout layout = lay_out_logs("", objects({"r/tfevents.17.host.123456", "r/tfevents.17.other",
                                                     "r/tfevents.17.other.12", "r/tfevents.17.other.v2"}));
  EXPECT_EQ(layout.at("r").size(), 4U) << "no object is called tfevents.17.host, and 12 has too few digits";
}

}  // namespace
}  // namespace headrace
