#include "headrace/stream/ignite/snapshot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "headrace/base/text.h"
#include "headrace/record/index.h"
#include "headrace/store/memory/memory_store.h"

namespace headrace::ignite {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class IgniteSnapshot : public testing::Test {
 protected:
  IgniteSnapshot() : place_{.store = make_memory_store("test"), .key = "snapshot"} {}

  static GatheredRows rows_of(const std::vector<std::string>& keys, std::uint64_t room = 100) {
    GatheredRows rows;
    for (const std::string& key : keys) rows.add({as_bytes(key), fingerprint_of(as_bytes(key + "=1"))}, room);
    return rows;
  }
  Status write(const std::vector<std::pair<std::int32_t, GatheredRows>>& parts) const {
    HEADRACE_TRY(SnapshotWriter writer, SnapshotWriter::create(place_, {}));
    for (const auto& [partition, rows] : parts) HEADRACE_CHECK(writer.add_partition(partition, rows));
    return writer.commit({.cache = "ROWS", .partitions = {3, 7}, .dataset = {.compression = "none"}});
  }
  Bytes section(const SnapshotSection& section) const {
    Bytes bytes(section.size_bytes);
    EXPECT_TRUE(read_exactly(*place_.store, place_.key, bytes, {.offset_bytes = section.offset_bytes}));
    return bytes;
  }
  std::vector<std::string> keys(const SnapshotSection& of) const {
    std::vector<std::string> texts;
    const Bytes bytes = section(of);
    const Result<std::vector<SnapshotRow>> rows = parse_section(bytes, of.row_count);
    EXPECT_TRUE(rows) << rows.error().message;
    if (rows)
      for (const SnapshotRow& row : *rows) texts.push_back(to_string(row.key));
    return texts;
  }

  const Location place_;
};

TEST_F(IgniteSnapshot, OfTheSameRowsIsTheSameInWhateverOrderTheyCome) {
  ASSERT_TRUE(write({{7, rows_of({"a", "b", "c"})}, {3, rows_of({"x"})}}));
  const Result<Snapshot> first = read_snapshot(place_, {});
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_EQ(first->description.cache, "ROWS");
  EXPECT_THAT(first->description.partitions, ElementsAre(3, 7));
  ASSERT_EQ(first->sections.size(), 2U);
  EXPECT_EQ(first->sections[0].partition, 3);
  EXPECT_EQ(first->sections[1].room_bytes, 300U);
  const std::vector<std::string> order = keys(first->sections[1]);
  EXPECT_THAT(order, testing::UnorderedElementsAre("a", "b", "c"));

  ASSERT_TRUE(remove_object(*place_.store, place_.key));
  ASSERT_TRUE(write({{3, rows_of({"x"})}, {7, rows_of({"c", "a", "b"})}}));
  const Result<Snapshot> second = read_snapshot(place_, {});
  ASSERT_TRUE(second);
  EXPECT_EQ(second->digest(), first->digest());
  EXPECT_EQ(keys(second->sections[1]), order);

  ASSERT_TRUE(remove_object(*place_.store, place_.key));
  ASSERT_TRUE(write({{3, rows_of({"y"})}, {7, rows_of({"c", "a", "b"})}}));
  EXPECT_NE(read_snapshot(place_, {})->digest(), first->digest());
}

TEST_F(IgniteSnapshot, EndsSectionsAtTheSizeOfABlock) {
  ASSERT_TRUE(write({{1, rows_of({"a", "b", "c", "d", "e"}, kBlockBytes / 2)}}));
  const Result<Snapshot> snapshot = read_snapshot(place_, {});
  ASSERT_TRUE(snapshot);
  std::vector<std::uint32_t> counts;
  for (const SnapshotSection& each : snapshot->sections) counts.push_back(each.row_count);
  EXPECT_THAT(counts, ElementsAre(2, 2, 1));
}

// A reader takes memory for the room of a section.
TEST_F(IgniteSnapshot, ThatClaimsMoreRoomThanRowsCanHaveIsRefused) {
  ASSERT_TRUE(write({{1, rows_of({"a"}, std::uint64_t{1} << 63)}}));
  EXPECT_EQ(read_snapshot(place_, {}).error().code, Code::kDataLoss);
}

TEST_F(IgniteSnapshot, IsNeverReplaced) {
  Result<SnapshotWriter> late = SnapshotWriter::create(place_, {});
  ASSERT_TRUE(late);
  ASSERT_TRUE(late->add_partition(0, rows_of({"late"})));
  ASSERT_TRUE(write({{0, rows_of({"early"})}}));
  EXPECT_EQ(late->commit({}).error().code, Code::kAlreadyExists);
  EXPECT_THAT(keys(read_snapshot(place_, {})->sections[0]), ElementsAre("early"));
}

TEST_F(IgniteSnapshot, ThatIsDamagedAnywhereIsRefused) {
  ASSERT_TRUE(write({{0, rows_of({"a", "bc"})}, {5, rows_of({"d"})}}));
  const Bytes sound = read_object(*place_.store, place_.key, 1 << 20)->data;
  const Snapshot of_sound = *read_snapshot(place_, {});
  for (std::size_t i = 0; i < sound.size(); ++i) {
    Bytes damaged = sound;
    damaged[i] ^= std::byte{0x10};
    ASSERT_TRUE(place_.store->write(place_.key, damaged, {}));
    const Result<Snapshot> read = read_snapshot(place_, {});
    if (!read) continue;
    bool is_sound = i >= 8;  // the magic at the beginning is for people
    for (const SnapshotSection& each : of_sound.sections) {
      const Bytes bytes = section(each);
      is_sound = is_sound && parse_section(bytes, each.row_count);
    }
    EXPECT_FALSE(is_sound) << "byte " << i;
  }
  for (const std::size_t size : {std::size_t{0}, std::size_t{39}, sound.size() - 1}) {
    ASSERT_TRUE(place_.store->write(place_.key, BytesView(sound).first(size), {}));
    EXPECT_THAT(read_snapshot(place_, {}).error().message, HasSubstr("not a snapshot"));
  }
}

}  // namespace
}  // namespace headrace::ignite
