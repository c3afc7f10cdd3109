// The limits of what a store accepts: keys, ranges, sizes.

#include <algorithm>
#include <cstring>
#include <functional>
#include <limits>

#include "headrace/base/environment.h"
#include "headrace/base/text.h"
#include "headrace/store/conformance.h"

namespace headrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Returns a key of `bytes` bytes with as many segments as possible.
std::string longest_key(std::size_t bytes) {
  std::string key(bytes, 'd');
  for (std::size_t i = 1; i + 1 < bytes; i += 2) key[i] = '/';
  return key;
}

// Returns a key for each byte of ASCII that a segment may contain, and for the smallest and largest character
// of each length in UTF-8.
std::vector<std::string> odd_keys(std::size_t max_key_bytes) {
  std::vector<std::string> keys = {"a b+c%2F&=?#.bin",
                                   "folder/日本語/ключ",
                                   "x/~tilde!*'();:@$,[]",
                                   " begins and ends ",
                                   "..dots..",
                                   "...",
                                   "%00%2e%2e",
                                   "composed-\u00e9",
                                   "decomposed-e\u0301",
                                   std::string(255, 'k') + "/leaf",
                                   longest_key(max_key_bytes)};
  for (char c = 1; c < 127; ++c) {
    if (c != '/') keys.push_back(concat("ascii/<", c, ">"));
  }
  for (const char* character :
       {"\x7f", "\u0080", "\u07ff", "\u0800", "\ud7ff", "\ue000", "\ufffd", "\U00010000", "\U0010fffd"})
    keys.push_back(concat("unicode/", character));
  std::sort(keys.begin(), keys.end());
  return keys;
}

bool has_control_character(const std::string& key) {
  return std::any_of(key.begin(), key.end(), [](char c) { return c > 0 && c < ' '; });
}

TEST_P(StoreConformance, KeysMayHoldAnythingThatTheGrammarAllows) {
  std::vector<std::string> odd = odd_keys(GetParam().max_key_bytes);
  for (const std::string& key : odd) {
    ASSERT_OK(write_text(*store, key, key, {.is_durable = false}));
    EXPECT_EQ(text_of(key), key);
    EXPECT_EQ(store->stat(key, {})->size_bytes, key.size());
  }
  if (!GetParam().lists_control_characters) {
    const auto at = std::partition(odd.begin(), odd.end(), std::not_fn(has_control_character));
    ASSERT_OK(store->remove_many(std::vector(at, odd.end()), {}));
    odd.erase(at, odd.end());
    std::sort(odd.begin(), odd.end());
  }
  EXPECT_EQ(keys(""), odd);
  for (const std::string& key : odd) EXPECT_THAT(keys(key), ElementsAre(key));
  ASSERT_OK(store->remove_many(odd, {}));
  EXPECT_THAT(keys(""), IsEmpty());
}

TEST_P(StoreConformance, KeysThatBreakTheGrammarAreRefused) {
  ASSERT_OK(write_text(*store, "source", "x"));
  for (const std::string& key : {std::string(),
                                 std::string("/"),
                                 std::string("/a"),
                                 std::string("a/"),
                                 std::string("a//b"),
                                 std::string("."),
                                 std::string(".."),
                                 std::string("a/.."),
                                 std::string("a/../b"),
                                 std::string("./a"),
                                 std::string("../a"),
                                 std::string("a/./b"),
                                 std::string("a\0b", 3),
                                 std::string("a\xff"),
                                 std::string("\x80"),
                                 std::string("\xc0\xaf"),
                                 std::string("\xe2\x82"),
                                 std::string("\xed\xa0\x80"),
                                 std::string("\xf4\x90\x80\x80"),
                                 std::string(256, 'x'),
                                 "a/" + std::string(256, 'x') + "/b",
                                 join(std::vector<std::string>(513, "d"), "/")}) {
    EXPECT_EQ(write_text(*store, key, "x").error().code, Code::kInvalidArgument) << key;
    EXPECT_EQ(store->start_upload(key, {}).error().code, Code::kInvalidArgument) << key;
    EXPECT_EQ(store->copy("source", key, {}).error().code, Code::kInvalidArgument) << key;
    Bytes target(1);
    EXPECT_FALSE(store->read_into(key, target, {})) << key;
    EXPECT_FALSE(store->stat(key, {})) << key;
  }
  EXPECT_THAT(keys(""), ElementsAre("source"));
}

// Expects a read of `size` bytes at `offset` to return these bytes of the object, and to write not a byte
// more.
void expect_range(Store& store, const Bytes& object, std::uint64_t offset, std::size_t size) {
  Bytes target(size + 1, std::byte{0xee});
  const auto read = store.read_into("object", MutableBytesView(target).first(size), {.offset_bytes = offset});
  const std::string range = concat(size, " bytes at ", offset, " of ", object.size());
  if (offset > object.size()) {
    ASSERT_FALSE(read) << range;
    EXPECT_EQ(read.error().code, Code::kOutOfRange) << range;
    return;
  }
  ASSERT_TRUE(read) << range << ": " << read.error().message;
  const std::size_t expected = std::min<std::uint64_t>(size, object.size() - offset);
  ASSERT_EQ(read->bytes_read, expected) << range;
  EXPECT_EQ(read->object.size_bytes, object.size()) << range;
  EXPECT_TRUE(as_text(BytesView(target).first(expected)) ==
              as_text(BytesView(object).subspan(offset, expected)))
      << range;
  EXPECT_EQ(target.back(), std::byte{0xee}) << range;
}

