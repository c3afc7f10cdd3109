#include "headrace/events/log_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "headrace/base/text.h"
#include "headrace/base/wire.h"
#include "headrace/events/thinning.h"
#include "headrace/record/event.h"
#include "headrace/record/tfrecord.h"
#include "headrace/store/layers/forwarding.h"
#include "headrace/store/layers/metered.h"
#include "headrace/store/layers/testing/faulty.h"
#include "headrace/store/memory/memory_store.h"

namespace headrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

struct Writer {
  explicit Writer(double begun_s = 1e9) { encoder.begin_file(file, begun_s, "test"); }
  Writer& scalar(std::string_view tag, std::int64_t step, float value, double wall_time_s = 0) {
    encoder.scalar(file, {wall_time_s == 0 ? 1e9 + static_cast<double>(step) : wall_time_s, step}, tag,
                   value);
    return *this;
  }
  Writer& scalars(std::int64_t first, std::int64_t end, float value = 1, double wall_time_s = 0) {
    for (std::int64_t step = first; step < end; ++step) scalar("loss", step, value, wall_time_s);
    return *this;
  }
  EventEncoder encoder;
  Bytes file;
};

class LogFolderTest : public testing::Test {
 protected:
  void put(const std::string& key, BytesView data) { ASSERT_TRUE(store_->write("logs/" + key, data, {})); }
  PollOutcome poll() {
    const Result<PollOutcome> outcome = folder_.poll({});
    EXPECT_TRUE(outcome) << outcome.error().message;
    return outcome ? *outcome : PollOutcome{};
  }
  // "step:value" of each point that is shown.
  std::string shown(const std::string& run, const std::string& tag = "loss") {
    std::string out;
    folder_.for_each_series({.plugin = "scalars", .runs = {{run}}, .tags = {{tag}}},
                            [&](const auto&, const auto&, const Series& series, const LogTimes& begun) {
                              ScalarColumns scratch;
                              const ScalarView points = series.scalars(begun, scratch);
                              for (std::size_t i = 0; i < points.steps.size(); ++i) {
                                out += concat(i == 0 ? "" : " ", points.steps[i], ":", points.values[i]);
                              }
                            });
    return out;
  }
  std::vector<std::string> run_names() const {
    std::vector<std::string> out;
    for (const auto& run : folder_.runs()) out.push_back(run.name);
    return out;
  }
  std::uint64_t calls(StoreOperation operation) const { return metrics_->of(operation).calls; }
  std::uint64_t read_bytes() const { return metrics_->of(StoreOperation::kRead).moved_bytes; }

  std::shared_ptr<Store> store_ = make_memory_store("test");
  std::shared_ptr<StoreMetrics> metrics_ = std::make_shared<StoreMetrics>();
  std::vector<std::string> warnings_;
  std::mutex warnings_mutex_;
  LogFolder folder_{make_metered(Location{store_, "logs", {"memory", "test", "logs"}}, metrics_),
                    {.blob_secret = {1, 2},
                     .reading_time = std::chrono::minutes(1),
                     .warn = [this](const std::string& warning) {
                       const std::lock_guard lock(warnings_mutex_);
                       warnings_.push_back(warning);
                     }}};
};

TEST_F(LogFolderTest, ShowsEveryRunAndItsSeries) {
  put("tfevents.1", Writer().scalars(0, 2).file);
  put("b/train/tfevents.1", Writer(7).scalar("loss", 3, 0.5F).scalar("accuracy", 3, 0.25F).file);
  put("b/weights.bin", as_bytes("no events"));
  const PollOutcome outcome = poll();
  EXPECT_EQ(outcome.event_files, 2U);
  EXPECT_EQ(outcome.runs_read, 2U);
  EXPECT_THAT(run_names(), ElementsAre(".", "b/train"));
  EXPECT_EQ(folder_.runs()[1].start_time_s, 7);
  EXPECT_EQ(shown("."), "0:1 1:1");
  EXPECT_EQ(shown("b/train", "accuracy"), "3:0.25");
  EXPECT_THAT(folder_.plugins(), ElementsAre("scalars"));
}

