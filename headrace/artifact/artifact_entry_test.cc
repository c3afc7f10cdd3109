#include "headrace/artifact/artifact_entry.h"

#include <gmock/gmock.h>

#include "headrace/base/text.h"

namespace headrace {
namespace {

using testing::HasSubstr;

std::string digest(char digit) { return std::string(64, digit); }

std::vector<ArtifactEntry> two_entries() {
  return {{.path = "labels.csv", .size_bytes = 4, .sha256 = digest('a')},
          {.path = "raw/cat \xc3\xa9\n.jpg",
           .url = "s3://raw/cat.jpg",
           .version = "\"5d41\"",
           .size_bytes = std::uint64_t{1} << 40,
           .crc32c = 0x0000beefU}};
}

Result<std::vector<ArtifactEntry>> read(std::string_view text, std::size_t piece_bytes = 1 << 20) {
  EntryListReader reader;
  for (std::size_t at = 0; at < text.size(); at += piece_bytes)
    HEADRACE_CHECK(reader.add(as_bytes(text.substr(at, piece_bytes))));
  return reader.finish();
}

TEST(ArtifactEntry, AListIsReadAsItWasWrittenInPiecesOfAnySize) {
  const std::string text = serialize_entries(two_entries());
  for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, text.size()})
    EXPECT_EQ(*read(text, piece), two_entries()) << piece;
  EXPECT_EQ(text.substr(0, text.find('\n')),
            concat(R"({"path":"labels.csv","sha256":")", digest('a'), R"(","size_bytes":4})"));
  EXPECT_TRUE(read("")->empty());
}

TEST(ArtifactEntry, DamageIsToldWithItsLine) {
  const std::string good = serialize_entries(two_entries());
  const std::string line = good.substr(0, good.find('\n') + 1);
  const auto why = [](std::string_view text) {
    const auto entries = read(text);
    return entries ? "nothing" : concat(code_name(entries.error().code), " ", entries.error().message);
  };
  EXPECT_THAT(why(good.substr(0, good.size() - 1)), HasSubstr("DATA_LOSS line 2"));
  EXPECT_THAT(why(line + line), HasSubstr("DATA_LOSS line 2 of a list of entries is out of order"));
  EXPECT_THAT(why("{}\n"), HasSubstr("DATA_LOSS line 1"));
  EXPECT_THAT(why(std::string(20'000, 'x')), HasSubstr("too long"));
  EXPECT_THAT(why(R"({"path":"../a","size_bytes":1,"url":"s3://b/a"})"
                  "\n"),
              HasSubstr("DATA_LOSS"));
  EXPECT_THAT(why(R"({"path":"a","size_bytes":1})"
                  "\n"),
              HasSubstr("sha256"));
  EXPECT_THAT(why(R"({"crc32c":"0000BEEF","path":"a","size_bytes":1,"url":"s3://b/a"})"
                  "\n"),
              HasSubstr("crc32c"));
  EXPECT_THAT(why(R"({"path":"a","size_bytes":4611686018427387904,"url":"s3://b/a"})"
                  "\n"),
              HasSubstr("too large"));
}

// A flipped bit gives a damaged list, or other entries, which the digest in the version reveals.
TEST(ArtifactEntry, NoFlippedBitCrashesTheReader) {
  const std::string good = serialize_entries(two_entries());
  for (std::size_t bit = 0; bit < good.size() * 8; ++bit) {
    std::string text = good;
    text[bit / 8] = static_cast<char>(text[bit / 8] ^ (1 << (bit % 8)));
    const auto entries = read(text);
    EXPECT_TRUE(entries || entries.error().code == Code::kDataLoss) << bit;
  }
}

}  // namespace
}  // namespace headrace