TEST_P(StoreConformance, RangesAreReadAtEveryEdge) {
  constexpr std::uint64_t kLast = std::numeric_limits<std::uint64_t>::max();
  for (const std::size_t size : {0, 1, 1000}) {
    const Bytes object = random_bytes(size, 8);
    ASSERT_OK(store->write("object", object, {}));
    for (const std::size_t offset :
         {std::size_t{0}, std::size_t{1}, size / 2, size - 1, size, size + 1, size + 1000}) {
      for (const std::size_t length :
           {std::size_t{0}, std::size_t{1}, size - 1, size, size + 1, 2 * size + 9}) {
        if (length < kLast) expect_range(*store, object, offset, length);
      }
    }
    for (const std::uint64_t offset : {kLast / 2, kLast / 2 + 1, kLast - 1, kLast})
      expect_range(*store, object, offset, 10);
  }
}

TEST_P(StoreConformance, RangesOfALargeObjectAreReadAtEveryEdge) {
  constexpr std::size_t kSize = (18 << 20) + 7, kEdge = 8 << 20;  // a driver may split a range here
  const Bytes object = random_bytes(kSize, 9);
  ASSERT_OK(store->write("object", object, {}));
  for (const std::size_t offset : {std::size_t{0}, std::size_t{1}, kEdge - 1, kEdge, kSize - kEdge})
    expect_range(*store, object, offset, kSize);
  for (const std::size_t length : {kEdge - 1, kEdge, kEdge + 1, 2 * kEdge + 1})
    expect_range(*store, object, 1, length);
  expect_range(*store, object, kSize - 1, kSize);
}

TEST_P(StoreConformance, AnObjectMayBeEmpty) {
  ASSERT_OK(store->write("empty", {}, {.only_if_absent = true}));
  ASSERT_OK(store->copy("empty", "copied", {}));
  ASSERT_OK((*store->start_upload("uploaded", {}))->commit());
  EXPECT_THAT(keys(""), ElementsAre("copied", "empty", "uploaded"));
  for (const char* key : {"copied", "empty", "uploaded"}) {
    const auto read = read_object(*store, key, 0);
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_TRUE(read->data.empty());
    EXPECT_EQ(read->object.size_bytes, 0U);
    ASSERT_OK(store->read_many(std::vector<ReadRequest>{{key, 0, {}}}, {}));
  }
  EXPECT_EQ(store->write("empty", {}, {.only_if_absent = true}).error().code, Code::kAlreadyExists);
}

// Fills `target` with the bytes of an endless object from `offset` on, which is a multiple of 8.
void fill(MutableBytesView target, std::uint64_t offset) {
  for (std::size_t i = 0; i < target.size(); i += 8) {
    const std::uint64_t word = (offset + i + 1) * 0x9e3779b97f4a7c15;
    std::memcpy(target.data() + i, &word, std::min<std::size_t>(8, target.size() - i));
  }
}

TEST_P(StoreConformance, AnObjectOfAnySizeIsWrittenInPiecesCopiedAndReadBack) {
  const std::string wanted =
      Environment::capture().get("HEADRACE_CONFORMANCE_OBJECT_BYTES").value_or("20000003");
  const std::uint64_t size = parse_number<std::uint64_t>(wanted).value();
  Bytes piece(kPieceBytes), expected(kPieceBytes);
  auto upload = store->start_upload("large", {});
  ASSERT_OK(upload);
  for (std::uint64_t offset = 0; offset < size; offset += piece.size()) {
    const auto next = MutableBytesView(piece).first(std::min<std::uint64_t>(piece.size(), size - offset));
    fill(next, offset);
    ASSERT_OK((*upload)->append(next));
  }
  ASSERT_OK((*upload)->commit());
  const auto copied = store->copy("large", "copy", {});
  ASSERT_OK(copied);
  ASSERT_OK(store->remove_many(std::vector<std::string>{"large"}, {}));
  std::uint64_t offset = 0;
  ASSERT_OK(read_in_pieces(*store, *store->stat("copy", {}), {}, [&](BytesView data) -> Status {
    const auto same = MutableBytesView(expected).first(data.size());
    fill(same, offset);
    if (as_text(data) != as_text(same))
      return Error{Code::kDataLoss, concat("the bytes differ from those written, after ", offset)};
    offset += data.size();
    return {};
  }));
  EXPECT_EQ(offset, size);
  Bytes tail(10);
  EXPECT_EQ(store->read_into("copy", tail, {.offset_bytes = size - 3})->bytes_read, 3U);
  ASSERT_OK(store->remove_many(std::vector<std::string>{"copy"}, {}));
}

}  // namespace
}  // namespace headrace
