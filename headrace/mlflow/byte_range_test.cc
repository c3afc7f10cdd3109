#include "headrace/mlflow/byte_range.h"

#include <gtest/gtest.h>

namespace headrace::mlflow {
namespace {

TEST(ByteRange, NamesBytesOfAnObject) {
  EXPECT_EQ(*parse_byte_range("bytes=5-9", 100), (ByteRange{5, 5}));
  EXPECT_EQ(*parse_byte_range("bytes=5-", 100), (ByteRange{5, 95}));
  EXPECT_EQ(*parse_byte_range("bytes=-5", 100), (ByteRange{95, 5}));
  EXPECT_EQ(*parse_byte_range("bytes=-500", 100), (ByteRange{0, 100}));
  EXPECT_EQ(*parse_byte_range("bytes=99-18446744073709551615", 100), (ByteRange{99, 1}));
}

TEST(ByteRange, AnythingElseNamesAll) {
  for (const char* header : {"", "bytes=", "bytes=-", "bytes=a-", "bytes=9-5", "bytes=0-1,3-4", "lines=1-2",
                             "bytes=5", "bytes=99999999999999999999-"})
    EXPECT_EQ(*parse_byte_range(header, 100), (ByteRange{0, 100})) << header;
}

TEST(ByteRange, BehindTheEndIsAnError) {
  EXPECT_EQ(parse_byte_range("bytes=100-", 100).error().code, Code::kOutOfRange);
  EXPECT_EQ(parse_byte_range("bytes=0-0", 0).error().code, Code::kOutOfRange);
  EXPECT_EQ(parse_byte_range("bytes=-0", 100).error().code, Code::kOutOfRange);
}

}  // namespace
}  // namespace headrace::mlflow
