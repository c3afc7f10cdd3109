#include "headrace/metrics/event_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "headrace/base/text.h"
#include "headrace/base/wire.h"
#include "headrace/metrics/run_metrics.h"
#include "headrace/record/event.h"
#include "headrace/record/tfrecord.h"
#include "headrace/store/memory/memory_store.h"

namespace headrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

struct Writer {
  explicit Writer(double begun_s) { encoder.begin_file(file, begun_s, "test"); }
  Writer& scalar(std::string_view tag, std::int64_t step, float value, double wall_time_s) {
    encoder.scalar(file, {wall_time_s, step}, tag, value);
    return *this;
  }
  EventEncoder encoder;
  Bytes file;
};

void append_number(Bytes& message, std::uint32_t field, std::uint64_t number) {
  append_varint(message, field << 3);
  append_varint(message, number);
}

void append_field(Bytes& message, std::uint32_t field, BytesView payload) {
  append_varint(message, field << 3 | 2);
  append_varint(message, payload.size());
  append(message, payload);
}

// "step@microseconds=value", one after the other.
std::string text(const MetricSeries& series) {
  std::string out;
  for (std::size_t i = 0; i < series.values.size(); ++i)
    out += concat(i == 0 ? "" : " ", series.steps[i], "@", series.times_us[i], "=", series.values[i]);
  return out;
}

class EventMetricsTest : public testing::Test {
 protected:
  void put(const std::string& key, BytesView data) { ASSERT_TRUE(store_->write(key, data, {})); }
  std::shared_ptr<EventMetrics> open(const std::string& series, const std::string& folder,
                                     EventMetricsOptions options = {}) {
    const auto metrics = std::make_shared<EventMetrics>(
        series, Location{store_, folder, {"memory", "test", folder}}, std::move(options));
    const Result<bool> read = metrics->read_all({});
    EXPECT_TRUE(read) << read.error().message;
    return metrics;
  }
  std::shared_ptr<Store> store_ = make_memory_store("test");
};

TEST_F(EventMetricsTest, NamesHaveTheSeriesTheFolderAndTheTag) {
  put("logs/tfevents.1", Writer(10).scalar("loss", 0, 0.5F, 10.000001).scalar("loss", 1, 0.25F, 11.5).file);
  put("logs/deep/er/tfevents.1", Writer(10).scalar("a/b", 7, -1.0F, 12).file);
  const auto metrics = open("keras", "logs");
  EXPECT_THAT(metrics->names(), ElementsAre("keras/deep/er/a/b", "keras/loss"));
  EXPECT_EQ(text(metrics->read("keras/loss")), "0@10000001=0.5 1@11500000=0.25");
  EXPECT_EQ(text(metrics->read("keras/deep/er/a/b")), "7@12000000=-1");
  EXPECT_EQ(text(metrics->read("keras/other")), "");
  EXPECT_TRUE(open("keras", "nothing is here")->names().empty());
}

TEST_F(EventMetricsTest, ADoubleKeepsAllItsBits) {
  Bytes tensor, metadata, value, summary, event, file;
  const double exact = 0.1;
  append_number(tensor, 1, 2);  // DT_DOUBLE
  append_field(tensor, 2, {});
  append_field(tensor, 4, std::as_bytes(std::span(&exact, 1)));
  append_field(metadata, 1, as_bytes(std::string_view("\x0a\x07scalars")));
  append_field(value, 1, as_bytes(std::string_view("exact")));
  append_field(value, 8, tensor);
  append_field(value, 9, metadata);
  append_field(summary, 1, value);
  append_number(event, 2, 3);
  append_field(event, 5, summary);
  append_record(file, event);
  put("logs/tfevents.1", file);
  const auto metrics = open("torch", "logs");
  ASSERT_THAT(metrics->names(), ElementsAre("torch/exact"));
  EXPECT_EQ(metrics->read("torch/exact").values, std::vector<double>{0.1});
}

TEST_F(EventMetricsTest, ARepeatedStepCountsOnceWithItsLastValue) {
  Writer first(10);
  for (int step = 0; step < 4; ++step) first.scalar("loss", step, 1.0F, 10 + step);
  put("logs/tfevents.1", first.file);
  put("logs/tfevents.2", Writer(20).scalar("loss", 2, 2.0F, 20).scalar("loss", 3, 2.0F, 21).file);
  EXPECT_EQ(text(open("train", "logs")->read("train/loss")),
            "0@10000000=1 1@11000000=1 2@20000000=2 3@21000000=2");
  // A run that had ended before the second one began.
  EXPECT_EQ(text(open("train", "logs", {.until_us = 15'000'000})->read("train/loss")),
            "0@10000000=1 1@11000000=1");
}

TEST_F(EventMetricsTest, DamageIsToldAndTheRestIsRead) {
  Bytes file = Writer(10).scalar("loss", 0, 0.5F, 10).file;
  const std::size_t place = file.size();
  append(file, Writer(10).scalar("loss", 1, 0.25F, 11).scalar("loss", 2, 0.125F, 12).file);
  file[place + 14] ^= std::byte{1};
  put("logs/tfevents.1", file);
  std::vector<std::string> told;
  const auto metrics =
      open("train", "logs", {.warn = [&](const std::string& message) { told.push_back(message); }});
  ASSERT_EQ(told.size(), 1U);
  EXPECT_THAT(told[0], HasSubstr("logs/tfevents.1"));
  EXPECT_EQ(text(metrics->read("train/loss")), "0@10000000=0.5 1@11000000=0.25 2@12000000=0.125");
}

TEST_F(EventMetricsTest, ATimeThatIsNoTimeIs1970) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  put("logs/tfevents.1", Writer(10).scalar("loss", 0, 1.0F, nan).scalar("loss", 1, 1.0F, 1e300).file);
  EXPECT_EQ(text(open("train", "logs")->read("train/loss")), "0@0=1 1@0=1");
}

TEST_F(EventMetricsTest, ALaterAttemptCountsFromItsFirstStepOn) {
  put("one/tfevents",
      Writer(10).scalar("loss", 0, 1.0F, 10).scalar("loss", 1, 1.0F, 11).scalar("old", 0, 3.0F, 9).file);
  put("two/tfevents", Writer(20).scalar("loss", 1, 2.0F, 20).file);
  put("other/tfevents", Writer(20).scalar("loss", 0, 5.0F, 20).file);
  const RunMetrics run({},
                       {{0, open("keras", "two")}, {0, open("keras", "one")}, {1, open("keras", "other")}});
  EXPECT_EQ(text(*run.read("keras/loss", 0)), "0@10000000=1 1@20000000=2");
  EXPECT_EQ(text(*run.read("keras/loss", 1)), "0@20000000=5");
  const auto summaries = run.summaries();
  ASSERT_TRUE(summaries);
  ASSERT_EQ(summaries->size(), 3U);
  EXPECT_EQ((*summaries)[0].name, "keras/loss");
  EXPECT_EQ((*summaries)[0].points, 2U);
  EXPECT_EQ((*summaries)[0].last, 2);
  EXPECT_EQ((*summaries)[0].maximum, 2);
  EXPECT_EQ((*summaries)[1].rank, 1U);
  EXPECT_EQ((*summaries)[2].name, "keras/old");
}

}  // namespace
}  // namespace headrace
