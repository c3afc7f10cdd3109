#include "headrace/record/sealed_json.h"

#include <gtest/gtest.h>

#include <string>

namespace headrace {
namespace {

TEST(SealedJson, ChecksumIsTheLastKey) {
  // CRC32C of `{"a":1}` and a newline from a table-driven implementation in Python.
  EXPECT_EQ(seal_json("{\"a\":1}\n"), "{\"a\":1,\"zz_crc32c\":\"337437e6\"}\n");
}

TEST(SealedJson, AnyChangedOrMissingByteIsSeen) {
  const std::string sealed = seal_json("{\"a\":1,\"b\":[\"x\"]}\n");
  ASSERT_TRUE(is_sealed_json(sealed));
  for (std::size_t i = 0; i < sealed.size(); ++i) {
    std::string changed = sealed;
    changed[i] ^= 1;
    EXPECT_FALSE(is_sealed_json(changed)) << i;
    EXPECT_FALSE(is_sealed_json(sealed.substr(0, i))) << i;
  }
  EXPECT_FALSE(is_sealed_json(sealed + " "));
  EXPECT_TRUE(is_sealed_json(seal_json("}\n"))) << "the shortest text with a seal";
}

}  // namespace
}  // namespace headrace
