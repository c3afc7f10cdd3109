#include "headrace/base/digest.h"

#include <gtest/gtest.h>

namespace headrace {
namespace {

TEST(Sha256, AgreesWithFips180) {
  EXPECT_EQ(sha256_hex(as_bytes("abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256_hex({}), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

TEST(Base64, IsReadWithPaddingAtItsEndOnly) {
  EXPECT_EQ(parse_base64("Zm9vYmE="), to_bytes("fooba"));
  EXPECT_EQ(parse_base64("Zm9vYg=="), to_bytes("foob"));
  for (const char* wrong : {"", "====", "Zg==Zg==", "Z=9v", "Zm=v", "Z===", "=m9v"})
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
