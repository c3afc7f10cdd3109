#include "headrace/prepare/extract/row_batch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "headrace/base/text.h"
#include "headrace/prepare/row/byte_strings.h"

namespace headrace {
namespace {

using testing::HasSubstr;

// While it lives, this process can open no file.
class NoMoreFiles {
 public:
  NoMoreFiles() {
    EXPECT_EQ(::getrlimit(RLIMIT_NOFILE, &before_), 0);
    rlimit none = before_;
    none.rlim_cur = 0;
    EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  }
  ~NoMoreFiles() { ::setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
};

class ScratchFile {
 public:
  explicit ScratchFile(std::string_view content)
      : path_(std::filesystem::temp_directory_path() / concat("headrace-row-batch-", ::getpid())) {
    std::ofstream(path_) << content;
  }
  ~ScratchFile() { std::filesystem::remove(path_); }
  std::string path() const { return path_.string(); }
  const std::string& url() const { return url_; }

 private:
  std::filesystem::path path_;
  std::string url_ = concat("file://", path_.string());
};

class RowBatchTest : public testing::Test {
 protected:
  RowBatchTest()
      : schema(*parse_schema("[features.image]\ntype='bytes'\ncolumn='uri'\nuri=true\n"
                             "[features.member]\ntype='bytes'\noptional=true\n",
                             "test.toml")),
        store(stores.open("memory://batch")->store) {}

  // Columns: member, uri.
  OrderedRow row(const Cell& member, const Cell& uri) {
    cells = {member, uri};
    return {.order = 1, .tie = 2, .id = "id", .place = {0, 1}, .cells = cells};
  }
  static Cell text(std::string_view text) { return {.kind = CellKind::kBytes, .data = as_bytes(text)}; }

  Status follow(RowBatch& batch) {
    return batch.follow(
        [](std::uint32_t, RowPlace) -> std::string_view { return "memory://batch/folder/t.csv"; });
  }

