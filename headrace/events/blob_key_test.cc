#include "headrace/events/blob_key.h"

#include <gtest/gtest.h>

#include <string>

namespace headrace {
namespace {

constexpr HashKey kSecret{1, 2};

TEST(BlobKey, SaysWhereTheBlobLies) {
  const std::string key =
      write_blob_key(kSecret, "logs/grüße/tfevents.1", {123456789012, 345, 0xdeadbeef, {}});
  EXPECT_EQ(key.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"),
            std::string::npos);
  const Result<BlobPlace> place = read_blob_key(kSecret, key);
  ASSERT_TRUE(place);
  EXPECT_EQ(place->object_key, "logs/grüße/tfevents.1");
  EXPECT_EQ(place->blob.offset_bytes, 123456789012U);
  EXPECT_EQ(place->blob.length_bytes, 345U);
  EXPECT_EQ(place->blob.crc32c, 0xdeadbeefU);
  EXPECT_EQ(read_blob_key(kSecret, write_blob_key(kSecret, "x", {0, 2, 0, "28"}))->blob.literal, "28");
}

TEST(BlobKey, NobodyElseCanMakeOne) {
  const std::string key = write_blob_key(kSecret, "logs/tfevents.1", {100, 5, 7, {}});
  EXPECT_EQ(read_blob_key({1, 3}, key).error().code, Code::kNotFound);
  for (std::size_t i = 0; i < key.size(); ++i) {
    for (const char other : {'A', 'z', '=', '\0'}) {
      std::string changed = key;
      changed[i] = other;
      const Result<BlobPlace> place = read_blob_key(kSecret, changed);
      // The last character holds bits that belong to no byte.
      EXPECT_TRUE(changed == key || i + 1 == key.size() || !place) << i << other;
    }
  }
  for (const std::string_view text : {"", "A", "AAAAAAAAAAA", "%%%%"})
    EXPECT_FALSE(read_blob_key(kSecret, text));
}

}  // namespace
}  // namespace headrace
