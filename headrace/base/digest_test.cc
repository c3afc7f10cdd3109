#include "headrace/base/digest.h"

#include <gtest/gtest.h>

namespace headrace {
namespace {

TEST(Sha256, AgreesWithFips180) {
  EXPECT_EQ(sha256_hex(as_bytes("abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256_hex({}), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

TEST(Base64, IsThatOfRfc4648) {
  const std::pair<const char*, const char*> expected[] = {{"f", "Zg=="},         {"fo", "Zm8="},
                                                          {"foo", "Zm9v"},       {"foob", "Zm9vYg=="},
                                                          {"fooba", "Zm9vYmE="}, {"foobar", "Zm9vYmFy"}};
  for (const auto& [text, encoded] : expected) {
    EXPECT_EQ(base64(as_bytes(text)), encoded);
    EXPECT_EQ(parse_base64(encoded), to_bytes(text));
  }
  EXPECT_EQ(base64({}), "");
  EXPECT_EQ(base64(Bytes{std::byte{0xfb}, std::byte{0xff}, std::byte{0xbf}}), "+/+/");
}

TEST(Base64, HoldsEveryByte) {
  Bytes all;
  for (int i = 0; i < 256; ++i) all.push_back(static_cast<std::byte>(i * 167));
  EXPECT_EQ(parse_base64(base64(all)), all);
}

TEST(Base64, IsReadWithPaddingAtItsEndOnly) {
  EXPECT_EQ(parse_base64("Zm9vYmE="), to_bytes("fooba"));
  EXPECT_EQ(parse_base64("Zm9vYg=="), to_bytes("foob"));
  for (const char* wrong :
       {"", "====", "Zg==Zg==", "Z=9v", "Zm=v", "Z===", "=m9v", "Zg", "Zm 9", "Zm9-", "Zm9\xc3"})
    EXPECT_EQ(parse_base64(wrong), std::nullopt) << wrong;
}

TEST(Sha256, DoesNotDependOnThePieces) {
  Sha256 state;
  state.update(as_bytes("a"));
  state.update(as_bytes("bc"));
  EXPECT_EQ(hex(state.finish()), sha256_hex(as_bytes("abc")));
}

}  // namespace
}  // namespace headrace
