#include "headrace/net/ignite/object_size.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "headrace/net/ignite/object_bytes_test.h"
#include "headrace/net/ignite/object_format.h"

namespace headrace::ignite {
namespace {

/// One object of each type, in hexadecimal.
const char* const kObjects[] = {
    "01ff",
    "020100",
    "0301000000",
    "040100000000000000",
    "0500000000",
    "060000000000000000",
    "074100",
    "0801",
    "0902000000c3a9",
    "0a00000000000000000000000000000000",
    "0b0000000000000000",
    "0c03000000010203",
    "0d0100000001ff",
    "0e0100000001020304",
    "0f010000000102030405060708",
    "100100000000000000",
    "11010000000000000000000000",
    "12010000004100",
    "13020000000001",
    "140200000009010000006165",
    "150100000065",
    "16010000000b0000000000000000",
    "17ffffffff02000000030100000065",
    "170000000009010000006100000000",
    "180200000001080165",
    "190100000001650801",
    "1b02000000080100000000",
    "1c0500000001000000",
    "1c0000000009010000006101000000",
    "1d05000000020000001c050000000100000065",
    "1e00000000010000007b",
    "1f0100000065",
    "2005000000",
    "21000000000000000000000000",
    "220100000065",
    "23010000000500000065",
    "240000000000000000",
    "250100000065",
    "260500000001000000",
    "65",
    "6605000000",
    ("670100000000000000000000"
     "1a00000000000000000000000801"),
    "fe0200000000ff",
};

std::vector<Bytes> objects() {
  std::vector<Bytes> out;
  for (const char* digits : kObjects) out.push_back(bytes_of_hex(digits));
  return out;
}

TEST(ObjectSize, IsThatOfTheFirstObjectWhateverFollows) {
  for (const Bytes& object : objects()) {
    Bytes followed = object;
    followed.resize(object.size() + 7, std::byte{0x65});
    const Result<std::size_t> size = object_size(followed);
    ASSERT_TRUE(size) << size.error().message;
    EXPECT_EQ(*size, object.size()) << std::to_integer<int>(object[0]);
  }
}

TEST(ObjectSize, OfBytesThatEndTooEarlyIsAnError) {
  for (const Bytes& object : objects()) {
    for (std::size_t size = 0; size < object.size(); ++size) {
      // A buffer of its own, so that the sanitizer sees a byte that is read too far.
      const Bytes part(object.begin(), object.begin() + static_cast<std::ptrdiff_t>(size));
      EXPECT_FALSE(object_size(part)) << std::to_integer<int>(object[0]) << " " << size;
    }
  }
}

TEST(ObjectSize, NamesTheCodeOfAnUnknownType) {
  const Result<std::size_t> unknown = object_size(bytes_of_hex("1801000000012a"));
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, Code::kDataLoss);
  EXPECT_THAT(unknown.error().message, testing::HasSubstr("at byte 6"));
  EXPECT_THAT(unknown.error().message, testing::HasSubstr("code 42"));
}

TEST(ObjectSize, OfCountsThatCannotBeIsAnError) {
  for (const char* digits : {"0cffffffff", "0cffffff7f00", "0f0000004000", "18ffffffff01", "19ffffff7f016565",
                             "1bffffff7f", "23ffffff7f", "67010000000000000000000017000000"}) {
    EXPECT_FALSE(object_size(bytes_of_hex(digits))) << digits;
  }
}

TEST(ObjectSize, OfObjectsThatNestTooDeepIsAnError) {
  const auto nested = [](int depth) {
    Bytes out;
    for (int i = 1; i < depth; ++i) append(out, bytes_of_hex("180100000001"));
    out.push_back(std::byte{0x65});
    return out;
  };
  EXPECT_TRUE(object_size(nested(kObjectDepthLimit)));
  const Result<std::size_t> size = object_size(nested(kObjectDepthLimit + 1));
  ASSERT_FALSE(size);
  EXPECT_THAT(size.error().message, testing::HasSubstr("deeper than 64"));
  EXPECT_FALSE(object_size(nested(10'000)));
}

}  // namespace
}  // namespace headrace::ignite