TEST_F(LogFolderTest, APluginIsListedIfAllItsDataAreMalformed) {
  // An Event of a Summary with one Value: tag, tensor, and metadata with the plugin's name.
  Bytes event;
  WireWriter(event).message(5, [](WireWriter& summary) {
    summary.message(1, [](WireWriter& value) {
      value.text(1, "notes");
      value.text(8, "no tensor");
      value.message(9, [](WireWriter& metadata) {
        metadata.message(1, [](WireWriter& plugin) { plugin.text(1, "text"); });
      });
    });
  });
  Bytes file = Writer().scalars(0, 2).file;
  append_record(file, event);
  put("r/tfevents", file);
  poll();
  EXPECT_THAT(warnings_, ElementsAre(HasSubstr("r/tfevents")));
  EXPECT_THAT(folder_.plugins(), ElementsAre("scalars", "text"));
  folder_.for_each_series(
      {.plugin = "text", .data_class = DataClass::kTensor},
      [](const auto&, const auto& tag, const auto&, const auto&) { ADD_FAILURE() << tag; });
  put("r/tfevents", Writer().scalars(0, 1).file);
  poll();
  EXPECT_THAT(folder_.plugins(), ElementsAre("scalars")) << "the log was replaced";
}

TEST_F(LogFolderTest, APollInWhichNothingChangedIsOneListing) {
  for (int run = 0; run < 50; ++run) put(concat("run", run, "/tfevents"), Writer().scalars(0, 3).file);
  poll();
  EXPECT_EQ(calls(StoreOperation::kRead), 50U);
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(poll().changed);
  EXPECT_EQ(calls(StoreOperation::kRead), 50U);
  EXPECT_EQ(calls(StoreOperation::kList), 4U);
  EXPECT_EQ(calls(StoreOperation::kStat), 0U);
}

TEST_F(LogFolderTest, AFileThatGrowsIsReadOnFromWhereItWasReadTo) {
  Writer writer;
  writer.scalars(0, 1000);
  put("r/tfevents", writer.file);
  poll();
  const std::uint64_t before = read_bytes();
  EXPECT_EQ(before, writer.file.size());
  for (int i = 0; i < 10; ++i) {
    const std::size_t size = writer.file.size();
    writer.scalars(1000 + i, 1001 + i);
    put("r/tfevents", BytesView(writer.file).first(writer.file.size() - 5));  // its last record is incomplete
    poll();
    put("r/tfevents", writer.file);
    EXPECT_TRUE(poll().changed);
    EXPECT_THAT(shown("r"), testing::EndsWith(concat(1000 + i, ":1")));
    EXPECT_GT(writer.file.size(), size);
  }
  EXPECT_LE(read_bytes() - before, writer.file.size() - before + 20 * LogReader::kTailBytes);
}

TEST_F(LogFolderTest, SegmentsAreOneLogAndFinishedOnesAreNotReadAgain) {
  put("r/tfevents", Writer().scalars(0, 3).file);
  put("r/tfevents.000001", Writer().scalars(3, 5).file);
  poll();
  EXPECT_EQ(shown("r"), "0:1 1:1 2:1 3:1 4:1");
  const std::uint64_t before = calls(StoreOperation::kRead);
  put("r/tfevents.000002", Writer().scalars(4, 6, 2).file);  // resumed at step 4
  poll();
  EXPECT_EQ(calls(StoreOperation::kRead), before + 1);
  EXPECT_EQ(shown("r"), "0:1 1:1 2:1 3:1 4:2 5:2");
}

TEST_F(LogFolderTest, AFileThatWasReplacedIsReadAnew) {
  put("r/tfevents", Writer().scalars(0, 10).file);
  poll();
  put("r/tfevents", Writer().scalars(0, 2, 3).file);
  poll();
  EXPECT_EQ(shown("r"), "0:3 1:3") << "it is shorter";
  put("r/tfevents", Writer().scalars(5, 9, 4).file);
  poll();
  EXPECT_EQ(shown("r"), "5:4 6:4 7:4 8:4") << "it is longer, but not what was read";
  put("r/tfevents", Writer().scalars(5, 9, 5).file);
  poll();
  EXPECT_EQ(shown("r"), "5:5 6:5 7:5 8:5") << "it is of the same size";
}

TEST_F(LogFolderTest, WhatGoesIsNotShownAnyMore) {
  put("a/tfevents.1", Writer().scalars(0, 1).file);
  put("b/tfevents.1", Writer().scalars(0, 1).file);
  put("b/tfevents.2", Writer().scalar("other", 0, 1).file);
  poll();
  ASSERT_TRUE(remove_object(*store_, "logs/a/tfevents.1"));
  ASSERT_TRUE(remove_object(*store_, "logs/b/tfevents.2"));
  EXPECT_TRUE(poll().changed);
  EXPECT_THAT(run_names(), ElementsAre("b"));
  EXPECT_EQ(shown("b", "other"), "");
  EXPECT_EQ(shown("b"), "0:1");
}

