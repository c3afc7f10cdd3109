#include "headrace/record/event.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
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
  EXPECT_EQ(buckets[0].right, -kMost / 2);
  EXPECT_EQ(buckets[1].left, -kMost / 2);
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

TEST(Event, ClipsAreOneTensorOfStringsAndSayTheirEncoding) {
  Bytes file;
  EventEncoder encoder;
  const std::vector<BytesView> clips = {as_bytes("first"), as_bytes("second")};
  encoder.audio(file, {2.0, 7}, "a", clips);
  EXPECT_THAT(events_in(file)[0], HasSubstr("\x08\7\x12\4\x12\2\x08\2\x42\5"
                                            "first\x42\6"
                                            "second"));
  EXPECT_THAT(events_in(file)[0], HasSubstr("audio\x12\2\x10\x0b\x20\3"));
}

TEST(Event, ATableIsABlobOfItsOwnPlugin) {
  Bytes file;
  EventEncoder encoder;
  encoder.table(file, {2.0, 7}, "t", "{}");
  EXPECT_THAT(events_in(file)[0], HasSubstr("\x08\7\x12\4\x12\2\x08\1\x42\2{}"));
  EXPECT_THAT(events_in(file)[0], HasSubstr("headrace_table\x20\3"));
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

Bytes message_of(const std::function<void(WireWriter&)>& write) {
  Bytes out;
  WireWriter writer(out);
  write(writer);
  return out;
}

// The event that carries a message of the hyperparameters plugin.
std::string plugin_event(double wall_time_s, std::string_view tag, std::uint32_t which,
                         const std::function<void(WireWriter&)>& write_message) {
  return to_string(message_of([&](WireWriter& event) {
    event.fixed64(1, wall_time_s);
    event.message(5, [&](WireWriter& summary) {
      summary.message(1, [&](WireWriter& value) {
        value.text(1, tag);
        value.bytes(8, as_bytes(std::string_view("\x08\1\x12\4\x12\2\x08\0", 8)));  // no floats
        value.message(9, [&](WireWriter& metadata) {
          metadata.message(1, [&](WireWriter& data) {
            data.text(1, "hparams");
            data.message(2, [&](WireWriter& content) { content.message(which, write_message); });
          });
          metadata.varint(4, 2);
        });
      });
    });
  }));
}

TEST(Event, AFileWithoutWriterNamesNone) {
  Bytes file;
  EventEncoder().begin_file(file, 1.5, "");
  EXPECT_EQ(events_in(file)[0], std::string("\x09\0\0\0\0\0\0\xf8\x3f\x1a\x0d"
                                            "brain.Event:2",
                                            24));
}

TEST(Event, AHistogramIsATensorOfRows) {
  Bytes file;
  EventEncoder encoder;
  const std::vector<HistogramBucket> buckets = {{1, 2, 3}, {2, 4, 5}};
  encoder.histogram(file, {2.0, 7}, "h", buckets, {"H", "about"});
  encoder.histogram(file, {2.0, 8}, "h", buckets, {"H", "about"});
  const std::vector<double> numbers = {1, 2, 3, 2, 4, 5};
  const auto value = [&](WireWriter& out) {
    out.text(1, "h");
    out.message(8, [&](WireWriter& tensor) {
      tensor.varint(1, 2);
      tensor.bytes(2, as_bytes(std::string_view("\x12\2\x08\2\x12\2\x08\3")));
      tensor.bytes(4, std::as_bytes(std::span(numbers)));
    });
  };
  const auto event = [&](std::uint64_t step, const std::function<void(WireWriter&)>& metadata) {
    return to_string(message_of([&](WireWriter& out) {
      out.fixed64(1, 2.0);
      out.varint(2, step);
      out.message(5, [&](WireWriter& summary) {
        summary.message(1, [&](WireWriter& one) {
          value(one);
          metadata(one);
        });
      });
    }));
  };
  const auto first_metadata = [](WireWriter& out) {
    out.text(9,
             "\x0a\x0c\x0a\x0ahistograms"
             "\x12\1H\x1a\5about\x20\2");
  };
  EXPECT_THAT(events_in(file), testing::ElementsAre(event(7, first_metadata), event(8, [](WireWriter&) {})));
}

TEST(Event, ATextIsATensorOfOneString) {
  Bytes file;
  EventEncoder encoder;
  encoder.text(file, {2.0, 7}, "t", "hello");
  encoder.text(file, {2.0, 8}, "t", "again");
  const std::vector<std::string> events = events_in(file);
  EXPECT_THAT(events[0], HasSubstr(std::string("\x0a\1t\x42\x0b\x08\7\x12\0\x42\5hello", 16)));
  EXPECT_THAT(events[0], HasSubstr("\x0a\4text\x20\2"));
  EXPECT_THAT(events[1], HasSubstr("again"));
  EXPECT_THAT(events[1], Not(HasSubstr("text")));
}

TEST(Event, AGraphIsAnEventWithoutSummary) {
  Bytes file;
  EventEncoder().graph(file, {2.0, 7}, as_bytes("graph"));
  EXPECT_EQ(events_in(file)[0], std::string("\x09\0\0\0\0\0\0\0\x40\x10\7\x22\5graph", 18));
}

TEST(Event, HistogramBucketsHoldTheirLowerEdgeAndTheLastOneBoth) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> values = {kNan, 3, 1, 5, 2, 4, kNan};
  const std::vector<HistogramBucket> buckets = make_histogram(values, 4);
  ASSERT_EQ(buckets.size(), 4U);
  for (std::size_t i = 0; i < buckets.size(); ++i) {
    EXPECT_EQ(buckets[i].left, static_cast<double>(i + 1));
    EXPECT_EQ(buckets[i].right, static_cast<double>(i + 2));
    EXPECT_EQ(buckets[i].count, i == 3 ? 2 : 1);
  }
  const std::vector<float> negative = {-3, -5, -1};
  EXPECT_EQ(make_histogram(negative, 2).front().left, -5);
  EXPECT_EQ(make_histogram(negative, 2).back().right, -1);
  EXPECT_EQ(make_histogram(negative, 0).size(), 1U) << "there is always a bucket";
  EXPECT_EQ(make_histogram(negative, 1)[0].count, 3);
  EXPECT_TRUE(make_histogram(std::vector<float>{kNan, kNan}).empty());
  EXPECT_EQ(make_histogram(std::vector<double>{0, kNan}, 1)[0].count, 1);
}

