#include "headrace/train/event_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "headrace/base/text.h"
#include "headrace/store/registry.h"
#include "headrace/store/url.h"

namespace headrace {
namespace {

using testing::ElementsAre;

class EventSegments : public testing::Test {
 protected:
  EventSegments() : folder(*stores.open("memory://test/run/events/train")) {}

  // Writes the segments of an owner in epochs `first` to `last`. The first owner has entry 1.
  void write(std::uint64_t owner, std::uint64_t first, std::uint64_t last) {
    EventLog log(folder, "test", owner == 1 ? "" : concat("-o", owner));
    for (std::uint64_t epoch = first; epoch <= last; ++epoch) {
      log.begin(epoch, 1);
      ASSERT_TRUE(log.end());
    }
  }
  void remove_superseded(std::uint64_t epoch, std::uint64_t owner) {
    ASSERT_TRUE(remove_superseded_segments(folder, epoch, owner));
  }
  // Names of the segments without what all have in common.
  std::vector<std::string> segments() {
    std::vector<std::string> names;
    const auto objects = list_all(*folder.store, folder.key);
    for (const ObjectInfo& object : *objects)
      names.push_back(std::string(
          last_segment(object.key).substr(std::string_view("events.out.tfevents.headrace").size())));
    return names;
  }

  StoreRegistry stores{Environment{}};
  Location folder;
};

TEST_F(EventSegments, AnOwnerWritesAnEpochThatWasNotCompletedAgain) {
  write(1, 1, 3);
  remove_superseded(2, 2);
  EXPECT_THAT(segments(), ElementsAre("", ".000002"));
  write(2, 3, 4);
  remove_superseded(4, 2);
  EXPECT_THAT(segments(), ElementsAre("", ".000002", ".000003-o2", ".000004-o2"));
}

TEST_F(EventSegments, AStalledOwnerRemovesNothingOfItsSuccessors) {
  write(1, 1, 2);
  write(3, 2, 4);
  remove_superseded(1, 2);
  EXPECT_THAT(segments(), ElementsAre("", ".000002-o3", ".000003-o3", ".000004-o3"))
      << "but of its predecessor";
}

TEST_F(EventSegments, WhatAStalledOwnerWroteAfterItsSuccessorGoesWhenThatHasFinished) {
  write(3, 1, 2);
  write(2, 1, 1);
  remove_superseded(2, 3);
  EXPECT_THAT(segments(), ElementsAre(".000000-o3", ".000002-o3"));
  write(2, 9, 9);  // of an earlier generation, which was longer
  remove_superseded(2, 3);
  EXPECT_THAT(segments(), ElementsAre(".000000-o3", ".000002-o3"));
}

}  // namespace
}  // namespace headrace
