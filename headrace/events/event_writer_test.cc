#include "headrace/events/event_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "headrace/store/memory/memory_store.h"

namespace headrace {
namespace {

class EventWriterTest : public testing::Test {
 protected:
  std::unique_ptr<EventWriter> open(double flush_seconds = 30) {
    auto writer = EventWriter::open({store, "run/events.out.tfevents.1", {"memory", "m", "run"}}, 100,
                                    {.writer = "test", .flush_seconds = flush_seconds}, background);
    EXPECT_TRUE(writer);
    return *std::move(writer);
  }
  static Status add(EventWriter& writer, std::int64_t step, double wall_time_s) {
    return writer.add(wall_time_s, [&](EventEncoder& encoder, Bytes& out) {
      encoder.scalar(out, {wall_time_s, step}, "loss", 0.5F);
    });
  }
  std::size_t objects() { return list_all(*store, "")->size(); }

  std::shared_ptr<Store> store = make_memory_store("m");
  Background background{1};
};

TEST_F(EventWriterTest, WhatIsClosedIsThere) {
  const auto writer = open();
  for (int step = 0; step < 100'000; ++step) ASSERT_TRUE(add(*writer, step, 101));
  ASSERT_TRUE(writer->close());
  ASSERT_TRUE(writer->close());
  EXPECT_EQ(objects(), 1U);
  EXPECT_EQ(add(*writer, 1, 102).error().code, Code::kFailedPrecondition);
}

TEST_F(EventWriterTest, TimeThatPassesFlushes) {
  const auto writer = open(30);
  ASSERT_TRUE(add(*writer, 1, 110));
  ASSERT_TRUE(add(*writer, 2, 129));
  EXPECT_EQ(objects(), 0U);
  ASSERT_TRUE(add(*writer, 3, 131));
  const auto deadline = Background::Clock::now() + std::chrono::seconds(30);
  while (objects() == 0 && Background::Clock::now() < deadline)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(objects(), 1U);
}

}  // namespace
}  // namespace headrace
