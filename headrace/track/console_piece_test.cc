#include "headrace/track/console_piece.h"

#include <gmock/gmock.h>

#include "headrace/base/text.h"
#include "headrace/store/memory/memory_store.h"

namespace headrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

Location console_at(const std::shared_ptr<Store>& store, std::string key) {
  return {store, key, {.scheme = "memory", .authority = "b", .path = key}};
}

void put_piece(const Location& folder, std::uint64_t number, std::string text) {
  const ConsolePiece piece{.lines = {{.time_ms = 1, .text = std::move(text)}}};
  ASSERT_TRUE(write_text(*folder.store, folder.at(console_piece_name(number)).key,
                         serialize_console_piece("r", piece)));
}

TEST(ConsolePiece, IsReadAsItWasWritten) {
  const ConsolePiece piece{
      .left_out_bytes = 7,
      .lines = {{1'763'695'560'125, ConsoleStream::kOutput, "epoch 1"}, {2, ConsoleStream::kError, "é\t\""}}};
  const auto read = parse_console_piece(as_bytes(serialize_console_piece("cnn-1", piece)));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->left_out_bytes, 7U);
  ASSERT_EQ(read->lines.size(), 2U);
  EXPECT_EQ(read->lines[0].time_ms, 1'763'695'560'125);
  EXPECT_EQ(read->lines[0].text, "epoch 1");
  EXPECT_EQ(read->lines[1].stream, ConsoleStream::kError);
  EXPECT_EQ(read->lines[1].text, "é\t\"");
}

TEST(ConsolePiece, HoldsNoSecrets) {
  const ConsolePiece piece{.lines = {{.text = "connecting with password=hunter2"}}};
  EXPECT_THAT(serialize_console_piece("r", piece), Not(HasSubstr("hunter2")));
}

TEST(ConsolePiece, AFlippedBitAndANewerVersionAreTold) {
  std::string text = serialize_console_piece("r", {.lines = {{.text = "epoch 1"}}});
  text[text.find("epoch")] ^= 1;
  EXPECT_EQ(parse_console_piece(as_bytes(text)).error().code, Code::kDataLoss);
  EXPECT_EQ(parse_console_piece(as_bytes("{}")).error().code, Code::kDataLoss);
  EXPECT_EQ(parse_console_piece(as_bytes(R"({"format":"headrace.run.console","version":2})")).error().code,
            Code::kUnimplemented);
}

TEST(ConsolePiece, AFolderIsReadInOrderAndAGapIsTold) {
  const std::shared_ptr<Store> store = make_memory_store("b");
  const Location folder = console_at(store, "console");
  const auto none = read_console(folder);
  ASSERT_TRUE(none);
  EXPECT_THAT(*none, IsEmpty());
  put_piece(folder, 0, "one");
  put_piece(folder, 1, "two");
  const auto pieces = read_console(folder);
  ASSERT_TRUE(pieces);
  ASSERT_EQ(pieces->size(), 2U);
  EXPECT_EQ(pieces->at(1).lines.at(0).text, "two");
  put_piece(folder, 3, "four");
  const auto gap = read_console(folder);
  ASSERT_FALSE(gap);
  EXPECT_THAT(gap.error().message, HasSubstr("000002 is missing"));
}

TEST(ConsolePiece, VerifyNamesTheDamagedOne) {
  const std::shared_ptr<Store> store = make_memory_store("b");
  const Location root = console_at(store, "");
  put_piece(root.at("_headrace/console/r/p"), 0, "one");
  put_piece(root.at("_headrace/console/r/p"), 1, "two");
  VerifiedObjects found{.objects = 3};
  ASSERT_TRUE(verify_console(root, found));
  EXPECT_EQ(found.objects, 5U);
  EXPECT_THAT(found.bad, IsEmpty());
  ASSERT_TRUE(write_text(*store, "_headrace/console/r/p/000001", "{}"));
  ASSERT_TRUE(verify_console(root, found));
  ASSERT_EQ(found.bad.size(), 1U);
  EXPECT_THAT(found.bad[0].url, HasSubstr("000001"));
}

}  // namespace
}  // namespace headrace
