#include "headrace/net/url_encoding.h"

#include <gtest/gtest.h>

#include <string>

namespace headrace {
namespace {

TEST(UrlEncoding, KeepsUnreservedCharactersOnly) {
  EXPECT_EQ(percent_encode("aZ09-._~"), "aZ09-._~");
  EXPECT_EQ(percent_encode("a/b c+é&=?"), "a%2Fb%20c%2B%C3%A9%26%3D%3F");
  EXPECT_EQ(percent_encode("a/b c", "/"), "a/b%20c");
}

TEST(UrlEncoding, DecodesWhatItEncoded) {
  std::string every_byte;
  for (int i = 0; i < 256; ++i) every_byte += static_cast<char>(i);
  EXPECT_EQ(percent_decode(percent_encode(every_byte)), every_byte);
  EXPECT_EQ(percent_decode("a+b%2b"), "a+b+");
  EXPECT_EQ(percent_decode("a+b%2b", true), "a b+");
}

TEST(UrlEncoding, RefusesBrokenEscapes) {
  for (const char* wrong : {"%", "%4", "a%zz", "%4g", "%%41"})
    EXPECT_EQ(percent_decode(wrong), std::nullopt) << wrong;
}

}  // namespace
}  // namespace headrace