TEST_F(LogFolderTest, TwoWritersAtOnceAreBothShown) {
  Writer first(1e9), second(1e9 + 0.5);
  for (std::int64_t step = 0; step < 3; ++step) {
    first.scalar("loss", step, 1, 1e9 + 1 + static_cast<double>(step));
    second.scalar("loss", step, 2, 1e9 + 1.5 + static_cast<double>(step));
  }
  first.scalar("of first", 0, 1);
  second.scalar("of second", 0, 2);
  put("r/tfevents.1.a", first.file);
  put("r/tfevents.1.b", second.file);
  poll();
  EXPECT_EQ(shown("r"), "0:1 0:2 1:1 1:2 2:1 2:2");
  EXPECT_EQ(shown("r", "of first"), "0:1");
  EXPECT_EQ(shown("r", "of second"), "0:2");
}

TEST_F(LogFolderTest, ARunThatWasResumedInANewFileShowsTheStepsItRepeatsOnce) {
  put("r/tfevents.1", Writer(100).scalars(0, 6, 1, 150).file);
  put("r/tfevents.2", Writer(200).scalars(3, 5, 2, 250).file);
  poll();
  EXPECT_EQ(shown("r"), "0:1 1:1 2:1 3:2 4:2");
  put("r/tfevents.3", Writer(300).scalars(4, 7, 3, 350).file);
  poll();
  EXPECT_EQ(shown("r"), "0:1 1:1 2:1 3:2 4:3 5:3 6:3");
}

TEST_F(LogFolderTest, DamageIsToldOnceAFileAndTheRestIsRead) {
  Writer writer;
  writer.scalars(0, 10);
  Bytes damaged = writer.file;
  std::vector<std::size_t> offsets;
  EventStream stream;
  stream.append(writer.file);
  for (StreamEvent event; stream.next(event) == StreamOutcome::kEvent;) offsets.push_back(event.offset_bytes);
  damaged[offsets[3]] ^= std::byte{1};
  damaged[offsets[6]] ^= std::byte{1};
  put("a/tfevents", damaged);
  put("b/tfevents", writer.file);
  damaged[offsets[8] - 12] ^= std::byte{1};
  put("c/tfevents", damaged);
  poll();
  EXPECT_EQ(shown("a"), "0:1 1:1 3:1 4:1 6:1 7:1 8:1 9:1");
  EXPECT_EQ(shown("c"), "0:1 1:1 3:1 4:1 6:1");
  EXPECT_THAT(shown("b"), testing::EndsWith("9:1"));
  ASSERT_EQ(warnings_.size(), 2U);
  std::sort(warnings_.begin(), warnings_.end());
  EXPECT_THAT(warnings_[0], testing::AllOf(HasSubstr("logs/a/tfevents"), HasSubstr("offset")));
}

TEST_F(LogFolderTest, AFinishedSegmentThatEndsWithinARecordIsTold) {
  const Bytes cut = Writer().scalars(0, 3).file;
  put("r/tfevents", BytesView(cut).first(cut.size() - 1));
  poll();
  EXPECT_TRUE(warnings_.empty()) << "it may be written yet";
  put("r/tfevents.000001", Writer().scalars(3, 4).file);
  poll();
  EXPECT_EQ(shown("r"), "0:1 1:1 3:1");
  ASSERT_EQ(warnings_.size(), 1U);
  EXPECT_THAT(warnings_[0], HasSubstr("ends within the record at offset"));
}

TEST_F(LogFolderTest, NamesThatAreNotUtf8AreLeftOut) {
  put("r/tfevents", Writer().scalar("\xff\xfe", 0, 1).scalar("loss", 1, 1).file);
  poll();
  EXPECT_EQ(shown("r"), "1:1");
  EXPECT_EQ(shown("r", "\xff\xfe"), "");
  ASSERT_EQ(warnings_.size(), 1U);
  EXPECT_THAT(warnings_[0], HasSubstr("not UTF-8"));
}