TEST(Event, AnExperimentDescribesItsHyperparametersAndMetrics) {
  Bytes file;
  const std::vector<HyperparameterValue> rates = {0.5, 0.25}, names = {std::string_view("adam")},
                                         flags = {true, false};
  const std::vector<HyperparameterDomain> domains = {
      {.name = "rate", .values = rates, .label = {"Rate", "of learning"}},
      {.name = "optimizer", .values = names},
      {.name = "flag", .values = flags},
      {.name = "dropout", .least = 0.125, .greatest = 0.5}};
  const std::vector<MetricName> metrics = {{.tag = "loss", .group = "validation", .label = {"Loss", "least"}},
                                           {.tag = "accuracy"}};
  EventEncoder encoder;
  encoder.experiment(file, 2.0, {domains, metrics, "search", "of rates"});
  encoder.experiment(file, 3.0, {});
  const auto number = [](double value) { return [=](WireWriter& out) { out.fixed64(2, value); }; };
  const auto flag = [](std::uint64_t value) { return [=](WireWriter& out) { out.varint(4, value); }; };
  const auto described = [&](WireWriter& message) {
    message.text(1, "of rates");
    message.fixed64(3, 2.0);
    message.message(4, [&](WireWriter& info) {
      info.text(1, "rate"), info.text(2, "Rate"), info.text(3, "of learning"), info.varint(4, 3);
      info.message(5, [&](WireWriter& list) { list.message(1, number(0.5)), list.message(1, number(0.25)); });
    });
    message.message(4, [&](WireWriter& info) {
      info.text(1, "optimizer"), info.varint(4, 1), info.text(5, "\x0a\6\x1a\4adam");
    });
    message.message(4, [&](WireWriter& info) {
      info.text(1, "flag"), info.varint(4, 2);
      info.message(5, [&](WireWriter& list) { list.message(1, flag(1)), list.message(1, flag(0)); });
    });
    message.message(4, [&](WireWriter& info) {
      info.text(1, "dropout"), info.varint(4, 3);
      info.message(6, [&](WireWriter& interval) { interval.fixed64(1, 0.125), interval.fixed64(2, 0.5); });
    });
    message.text(5, "\x0a\x12\x0a\x0avalidation\x12\4loss\x1a\4Loss\x22\5least");
    message.text(5,
                 "\x0a\x0a\x12\x08"
                 "accuracy");
    message.text(6, "search");
  };
  const auto bare = [](WireWriter& message) { message.fixed64(3, 3.0); };
  EXPECT_THAT(events_in(file), testing::ElementsAre(plugin_event(2.0, "_hparams_/experiment", 2, described),
                                                    plugin_event(3.0, "_hparams_/experiment", 2, bare)));
}

TEST(Event, TheBeginningAndTheEndOfATrialAreMessagesOfThePlugin) {
  Bytes file;
  EventEncoder encoder;
  const std::vector<Hyperparameter> values = {{"b", false}, {"a", 0.5}, {"a", 0.25}};
  encoder.trial_start(file, 2.0, "t", values);
  encoder.trial_end(file, 3.0, TrialStatus::kRunning);
  const auto start = [](WireWriter& message) {
    for (const double value : {0.5, 0.25}) {  // in the order given
      message.message(1, [&](WireWriter& entry) {
        entry.text(1, "a");
        entry.message(2, [&](WireWriter& out) { out.fixed64(2, value); });
      });
    }
    message.bytes(1, as_bytes(std::string_view("\x0a\1b\x12\2\x20\0", 7)));
    message.text(4, "t");
    message.fixed64(5, 2.0);
  };
  const auto end = [](WireWriter& message) {
    message.varint(1, 3);
    message.fixed64(2, 3.0);
  };
  EXPECT_THAT(events_in(file),
              testing::ElementsAre(plugin_event(2.0, "_hparams_/session_start_info", 3, start),
                                   plugin_event(3.0, "_hparams_/session_end_info", 4, end)));
}

}  // namespace
}  // namespace headrace
