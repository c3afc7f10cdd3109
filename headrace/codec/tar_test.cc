#include "headrace/codec/tar.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "headrace/codec/tar_builder_test.h"

namespace headrace {
namespace {

// Describes each entry, and the error if there is one. Continues after damage.
std::vector<std::string> walk(BytesView tar, std::uint64_t offset_bytes = 0) {
  std::vector<std::string> seen;
  TarWalker walker(tar, offset_bytes);
  while (true) {
    const auto entry = walker.next();
    if (!entry) {
      EXPECT_EQ(entry.error().code, Code::kDataLoss);
      const auto again = walker.next();
      EXPECT_TRUE(!again && again.error().message == entry.error().message) << "an error is met again";
      seen.push_back(concat("error: ", entry.error().message));
      if (!*walker.pass_over_damage()) return seen;
      continue;
    }
    if (!*entry) return seen;
    const TarEntry& found = **entry;
    EXPECT_LE(found.offset_bytes + kTarBlockBytes, found.data_offset_bytes);
    const std::string_view data =
        as_text(tar).substr(found.data_offset_bytes - offset_bytes, found.data_bytes);
    constexpr std::array<std::string_view, 4> kKinds = {"", " (sparse)", " (folder)", " (other)"};
    seen.push_back(concat(found.offset_bytes, ": ", found.path, kKinds[static_cast<std::size_t>(found.kind)],
                          " = ", data));
  }
}

using Lines = std::vector<std::string>;

TEST(TarWalker, FindsEachFileInEveryFormat) {
  const std::string deep = concat(std::string(90, 'd'), '/', std::string(60, 'f'));
  EXPECT_EQ(walk(TarBuilder().file("a.txt", "one").file(deep, "two").finish()),
            (Lines{"0: a.txt = one", concat("1024: ", deep, " = two")}));
  for (const TarFormat format : {TarFormat::kGnu, TarFormat::kPax}) {
    const std::string far = concat(deep, std::string(300, 'g'));
    EXPECT_EQ(walk(TarBuilder(format).file(far, "one").file("b", "").file("c", "three").finish()),
              (Lines{concat("0: ", far, " = one"), "2048: b = ", "2560: c = three"}))
        << "an entry begins with the header of its long name";
  }
}

TEST(TarWalker, ANameThatFillsItsFieldEndsThere) {
  const std::string name(100, 'n'), prefix(155, 'p');
  TarBuilder tar;
  tar.entry('0', name, "x", prefix);
  EXPECT_EQ(walk(tar.finish()), (Lines{concat("0: ", prefix, '/', name, " = x")}));
  TarBuilder gnu(TarFormat::kGnu);
  gnu.entry('0', "name", "x", "12345670123");
  EXPECT_EQ(walk(gnu.finish()), (Lines{"0: name = x"})) << "GNU keeps times where ustar has the prefix";
}

TEST(TarWalker, WhatIsNoFileHasNoDataAndIsTold) {
  TarBuilder tar;
  tar.entry('5', "d/", "").entry('0', "old/", "");
  for (const char type : {'1', '2', '3', '4', '6'})
    tar.entry(type, std::string(1, type), "", "", "00000001000");
  tar.file("last", "x");
  EXPECT_EQ(walk(tar.finish()),
            (Lines{"0: d/ (folder) = ", "512: old/ (folder) = ", "1024: 1 (other) = ", "1536: 2 (other) = ",
                   "2048: 3 (other) = ", "2560: 4 (other) = ", "3072: 6 (other) = ", "3584: last = x"}));
}

TEST(TarWalker, PaxHeadersReplaceNameAndSizeOfTheNextEntryAlone) {
  TarBuilder tar;
  tar.pax("comment", "for all", 'g');
  tar.pax("path", "\xc3\xa9 = 1\n.jpg").pax("size", "3").entry('0', "e", "abc", "", "77777777777");
  tar.file("f", "x");
  EXPECT_EQ(walk(tar.finish()), (Lines{"0: \xc3\xa9 = 1\n.jpg = abc", "4096: f = x"}));
}

TEST(TarWalker, ReadsSizesInBinary) {
  TarBuilder tar;
  tar.entry('0', "a", "abc", "", std::string_view("\x80\0\0\0\0\0\0\0\0\0\0\3", 12));
  EXPECT_EQ(walk(tar.finish()), (Lines{"0: a = abc"}));
  TarBuilder huge;
  huge.entry('0', "a", "abc", "", std::string_view("\x80\x7f\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 12));
  EXPECT_EQ(walk(huge.finish()), (Lines{"error: a tar header without a size at byte 512"}));
}

TEST(TarWalker, SparseFilesArePassedOver) {
  TarBuilder tar(TarFormat::kGnu);
  tar.entry('S', "s", "map" + std::string(509, '\0') + "data", "", "00000000004");
  tar.bytes[482] = std::byte{1};
  TarBuilder::seal(std::span<char, 512>(reinterpret_cast<char*>(tar.bytes.data()), 512));
  tar.pax("GNU.sparse.major", "1").file("p", "q");
  EXPECT_EQ(walk(tar.finish()), (Lines{"0: s (sparse) = data", "1536: p (sparse) = q"}));
}

TEST(TarWalker, ReadsPartsOfATarByTheTarsOffsets) {
  const Bytes tar = TarBuilder().file("a", "1").file("b", "2").file("c", "3").finish();
  EXPECT_EQ(walk(BytesView(tar).subspan(1024, 1024), 1024), (Lines{"1024: b = 2"}));
}

TEST(TarWalker, TarsOneAfterAnotherAreOne) {
  Bytes tars = TarBuilder().file("a", "1").finish();
  append(tars, TarBuilder().file("b", "2").finish());
  EXPECT_EQ(walk(tars), (Lines{"0: a = 1", "10240: b = 2"}));
}

TEST(TarWalker, DamageIsToldAndPassedOver) {
  const Bytes tar = TarBuilder().file("a", "1").file("b", "2").file("c", "3").finish();
  Bytes damaged = tar;
  damaged[1024 + 7] ^= std::byte{1};
  EXPECT_EQ(walk(damaged), (Lines{"0: a = 1", "error: a damaged tar header at byte 1024", "2048: c = 3"}));
  damaged[7] ^= std::byte{1};
  EXPECT_EQ(walk(damaged), (Lines{"error: a damaged tar header at byte 0", "2048: c = 3"}));
  damaged[2048 + 7] ^= std::byte{1};
  EXPECT_EQ(walk(damaged), (Lines{"error: a damaged tar header at byte 0"}));
}

TEST(TarWalker, ADamagedPaxHeaderIsTold) {
  for (const std::string_view body : {"9 path=x", "10path=xy\n", "99 path=x\n", "8 path=x\n", "9 =path x\n",
                                      "x path=y\n", "18446744073709551615 path=x\n", "9 size=x\n"}) {
    TarBuilder tar;
    tar.entry('x', "././@PaxHeader", body).file("b.jpg", "2");
    EXPECT_EQ(walk(tar.finish()).front(), "error: a damaged pax header at byte 512") << body;
  }
}

TEST(TarWalker, ACutIsToldUnlessItIsBetweenEntries) {
  const Bytes tar = TarBuilder(TarFormat::kPax).file("a", "1").file(std::string(200, 'b'), "2").finish();
  for (std::size_t size = 0; size <= 3072; ++size) {
    const BytesView part = BytesView(tar).first(size);
    const Lines seen = walk(part);
    // After one byte of data, the rest of the block may be missing.
    const bool is_between = size == 0 || (size > 512 && size <= 1024) || (size > 2560 && size <= 3072);
    EXPECT_EQ(seen.empty() || !seen.back().starts_with("error: the tar is cut"), is_between) << size;
    EXPECT_FALSE(*TarWalker(part).ends_in_zeros()) << size;
  }
  EXPECT_TRUE(*TarWalker(tar).ends_in_zeros());
}

TEST(TarWalker, HeadersWithoutEndAreDamage) {
  TarBuilder many;
  for (int i = 0; i < 33; ++i) many.pax("path", "x");
  many.file("a", "1");
  EXPECT_TRUE(walk(many.finish()).front().starts_with("error: a tar header for a long name"));
  TarBuilder large;
  large.entry('L', "long", "", "", "00077777777").file("a", "1");
  EXPECT_EQ(walk(large.finish()),
            (Lines{"error: a tar header for a long name that is too large at byte 0", "512: a = 1"}));
}

TEST(TarWalker, AnErrorOfReadingIsReturned) {
  TarWalker walker(10240, [](std::uint64_t, std::size_t) -> Result<BytesView> {
    return Error{Code::kUnavailable, "not now"};
  });
  EXPECT_EQ(walker.next().error().code, Code::kUnavailable);
}

TEST(TarWalker, AlteredBytesNeverMakeItReadOutside) {
  TarBuilder builder(TarFormat::kPax);
  builder.file(std::string(150, 'a'), "one")
      .pax("GNU.sparse.major", "1")
      .file("b", "two")
      .entry('5', "c", "");
  const Bytes tar = builder.finish();
  std::mt19937_64 random(44);
  for (int round = 0; round < 3000; ++round) {
    Bytes altered = tar;
    for (std::uint64_t i = random() % 8; i < 8; ++i)
      altered[random() % 5000] = static_cast<std::byte>(random() % 3 == 0 ? random() : '0' + random() % 10);
    for (std::size_t at = 0; at < 5000; at += 512) {
      if (random() % 2 == 0)
        TarBuilder::seal(std::span<char, 512>(reinterpret_cast<char*>(altered.data() + at), 512));
    }
    EXPECT_LT(walk(altered).size(), 40U);
  }
}

TEST(LooksLikeTar, KnowsTarsSince1988) {
  EXPECT_TRUE(looks_like_tar(TarBuilder().file("a", "").bytes));
  EXPECT_TRUE(looks_like_tar(TarBuilder(TarFormat::kGnu).file("a", "").bytes));
  EXPECT_FALSE(looks_like_tar(Bytes(512)));
  EXPECT_FALSE(looks_like_tar(Bytes(260)));
}

}  // namespace
}  // namespace headrace
