#include "headrace/run_import/event_folders.h"

#include <gmock/gmock.h>

#include "headrace/record/event.h"
#include "headrace/run_import/value_test.h"
#include "headrace/store/memory/memory_store.h"
#include "headrace/track/runs.h"

namespace headrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Location place(std::shared_ptr<Store> store, std::string key) {
  return {std::move(store), key, {.scheme = "memory", .authority = "b", .path = key}};
}

Bytes event_file(double begun_s, float value) {
  EventEncoder encoder;
  Bytes file;
  encoder.begin_file(file, begun_s, "test");
  encoder.scalar(file, {begun_s + 1.25, 3}, "loss", value);
  return file;
}

struct Logs {
  Logs() {
    EXPECT_TRUE(store->write("logs/events.out.tfevents.1", event_file(1000.5, 0.5F), {}));
    EXPECT_TRUE(store->write("logs/train/events.out.tfevents.1", event_file(2000, 0.25F), {}));
    EXPECT_TRUE(store->write("logs/train/events.out.tfevents.2", event_file(3000, 0.125F), {}));
    EXPECT_TRUE(store->write("logs/empty/events.out.tfevents.1", {}, {}));
    EXPECT_TRUE(store->write("logs/notes.txt", as_bytes("no events"), {}));
  }
  std::shared_ptr<Store> store = make_memory_store("b");
};

TEST(EventFolders, EachFolderWithEventFilesIsARun) {
  const Logs logs;
  const EventFolderRuns found = value_of(event_folder_runs(place(logs.store, "logs")));
  EXPECT_TRUE(found.problems.empty());
  ASSERT_EQ(found.runs.size(), 2U);
  EXPECT_EQ(found.runs[0].run.name, "logs");
  EXPECT_EQ(found.runs[0].run.started.count(), 1'000'500);
  EXPECT_EQ(found.runs[1].run.name, "train");
  EXPECT_EQ(found.runs[1].run.place, "memory://b/logs/train");
  EXPECT_EQ(found.runs[1].files.size(), 2U);
  EXPECT_NE(found.runs[0].run.identity, found.runs[1].run.identity);
}

TEST(EventFolders, ARunKeepsItsIdentityWhereverItLiesAndHoweverItGrows) {
  const Logs logs;
  const auto identity = [&](const std::string& key) {
    return value_of(event_folder_runs(place(logs.store, key))).runs.at(0).run.identity;
  };
  const std::string before = identity("logs/train");
  ASSERT_TRUE(logs.store->write("moved/events.out.tfevents.1", event_file(2000, 7), {}));
  EXPECT_EQ(identity("moved"), before);
  ASSERT_TRUE(logs.store->write("logs/train/events.out.tfevents.3", event_file(4000, 7), {}));
  EXPECT_EQ(identity("logs/train"), before);
}

TEST(EventFolders, AnImportThatWasCutShortGoesOnWhenTheFilesHaveGrown) {
  const Logs logs;
  const Location root = place(logs.store, "runs");
  const auto begin = [&](EventFolderRun& from) {
    from = value_of(event_folder_runs(place(logs.store, "logs/train"))).runs.at(0);
    return value_of(ImportedRecord::begin(root, from.run, {}));
  };
  EventFolderRun from;
  auto cut_short = begin(from);
  ASSERT_TRUE(import_event_folder(from, *cut_short));
  Bytes grown = event_file(3000, 0.125F);
  EventEncoder().scalar(grown, {5000, 4}, "loss", 0.0625F);
  ASSERT_TRUE(logs.store->write("logs/train/events.out.tfevents.2", grown, {}));
  auto next = begin(from);
  ASSERT_TRUE(import_event_folder(from, *next));
  ASSERT_TRUE(next->finish());
  const RunRecord run = value_of(read_run(root, imported_run_id(from.run)));
  ASSERT_TRUE(run.end);
  EXPECT_EQ(run.end->metrics.at("events/loss"), 0.0625);
  EXPECT_FALSE(begin(from));
}

TEST(EventFolders, AFileWithoutEventsIsToldAndHidesNoOtherFolder) {
  const Logs logs;
  ASSERT_TRUE(logs.store->write("logs/bad/events.out.tfevents.1", as_bytes("no event at all"), {}));
  const EventFolderRuns found = value_of(event_folder_runs(place(logs.store, "logs")));
  EXPECT_EQ(found.runs.size(), 2U);
  EXPECT_THAT(found.problems, ElementsAre(HasSubstr("logs/bad/events.out.tfevents.1 does not begin")));
}

TEST(EventFolders, TheFilesAreCopiedAndTheirScalarsEndTheRun) {
  const Logs logs;
  const Location root = place(logs.store, "runs");
  const EventFolderRun from = value_of(event_folder_runs(place(logs.store, "logs/train"))).runs.at(0);
  auto record = value_of(ImportedRecord::begin(root, from.run, {}));
  ASSERT_TRUE(record);
  ASSERT_TRUE(import_event_folder(from, *record));
  ASSERT_TRUE(record->finish());
  const RunRecord run = value_of(read_run(root, imported_run_id(from.run)));
  EXPECT_EQ(run.end->metrics.at("events/loss"), 0.125);
  EXPECT_EQ(run.end->ended, "1970-01-01T00:50:01.250Z");
  ASSERT_EQ(run.end->series.size(), 1U);
  EXPECT_EQ(run.end->series[0].kind, "event_files");
  const std::string copies = run.end->series[0].url.substr(std::string_view("memory://b/").size());
  EXPECT_EQ(value_of(read_object(*logs.store, copies + "/events.out.tfevents.2", 1 << 20)).data,
            event_file(3000, 0.125F));
}

}  // namespace
}  // namespace headrace
