#include "headrace/serve/request_log/logged_records.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "headrace/base/environment.h"
#include "headrace/base/text.h"
#include "headrace/record/tfrecord.h"
#include "headrace/store/memory/memory_store.h"

namespace headrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Bytes framed(const std::vector<std::string>& texts) {
  Bytes out;
  for (const std::string& text : texts) append_record(out, as_bytes(text));
  return out;
}

std::vector<std::string> texts_of(const LoggedRecords& records) {
  std::vector<std::string> out;
  for (const BytesView record : records.records) out.emplace_back(as_text(record));
  return out;
}

class LoggedRecordsTest : public testing::Test {
 protected:
  void put(std::string_view key, const Bytes& data) { ASSERT_TRUE(store->write(key, data, {})); }
  Location at(const std::string& key) const { return {store, key, {"memory", "test", key}}; }

  const std::shared_ptr<Store> store = make_memory_store("test");
};

TEST_F(LoggedRecordsTest, TheModelsFolderGoesBeforeThatAroundIt) {
  put("logs/m/a.000000.tfrecord", framed({"m1", "m2"}));
  put("logs/m/notes.txt", to_bytes("no log"));
  put("logs/b.000000.tfrecord", framed({"all"}));
  EXPECT_THAT(texts_of(*read_newest_records(at("logs"), "m", {})), ElementsAre("m1", "m2"));
  EXPECT_THAT(texts_of(*read_newest_records(at("logs"), "other", {})), ElementsAre("all"));
  EXPECT_THAT(texts_of(*read_newest_records(at("logs/m/a.000000.tfrecord"), "x", {})),
              ElementsAre("m1", "m2"));
  const auto nothing = read_newest_records(at("nowhere"), "m", {});
  ASSERT_FALSE(nothing);
  EXPECT_EQ(nothing.error().code, Code::kNotFound);
}

TEST_F(LoggedRecordsTest, TheNewestFilesAreReadUntilThereAreEnough) {
  for (int i = 0; i < 200; ++i)
    put(concat("logs/", zero_padded(static_cast<std::uint64_t>(i), 4), ".tfrecord"),
        framed({concat(i, "a"), concat(i, "b")}));
  const auto read = read_newest_records(at("logs"), "m", {}, {.records = 3});
  ASSERT_TRUE(read);
  EXPECT_THAT(texts_of(*read), ElementsAre("199a", "199b", "198b"));
  EXPECT_THAT(read->remark, IsEmpty());
}

TEST_F(LoggedRecordsTest, OfALongFileTheLastRecordsAreTaken) {
  std::vector<std::string> texts;
  for (int i = 0; i < 2'000; ++i) texts.push_back(concat(i));
  put("logs/a.tfrecord", framed(texts));
  const auto read = read_newest_records(at("logs"), "m", {});
  ASSERT_TRUE(read);
  EXPECT_THAT(texts_of(*read), testing::ElementsAreArray(texts.begin() + 1'000, texts.end()));
  const auto three = read_newest_records(at("logs/a.tfrecord"), "m", {}, {.records = 3, .bytes = 200});
  EXPECT_THAT(texts_of(*three), ElementsAre("1997", "1998", "1999"));
}

TEST_F(LoggedRecordsTest, BytesAreBoundedWithoutARemark) {
  put("logs/a.tfrecord", framed({std::string(100, 'x'), std::string(100, 'y')}));
  const auto read = read_newest_records(at("logs"), "m", {}, {.bytes = 150});
  ASSERT_TRUE(read);
  EXPECT_THAT(texts_of(*read), ElementsAre(std::string(100, 'y'))) << "the end of the file";
  EXPECT_THAT(read->remark, IsEmpty());
  const auto less = read_newest_records(at("logs"), "m", {}, {.bytes = 90});
  ASSERT_TRUE(less);
  EXPECT_THAT(less->records, IsEmpty());
  EXPECT_THAT(less->remark, IsEmpty());
}

TEST_F(LoggedRecordsTest, RecordsBeforeDamageAreThere) {
  Bytes file = framed({"one", "two"});
  file.back() ^= std::byte{1};
  put("logs/a.tfrecord", file);
  auto read = read_newest_records(at("logs"), "m", {});
  ASSERT_TRUE(read);
  EXPECT_THAT(texts_of(*read), ElementsAre("one"));
  EXPECT_THAT(read->remark, HasSubstr("a.tfrecord"));
  file.resize(file.size() - 5);
  put("logs/a.tfrecord", file);
  read = read_newest_records(at("logs"), "m", {});
  EXPECT_THAT(texts_of(*read), ElementsAre("one"));
  EXPECT_THAT(read->remark, HasSubstr("truncated"));
}

TEST_F(LoggedRecordsTest, AFileOfThisMachineIsReadWithinTheSameBounds) {
  const std::string path =
      std::filesystem::temp_directory_path() / concat("headrace-records-", random_name_bits());
  EXPECT_EQ(read_record_file(path).error().code, Code::kNotFound);
  const Bytes content = framed({"one", "two", "three"});
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(content.data()), static_cast<std::streamsize>(content.size()));
  EXPECT_THAT(texts_of(*read_record_file(path)), ElementsAre("one", "two", "three"));
  EXPECT_THAT(texts_of(*read_record_file(path, {.records = 2})), ElementsAre("one", "two"));
  EXPECT_THAT(texts_of(*read_record_file(path, {.bytes = 30})), ElementsAre("one"));
  std::filesystem::remove(path);
  EXPECT_FALSE(read_record_file(std::filesystem::temp_directory_path()));
}

}  // namespace
}  // namespace headrace
