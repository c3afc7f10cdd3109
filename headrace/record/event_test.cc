#include "headrace/record/event.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "headrace/base/wire.h"
#include "headrace/record/tfrecord.h"

namespace headrace {
namespace {

using testing::HasSubstr;
using testing::Not;

std::vector<std::string> events_in(const Bytes& file) {
  std::vector<std::string> out;
  RecordScanner scanner(file);
  for (BytesView record; scanner.next(record) == ScanOutcome::kRecord;) out.push_back(to_string(record));
  EXPECT_EQ(scanner.position(), file.size());
  return out;
}

TEST(Event, AFileBeginsWithItsVersion) {
  Bytes file;
  EventEncoder().begin_file(file, 1.5, "headrace 0.1.0");
  const std::vector<std::string> events = events_in(file);
  ASSERT_EQ(events.size(), 1U);
  const std::string_view expected(
      "\x09\0\0\0\0\0\0\xf8\x3f"  // wall_time
      "\x1a\x0d"
      "brain.Event:2"  // file_version
      "\x52\x10\x0a\x0eheadrace 0.1.0",
      42);
  EXPECT_EQ(events[0], expected);
}

TEST(Event, AScalarIsAFloatTensorAndItsFirstOneSaysSo) {
  Bytes file;
  EventEncoder encoder;
  encoder.scalar(file, {2.0, 7}, "loss", 0.5F);
  encoder.scalar(file, {3.0, 8}, "loss", 0.25F);
  const std::vector<std::string> events = events_in(file);
  ASSERT_EQ(events.size(), 2U);
  const std::string value("\x0a\4loss\x42\x0a\x08\1\x12\0\x2a\4\0\0\0\x3f", 18);
  const std::string metadata("\x4a\x0d\x0a\x09\x0a\7scalars\x20\1", 15);
  EXPECT_EQ(events[0], std::string("\x09\0\0\0\0\0\0\0\x40\x10\7\x2a\x23\x0a\x21", 15) + value + metadata);
  EXPECT_THAT(events[1], Not(HasSubstr("scalars")));
  Bytes segment;
  encoder.begin_file(segment, 4.0, "headrace");
  encoder.scalar(segment, {4.0, 9}, "loss", 0.125F);
  EXPECT_THAT(events_in(segment)[1], HasSubstr("scalars"));
}

TEST(Event, SeveralScalarsAreOneEvent) {
  Bytes file;
  EventEncoder encoder;
  const std::vector<ScalarValue> values = {{"epoch/loss", 0.5F}, {"epoch/accuracy", 0.75F}};
  encoder.scalars(file, {1e9, 3}, values);
  const std::vector<std::string> events = events_in(file);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_THAT(events[0], HasSubstr(std::string("\x0a\x0a"
                                               "epoch/loss\x42\x0a\x08\1\x12\0\x2a\4\0\0\0\x3f",
                                               24)));
  EXPECT_THAT(events[0], HasSubstr(std::string("\x0a\x0e"
                                               "epoch/accuracy\x42\x0a\x08\1\x12\0\x2a\4\0\0\x40\x3f",
                                               28)));
}

TEST(Event, HistogramsCountEveryFiniteValueOnce) {
  std::vector<float> values(1000);
  std::iota(values.begin(), values.end(), -500.0F);
  values.push_back(std::numeric_limits<float>::quiet_NaN());
  values.push_back(std::numeric_limits<float>::infinity());
  const std::vector<HistogramBucket> buckets = make_histogram(values);
  ASSERT_EQ(buckets.size(), 30U);
  EXPECT_EQ(buckets.front().left, -500);
  EXPECT_EQ(buckets.back().right, 499);
  double total = 0;
  for (std::size_t i = 0; i < buckets.size(); ++i) {
    total += buckets[i].count;
    EXPECT_NEAR(buckets[i].count, 33.3, 1);
    if (i > 0) {
      EXPECT_EQ(buckets[i].left, buckets[i - 1].right);
    }
  }
  EXPECT_EQ(total, 1000);
}

TEST(Event, HistogramsOfOneValueAndOfNone) {
  const std::vector<float> same(7, 2.5F);
  const std::vector<HistogramBucket> buckets = make_histogram(same, 3);
  ASSERT_EQ(buckets.size(), 3U);
  EXPECT_EQ(buckets[0].count, 0);
  EXPECT_EQ(buckets[2].left, 2.5);
  EXPECT_EQ(buckets[2].right, 2.5);
  EXPECT_EQ(buckets[2].count, 7);
  EXPECT_TRUE(make_histogram(std::span<const float>()).empty());
  const std::vector<float> extremes = {-std::numeric_limits<float>::max(), std::numeric_limits<float>::max()};
  EXPECT_EQ(make_histogram(extremes, 2)[1].count, 1);
}

TEST(Event, HistogramsOfDoublesReachOverTheirWholeRange) {
  constexpr double kMost = std::numeric_limits<double>::max();
  const std::vector<double> values = {-kMost, -1, 0, 1, kMost};
  const std::vector<HistogramBucket> buckets = make_histogram(values, 4);
  ASSERT_EQ(buckets.size(), 4U);
  EXPECT_EQ(buckets[0].left, -kMost);
  EXPECT_EQ(buckets[1].right, 0);
  EXPECT_EQ(buckets[3].right, kMost);
  EXPECT_EQ(buckets[0].count, 1);
  EXPECT_EQ(buckets[3].count, 1);
  EXPECT_EQ(buckets[1].count + buckets[2].count, 3);
  const std::vector<double> subnormal = {0, std::numeric_limits<double>::denorm_min()};
  EXPECT_EQ(make_histogram(subnormal, 4)[0].count, 2);
  EXPECT_EQ(make_histogram(std::vector<double>{1e300 + 1, 1e300 + 1}, 2)[1].count, 2);
}

TEST(Event, ImagesAreOneTensorOfStrings) {
  Bytes file;
  EventEncoder encoder;
  const std::vector<BytesView> encoded = {as_bytes("first"), as_bytes("second")};
  encoder.images(file, {2.0, 7}, "i", {3, 20, encoded});
  const std::string tensor(
      "\x42\x1e\x08\7\x12\4\x12\2\x08\4\x42\1"
      "3\x42\2"
      "20\x42\5"
      "first\x42\6"
      "second",
      32);
  EXPECT_THAT(events_in(file)[0], HasSubstr(tensor));
  EXPECT_THAT(events_in(file)[0], HasSubstr("images\x20\3"));
}

TEST(Event, LabelsStandInTheMetadata) {
  Bytes file;
  EventEncoder encoder;
  encoder.scalar(file, {2.0, 7}, "loss", 0.5F, {"Loss", "*lower* is better"});
  EXPECT_THAT(events_in(file)[0], HasSubstr("\x12\4Loss\x1a\x11*lower* is better\x20\1"));
}

TEST(Event, ATrialGivesItsValuesInTheOrderOfTheirNames) {
  Bytes file;
  EventEncoder encoder;
  const std::vector<Hyperparameter> values = {{"z", true}, {"b", 0.5}, {"a", std::string_view("x")}};
  encoder.trial_start(file, 2.0, "t", values);
  const std::string entries(
      "\x0a\x08\x0a\1a\x12\3\x1a\1x\x0a\x0e\x0a\1b\x12\x09\x11\0\0\0\0\0\0\xe0\x3f"
      "\x0a\7\x0a\1z\x12\2\x20\1\x22\1t\x29\0\0\0\0\0\0\0\x40",
      47);
  EXPECT_THAT(events_in(file)[0], HasSubstr(entries));
  encoder.trial_end(file, 3.0, TrialStatus::kFailure);
  EXPECT_THAT(events_in(file)[1], HasSubstr("_hparams_/session_end_info"));
}

TEST(Event, AHistogramIsATensorOfItsBuckets) {
  Bytes file;
  const std::vector<HistogramBucket> buckets = {{0.5, 2.0, 0.5}};
  EventEncoder().histogram(file, {2.0, 7}, "h", buckets, {"H"});
  const std::string tensor(
      "\x42\x26\x08\2\x12\x08\x12\2\x08\1\x12\2\x08\3\x22\x18"
      "\0\0\0\0\0\0\xe0\x3f\0\0\0\0\0\0\0\x40\0\0\0\0\0\0\xe0\x3f",
      40);
  EXPECT_THAT(events_in(file)[0], HasSubstr(tensor));
  EXPECT_THAT(events_in(file)[0], HasSubstr("histograms\x12\1H\x20\2"));
}

TEST(Event, ATextIsATensorOfOneString) {
  Bytes file;
  EventEncoder().text(file, {2.0, 7}, "t", "*words*", {.description = "D"});
  EXPECT_THAT(events_in(file)[0], HasSubstr(std::string("\x42\x0d\x08\7\x12\0\x42\7*words*", 15)));
  EXPECT_THAT(events_in(file)[0], HasSubstr("text\x1a\1D\x20\2"));
}

TEST(Event, AGraphIsWrittenAsItIs) {
  Bytes file;
  EventEncoder().graph(file, {2.0, 7}, as_bytes("graph"));
  EXPECT_EQ(events_in(file)[0], std::string("\x09\0\0\0\0\0\0\0\x40\x10\7\x22\5graph", 18));
}

TEST(Event, AnExperimentSaysWhatItsTrialsMayHaveAndAreComparedBy) {
  Bytes file;
  const std::vector<HyperparameterValue> truth = {true}, texts = {std::string_view("x")}, numbers = {0.5};
  const std::vector<HyperparameterDomain> domains = {{.name = "b", .values = truth},
                                                     {.name = "t", .values = texts, .label = {"T", "d"}},
                                                     {.name = "n", .least = 0.5, .greatest = 2.0},
                                                     {.name = "m", .values = numbers}};
  const std::vector<MetricName> metrics = {{"loss", "val", {"L"}}, {"acc"}};
  EventEncoder().experiment(
      file, 2.0, {.hyperparameters = domains, .metrics = metrics, .name = "e", .description = "d"});
  const std::string content(
      "\x0a\1d\x19\0\0\0\0\0\0\0\x40"
      "\x22\x0b\x0a\1b\x20\2\x2a\4\x0a\2\x20\1"
      "\x22\x12\x0a\1t\x12\1T\x1a\1d\x20\1\x2a\5\x0a\3\x1a\1x"
      "\x22\x19\x0a\1n\x20\3\x32\x12\x09\0\0\0\0\0\0\xe0\x3f\x11\0\0\0\0\0\0\0\x40"
      "\x22\x12\x0a\1m\x20\3\x2a\x0b\x0a\x09\x11\0\0\0\0\0\0\xe0\x3f"
      "\x2a\x10\x0a\x0b\x0a\3val\x12\4loss\x1a\1L"
      "\x2a\7\x0a\5\x12\3"
      "acc\x32\1e",
      12 + 13 + 20 + 27 + 20 + 18 + 9 + 3);
  EXPECT_THAT(events_in(file)[0], HasSubstr(content));
  EXPECT_THAT(events_in(file)[0], HasSubstr("_hparams_/experiment"));
}

}  // namespace
}  // namespace headrace