  StoreRegistry stores{Environment{}};
  Schema schema;
  std::shared_ptr<Store> store;
  ReferenceReader references{stores, 1000};
  std::vector<Cell> cells;
};

TEST_F(RowBatchTest, BytesTakeThePlaceOfReferences) {
  ASSERT_TRUE(write_text(*store, "folder/a.png", "of a"));
  ASSERT_TRUE(write_text(*store, "tar", "0123456789"));
  RowBatch batch(schema, references);
  const Cell member = {.kind = CellKind::kReference,
                       .reference = {.url = "memory://batch/tar", .offset_bytes = 3, .size_bytes = 4}};
  ASSERT_TRUE(batch.add(row(member, text(" a.png ")), 0));
  ASSERT_TRUE(batch.add(row({}, text("memory://batch/folder/a.png")), 0));
  ASSERT_TRUE(follow(batch));
  const std::vector<std::size_t> image = feature_cells(schema).places[0];
  for (const BatchRow& made : batch.rows()) {
    EXPECT_FALSE(made.failure);
    EXPECT_EQ(as_text(made.cells[image[0]].data), "of a");
  }
  EXPECT_EQ(as_text(batch.rows()[0].cells[0].data), "3456");
}

TEST_F(RowBatchTest, AReferenceThatNobodyCouldFollowFailsItsRowAlone) {
  ASSERT_TRUE(write_text(*store, "folder/a.png", "of a"));
  ASSERT_TRUE(write_text(*store, "folder/large", std::string(1001, 'x')));
  RowBatch batch(schema, references);
  const Cell none = {.kind = CellKind::kReference,
                     .reference = {.url = "memory://batch/none", .size_bytes = 4}};
  ASSERT_TRUE(batch.add(row({}, text("a.png")), 0));
  ASSERT_TRUE(batch.add(row({}, text("none.png")), 0));
  ASSERT_TRUE(batch.add(row({}, text("large")), 0));
  ASSERT_TRUE(batch.add(row(none, text("a.png")), 0));
  ASSERT_TRUE(batch.add(row({}, text("/etc/passwd")), 0));
  ASSERT_TRUE(batch.add(row({}, text("nothing://batch/a.png")), 0));
  ASSERT_TRUE(follow(batch));
  const auto rows = batch.rows();
  EXPECT_FALSE(rows[0].failure);
  const Code codes[] = {Code::kNotFound, Code::kResourceExhausted, Code::kNotFound, Code::kPermissionDenied,
                        Code::kInvalidArgument};
  for (std::size_t i = 0; i < std::size(codes); ++i) {
    ASSERT_TRUE(rows[i + 1].failure) << i;
    EXPECT_EQ(rows[i + 1].failure->code, codes[i]) << rows[i + 1].failure->message;
  }
  EXPECT_EQ(rows[1].failed_column, "uri");
  EXPECT_EQ(rows[3].failed_column, "member");
  EXPECT_EQ(rows[3].cells[0].kind, CellKind::kReference);
}

TEST_F(RowBatchTest, AStateThatMayPassFailsTheBatchAndNoRow) {
  const ScratchFile file("of a file");
  const Cell known = {.kind = CellKind::kReference, .reference = {.url = file.url(), .size_bytes = 9}};
  const Cell unknown = {.kind = CellKind::kReference, .reference = {.url = file.url()}};
  for (const Cell& cell : {known, unknown, text(file.url())}) {
    RowBatch batch(schema, references), before(schema, references);
    const bool is_uri = cell.kind == CellKind::kBytes;
    ASSERT_TRUE(batch.add(is_uri ? row({}, cell) : row(cell, {}), 0));
    // Sanitizers open a pipe when they meet a type for the first time: that comes before files are refused.
    ASSERT_TRUE(before.add(is_uri ? row({}, cell) : row(cell, {}), 0));
    ASSERT_TRUE(before.follow([](std::uint32_t, RowPlace) -> std::string_view { return "file:///t.csv"; }));
    Status status;
    {
      const NoMoreFiles no_more_files;
      status = batch.follow([](std::uint32_t, RowPlace) -> std::string_view { return "file:///t.csv"; });
    }
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code, Code::kResourceExhausted) << status.error().message;
    EXPECT_THAT(status.error().message, HasSubstr(file.path()));
    EXPECT_THAT(status.error().message, HasSubstr("run the same command again"));
    EXPECT_FALSE(batch.rows()[0].failure);
    ASSERT_TRUE(batch.follow([](std::uint32_t, RowPlace) -> std::string_view { return "file:///t.csv"; }));
    const std::size_t place = is_uri ? feature_cells(schema).places[0][0] : 0;
    EXPECT_EQ(as_text(batch.rows()[0].cells[place].data), "of a file");
  }
}

TEST_F(RowBatchTest, AnObjectInAnotherVersionThanWasListedFailsTheBatch) {
  ASSERT_TRUE(write_text(*store, "folder/a.png", "of a"));
  for (const std::optional<std::uint64_t> size :
       {std::optional<std::uint64_t>(4), std::optional<std::uint64_t>()}) {
    RowBatch batch(schema, references);
    const Cell changed = {
        .kind = CellKind::kReference,
        .reference = {.url = "memory://batch/folder/a.png", .version = "another", .size_bytes = size}};
    ASSERT_TRUE(batch.add(row(changed, text("a.png")), 0));
    const Status status = follow(batch);
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code, Code::kFailedPrecondition);
    EXPECT_FALSE(batch.rows()[0].failure);
  }
}

TEST_F(RowBatchTest, AListOfOneUriIsFollowedAndAnotherListStaysWhatItIs) {
  ASSERT_TRUE(write_text(*store, "folder/a.png", "of a"));
  Bytes one, two;
  append_byte_string(one, as_bytes("a.png"));
  for (int i = 0; i < 2; ++i) append_byte_string(two, as_bytes("a.png"));
  RowBatch batch(schema, references);
  for (const BytesView list : {BytesView(one), BytesView(two)})
    ASSERT_TRUE(batch.add(row({}, {.kind = CellKind::kByteStrings, .data = list}), 0));
  ASSERT_TRUE(follow(batch));
  const std::size_t image = feature_cells(schema).places[0][0];
  EXPECT_EQ(as_text(batch.rows()[0].cells[image].data), "of a");
  EXPECT_EQ(batch.rows()[1].cells[image].kind, CellKind::kByteStrings);
}

TEST_F(RowBatchTest, ARowOfOtherColumnsIsDamage) {
  RowBatch batch(schema, references);
  const std::vector<Cell> many(100);
  const Status added = batch.add({.id = "id", .cells = many}, 0);
  ASSERT_FALSE(added);
  EXPECT_EQ(added.error().code, Code::kDataLoss);
  EXPECT_TRUE(batch.is_empty());
}

TEST_F(RowBatchTest, ItIsFullBySizeAlsoOfWhatIsReferredTo) {
  RowBatch batch(schema, references);
  std::size_t rows = 0;
  const Cell large = {.kind = CellKind::kReference,
                      .reference = {.url = "memory://batch/tar", .size_bytes = 4 << 20}};
  while (!batch.is_full()) {
    ASSERT_TRUE(batch.add(row(large, {}), 0));
    ++rows;
  }
  EXPECT_EQ(rows, 2U);
}

TEST(ResolveUrl, IsRelativeToTheTableAndLeavesItsStoreForNoFileOfTheMachine) {
  EXPECT_EQ(*resolve_url("./a/b.png", "s3://raw/pets/t.csv"), "s3://raw/pets/a/b.png");
  EXPECT_EQ(*resolve_url("s3://other/b.png", "s3://raw/pets/t.csv"), "s3://other/b.png");
  EXPECT_EQ(*resolve_url("/data/b.png", "file:///tables/t.csv"), "/data/b.png");
  EXPECT_EQ(resolve_url("/etc/passwd", "s3://raw/pets/t.csv").error().code, Code::kPermissionDenied);
  EXPECT_EQ(resolve_url("file:///etc/passwd", "s3://raw/pets/t.csv").error().code, Code::kPermissionDenied);
}

TEST(ResolveUrl, KnowsAFileOfTheMachineHoweverItsSchemeIsWritten) {
  for (const std::string_view file :
       {"FILE:///etc/passwd", "File:///etc/passwd", " fILE://localhost/etc/passwd"}) {
    const auto refused = resolve_url(file, "s3://raw/pets/t.csv");
    ASSERT_FALSE(refused) << file;
    EXPECT_EQ(refused.error().code, Code::kPermissionDenied) << file;
    EXPECT_EQ(*resolve_url(file, "FILE:///tables/t.csv"), trim(file));
    EXPECT_EQ(*resolve_url(file, "tables/t.csv"), trim(file));
  }
  EXPECT_EQ(*resolve_url("file:/etc/passwd", "s3://raw/pets/t.csv"), "s3://raw/pets/file:/etc/passwd");
}

TEST(ResolveUrl, OfStagedRowsGoesByWhereTheyWereBefore) {
  constexpr std::string_view kPart = "rows-000000000000-0123456789abcdef0123456789abcdef.tfrecord";
  for (const std::string_view output : {"s3://out", "file:///out"}) {
    const std::string own = concat(output, "/_headrace/staged/", kPart);
    const std::string stored = concat(output, "/_headrace/staged/stored-", kPart);
    EXPECT_EQ(*resolve_url("/data/b.png", own), "/data/b.png");
    EXPECT_EQ(*resolve_url("file:///data/b.png", own), "file:///data/b.png");
    EXPECT_EQ(resolve_url("/etc/passwd", stored).error().code, Code::kPermissionDenied);
    EXPECT_EQ(resolve_url("file:///etc/passwd", stored).error().code, Code::kPermissionDenied);
    for (const std::string& part : {own, stored}) {
      EXPECT_EQ(resolve_url("b.png", part).error().code, Code::kInvalidArgument);
      EXPECT_EQ(*resolve_url("s3://raw/b.png", part), "s3://raw/b.png");
    }
  }
  EXPECT_EQ(resolve_url("/etc/passwd", concat("s3://raw/tables/", kPart)).error().code,
            Code::kPermissionDenied);
}

}  // namespace
}  // namespace headrace