TEST_F(LogFolderTest, WhatCannotBeReadNowIsReadLater) {
  FaultOptions faults;
  faults.only_call = 2;  // the listing is the first
  const auto account = std::make_shared<FaultAccount>();
  LogFolder folder(Location{make_faulty(store_, faults, account), "logs", {}}, {.load_threads = 1});
  put("r/tfevents", Writer().scalars(0, 2).file);
  put("s/tfevents", Writer().scalars(0, 2).file);
  EXPECT_EQ(folder.poll({}).error().code, Code::kUnavailable);
  std::size_t series = 0;
  const auto count = [&](const auto&, const auto&, const Series&, const LogTimes&) { ++series; };
  folder.for_each_series({.plugin = "scalars"}, count);
  EXPECT_EQ(series, 1U) << "the other run";
  EXPECT_TRUE(folder.poll({}));
  series = 0;
  folder.for_each_series({.plugin = "scalars"}, count);
  EXPECT_EQ(series, 2U);
}

// Refuses the reads for which `refuse` returns an error.
class RefusingStore : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  Result<ReadResult> read_into(std::string_view key, MutableBytesView target,
                               const ReadOptions& options) override {
    if (const auto error = refuse(key, options.offset_bytes)) return *error;
    return ForwardingStore::read_into(key, target, options);
  }
  std::function<std::optional<Error>(std::string_view key, std::uint64_t offset)> refuse =
      [](std::string_view, std::uint64_t) { return std::nullopt; };
};

TEST_F(LogFolderTest, WhatIsArchivedIsToldOnceAndNotAskedForAgain) {
  const auto refusing = std::make_shared<RefusingStore>(store_);
  refusing->refuse = [](std::string_view key, std::uint64_t) {
    return key.find("old") == key.npos ? std::nullopt
                                       : std::optional(Error{Code::kFailedPrecondition, "archived"});
  };
  for (const char* segment : {"", ".000001"}) {
    put(concat("old/tfevents", segment), Writer().scalars(0, 2).file);
    put(concat("new/tfevents", segment), Writer().scalars(0, 2).file);
  }
  LogFolder folder(make_metered(Location{refusing, "logs", {"memory", "test", "logs"}}, metrics_),
                   {.warn = [this](const std::string& warning) { warnings_.push_back(warning); }});
  ASSERT_TRUE(folder.poll({}));
  EXPECT_THAT(warnings_, ElementsAre(HasSubstr("archived"), HasSubstr("archived")));
  const std::uint64_t asked = calls(StoreOperation::kRead);
  put("new/tfevents.000002", Writer().scalars(2, 3).file);
  ASSERT_TRUE(folder.poll({}));
  EXPECT_EQ(calls(StoreOperation::kRead), asked + 1);
  EXPECT_EQ(warnings_.size(), 2U);
}

