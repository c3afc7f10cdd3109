#include "headrace/prepare/schema/text_encoding.h"

#include <gtest/gtest.h>

namespace headrace {
namespace {

TEST(TextEncoding, WhatIsUtf8IsNotCopied) {
  const std::string text = "Zürich";
  std::string storage;
  const DecodedText decoded = decode_text(text, TextEncoding::kUtf8, storage);
  EXPECT_EQ(decoded.text.data(), text.data());
  EXPECT_EQ(decoded.replaced, 0U);
}

TEST(TextEncoding, EachIllFormedPlaceIsReplacedAndCounted) {
  std::string storage;
  const DecodedText decoded = decode_text("a\xff b\xe2\x82", TextEncoding::kUtf8, storage);
  EXPECT_EQ(decoded.text, "a\uFFFD b\uFFFD");
  EXPECT_EQ(decoded.replaced, 2U);
}

TEST(TextEncoding, BytesOfLatin1AreCharactersOfThatNumber) {
  std::string storage;
  EXPECT_EQ(decode_text("caf\xe9 \x80", TextEncoding::kLatin1, storage).text, "café \u0080");
}

TEST(TextEncoding, Windows1252HasItsOwnCharactersAndFiveBytesWithoutOne) {
  std::string storage;
  EXPECT_EQ(decode_text("\x80 \x9f \xff", TextEncoding::kWindows1252, storage).text, "€ Ÿ ÿ");
  const DecodedText decoded = decode_text("\x81\x8d\x8f\x90\x9d", TextEncoding::kWindows1252, storage);
  EXPECT_EQ(decoded.replaced, 5U);
  EXPECT_EQ(decoded.text, "\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD");
}

}  // namespace
}  // namespace headrace
