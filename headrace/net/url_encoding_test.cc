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

TEST(UrlEncoding, EncodesTheNeighboursOfWhatItKeeps) {
  EXPECT_EQ(percent_encode("/:@[`{"), "%2F%3A%40%5B%60%7B");
  EXPECT_EQ(percent_encode("\x0f\xf0"), "%0F%F0");
}

TEST(UrlEncoding, DigitsMayBeOfEitherCase) {
  EXPECT_EQ(percent_decode("%0a%0A%9f%9F%aF%Fa"), "\n\n\x9f\x9f\xaf\xfa");
  EXPECT_EQ(percent_decode("%41"), "A");
  for (const char* wrong : {"%/0", "%:0", "%@0", "%G0", "%`0", "%g0", "%0/", "%0:", "%0@", "%0G", "%0`"})
    EXPECT_EQ(percent_decode(wrong), std::nullopt) << wrong;
}

}  // namespace
}  // namespace headrace