TEST_F(LogFolderTest, AReadThatFailsHalfWayGoesOnFromThere) {
  const auto refusing = std::make_shared<RefusingStore>(store_);
  Writer writer;
  put("run/tfevents", writer.scalars(0, 10).file);
  LogFolder folder(make_metered(Location{refusing, "logs", {"memory", "test", "logs"}}, metrics_),
                   {.reading_time = std::chrono::minutes(1)});
  ASSERT_TRUE(folder.poll({}));
  put("run/tfevents", writer.scalars(10, 500'000).file);
  refusing->refuse = [](std::string_view, std::uint64_t offset) {
    return offset < LogReader::kPieceBytes ? std::nullopt
                                           : std::optional(Error{Code::kUnavailable, "out of reach"});
  };
  EXPECT_FALSE(folder.poll({}));
  refusing->refuse = [](std::string_view, std::uint64_t) { return std::nullopt; };
  const std::uint64_t before = read_bytes();
  ASSERT_TRUE(folder.poll({}));
  EXPECT_LE(read_bytes() - before, writer.file.size() - LogReader::kPieceBytes + LogReader::kTailBytes);
}

TEST_F(LogFolderTest, WhatIsLiveIsShownWhileMuchElseIsRead) {
  LogFolder folder({store_, "logs", {"memory", "test", "logs"}},
                   {.load_threads = 1, .reading_time = std::chrono::milliseconds(0)});
  Writer live, much;
  put("live/tfevents", live.scalars(0, 2).file);
  ASSERT_TRUE(folder.poll({}));
  much.scalars(0, 500'000);
  for (const char* run : {"a", "b", "c"}) put(concat(run, "/tfevents"), much.file);
  const auto points = [&](const std::string& run) {
    std::size_t found = 0;
    folder.for_each_series({.plugin = "scalars", .runs = {{run}}},
                           [&](const auto&, const auto&, const Series& series, const LogTimes& begun) {
                             ScalarColumns scratch;
                             found = series.scalars(begun, scratch).steps.size();
                           });
    return found;
  };
  int polls = 0;
  bool has_more = true;
  for (; has_more && polls < 1'000; ++polls) {
    put("live/tfevents", live.scalars(2 + polls, 3 + polls).file);
    const auto outcome = folder.poll({});
    ASSERT_TRUE(outcome);
    has_more = outcome->has_more;
    EXPECT_EQ(points("live"), 3U + static_cast<std::size_t>(polls));
  }
  EXPECT_GT(polls, 3);
  for (const char* run : {"a", "b", "c"}) EXPECT_EQ(points(run), 500'000U);
}

TEST_F(LogFolderTest, BlobsAreReadFromTheStoreWhenAskedFor) {
  Writer writer;
  const std::vector<BytesView> images = {as_bytes("first image"), as_bytes("second image")};
  writer.encoder.images(writer.file, {2e9, 4}, "samples", {30, 20, images});
  put("r/tfevents", writer.file);
  poll();
  std::vector<std::string> keys;
  folder_.for_each_series({.plugin = "images", .data_class = DataClass::kBlobSequence},
                          [&](const auto&, const auto&, const Series& series, const LogTimes& begun) {
                            EXPECT_EQ(series.extent(begun).max_length, 4);
                            for (const auto* sample : series.blobs(begun)) {
                              EXPECT_EQ(sample->step, 4);
                              for (const BlobReference& blob : sample->value.blobs) {
                                keys.push_back(folder_.blob_key(sample->value, blob));
                              }
                            }
                          });
  ASSERT_EQ(keys.size(), 4U);
  std::vector<std::string> contents;
  for (const std::string& key : keys) contents.push_back(to_string(*folder_.read_blob(key, {})));
  EXPECT_THAT(contents, ElementsAre("30", "20", "first image", "second image"));
  writer.scalars(0, 3);
  put("r/tfevents", writer.file);
  EXPECT_EQ(to_string(*folder_.read_blob(keys[3], {})), "second image") << "the file grew";
  put("r/tfevents", Writer().scalars(0, 100).file);
  EXPECT_EQ(folder_.read_blob(keys[3], {}).error().code, Code::kNotFound);
  ASSERT_TRUE(remove_object(*store_, "logs/r/tfevents"));
  EXPECT_EQ(folder_.read_blob(keys[3], {}).error().code, Code::kNotFound);
}

TEST_F(LogFolderTest, TensorsAndHyperparametersAreKept) {
  Writer writer;
  for (std::int64_t step = 0; step < 3000; ++step)
    writer.encoder.text(writer.file, {1e9, step}, "notes", "hello");
  writer.encoder.trial_start(writer.file, 1e9, "first", std::vector<Hyperparameter>{{"rate", 0.5}});
  put("r/tfevents", writer.file);
  poll();
  folder_.for_each_series({.plugin = "text", .data_class = DataClass::kTensor},
                          [&](const auto&, const auto&, const Series& series, const LogTimes& begun) {
                            const auto samples = series.tensors(begun);
                            EXPECT_LE(samples.size(), 1000U);
                            EXPECT_GE(samples.size(), 500U);
                            EXPECT_EQ(samples.front()->step, 0);
                            EXPECT_EQ(samples.back()->step, 2999);
                          });
  std::string content;
  folder_.for_each_series({.plugin = "hparams", .data_class = DataClass::kTensor},
                          [&](const auto&, const auto& tag, const Series& series, const LogTimes&) {
                            EXPECT_EQ(tag, "_hparams_/session_start_info");
                            content = series.plugin_content;
                          });
  EXPECT_THAT(content, HasSubstr("rate"));
  EXPECT_THAT(folder_.plugins(), ElementsAre("hparams", "text"));
}

TEST_F(LogFolderTest, ReadersAndAPollGoTogether) {
  for (int run = 0; run < 8; ++run) put(concat("run", run, "/tfevents"), Writer().scalars(0, 2000).file);
  std::atomic<bool> done = false;
  std::thread reader([&] {
    while (!done) {
      for (const std::string& run : run_names()) shown(run);
    }
  });
  poll();
  for (int run = 0; run < 8; ++run) put(concat("run", run, "/tfevents"), Writer().scalars(0, 2500).file);
  poll();
  done = true;
  reader.join();
  for (int run = 0; run < 8; ++run) EXPECT_THAT(shown(concat("run", run)), testing::EndsWith("2499:1"));
}

}  // namespace
}  // namespace headrace
