#include "headrace/prepare/archive/archive_source.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "headrace/codec/tar_builder_test.h"
#include "headrace/prepare/source/source_test.h"
#include "headrace/prepare/table/rows_test.h"

namespace headrace {
namespace {

template <typename T>
void put_number(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

// CRC-32 of zlib, by its definition.
std::uint32_t crc32_of(std::string_view data) {
  std::uint32_t crc = ~0U;
  for (const char c : data) {
    crc ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (0xedb88320U & (~(crc & 1) + 1));
  }
  return ~crc;
}

// Stored entries only; PKWARE's APPNOTE, sections 4.3.7, 4.3.12 and 4.3.16.
Bytes make_zip(const std::vector<std::pair<std::string, std::string>>& files) {
  std::string out, directory;
  for (const auto& [path, data] : files) {
    std::string common;
    put_number<std::uint16_t>(common, 20), put_number<std::uint32_t>(common, 0),
        put_number<std::uint32_t>(common, 0);
    put_number(common, crc32_of(data));
    put_number(common, static_cast<std::uint32_t>(data.size()));
    put_number(common, static_cast<std::uint32_t>(data.size()));
    put_number(common, static_cast<std::uint16_t>(path.size())), put_number<std::uint16_t>(common, 0);
    directory += "PK\1\2" + std::string("\x14\0", 2) + common + std::string(10, '\0');
    put_number(directory, static_cast<std::uint32_t>(out.size()));
    directory += path;
    out += "PK\3\4" + common + path + data;
  }
  const std::size_t start = out.size();
  out += directory + "PK\5\6" + std::string(4, '\0');
  put_number(out, static_cast<std::uint16_t>(files.size())),
      put_number(out, static_cast<std::uint16_t>(files.size()));
  put_number(out, static_cast<std::uint32_t>(directory.size())),
      put_number(out, static_cast<std::uint32_t>(start));
  put_number<std::uint16_t>(out, 0);
  return to_bytes(out);
}

const std::vector<std::pair<std::string, std::string>> kFiles = {
    {"PetImages/Cat/0.jpg", "CAT"},   {"PetImages/Dog/0.jpg", std::string(100'000, 'D')},
    {"PetImages/Dog/Thumbs.db", "-"}, {"readme[1].txt", "about"},
    {"../Dog/1.jpg", "out"},          {"PetImages/Dog/2.gif", "GIF"},
    {"PetImages/Dog/3.png", ""}};

TarBuilder tar_of(const std::vector<std::pair<std::string, std::string>>& files,
                  TarFormat format = TarFormat::kUstar) {
  TarBuilder tar(format);
  tar.entry('5', "PetImages/", "");
  for (const auto& [path, data] : files) tar.file(path, data);
  return tar;
}

using ArchiveSource = SourceTest;

TEST_F(ArchiveSource, AllKindsOfArchivesGiveTheSameRowsAndAnUncompressedTarReferences) {
  const Lines expected = {"PetImages/Cat/0.jpg image='CAT' label='Cat' split=- id='PetImages/Cat/0.jpg'",
                          concat("PetImages/Dog/0.jpg image='", std::string(100'000, 'D'),
                                 "' label='Dog' split=- id='PetImages/Dog/0.jpg'"),
                          "PetImages/Dog/Thumbs.db ignored: left by a file system",
                          "readme[1].txt ignored: no .jpg, .jpeg or .png file",
                          "../Dog/1.jpg rejected: path leaves the archive",
                          "PetImages/Dog/2.gif rejected: image format that is not read",
                          "PetImages/Dog/3.png image='' label='Dog' split=- id='PetImages/Dog/3.png'"};
  const Bytes tar = tar_of(kFiles).finish();
  put("plain", tar);
  put("gnu", tar_of(kFiles, TarFormat::kGnu).finish());
  put("gzip", *gzip_compress(tar, 6));
  put("zip", make_zip(kFiles));
  for (const char* name : {"plain", "gnu", "gzip", "zip"}) {
    const RowsRead read = this->read(name, InputFormat::kImageFolder);
    EXPECT_TRUE(read.status) << name << ": " << read.status.error().message;
    EXPECT_EQ(read.rows, expected) << name;
    const bool is_plain = *name == 'p' || std::string_view(name) == "gnu";
    EXPECT_EQ(read.references, is_plain ? 2U : 0U) << name << ": all that are not empty";
    EXPECT_EQ(read.consumed_bytes, find(name, InputFormat::kImageFolder)->size_bytes) << name;
  }
}

TEST_F(ArchiveSource, TheRowsOfAclImdbAreThoseOfItsArchive) {
  TarBuilder tar;
  tar.file("aclImdb/train/neg/0_3.txt", "bad")
      .file("aclImdb/train/unsup/0_0.txt", "")
      .file("aclImdb/README", "");
  put("aclImdb_v1.tar.gz", *gzip_compress(tar.finish(), 6));
  EXPECT_EQ(
      read("aclImdb_v1.tar.gz", InputFormat::kAclImdb).rows,
      (Lines{"aclImdb/train/neg/0_3.txt text='bad' label='neg' split='train' id='aclImdb/train/neg/0_3.txt'",
             "aclImdb/train/unsup/0_0.txt ignored: unsupervised text (unsup)",
             "aclImdb/README ignored: README"}));
}

TEST_F(ArchiveSource, LinksAndDevicesAreNeverFollowed) {
  TarBuilder tar;
  tar.entry('2', "a/0.jpg", "").entry('1', "a/1.jpg", "").entry('3', "a/2.jpg", "").file("a/3.jpg", "3");
  const Bytes bytes = tar.finish();
  put("plain", bytes);
  put("gzip", *gzip_compress(bytes, 6));
  for (const char* name : {"plain", "gzip"}) {
    EXPECT_EQ(read(name, InputFormat::kImageFolder).rows,
              (Lines{"a/0.jpg rejected: a link or device, not a file",
                     "a/1.jpg rejected: a link or device, not a file",
                     "a/2.jpg rejected: a link or device, not a file",
                     "a/3.jpg image='3' label='a' split=- id='a/3.jpg'"}))
        << name;
  }
}

TEST_F(ArchiveSource, WhatIsLargerThanACellIsRejectedAndTheNextIsRead) {
  TarBuilder tar;
  tar.file("train/pos/0.txt", std::string(101, 'x')).file("train/pos/1.txt", std::string(100, 'y'));
  const Bytes bytes = tar.finish();
  put("plain", bytes);
  put("gzip", *gzip_compress(bytes, 6));
  for (const char* name : {"plain", "gzip"}) {
    const RowsRead read = this->read(name, InputFormat::kTextFolder, 100);
    ASSERT_EQ(read.rows.size(), 2U) << name;
    EXPECT_EQ(read.rows[0], "train/pos/0.txt rejected: text larger than --max-cell 100 B");
    EXPECT_TRUE(read.rows[1].starts_with("train/pos/1.txt text='yyy"));
  }
}

TEST_F(ArchiveSource, SparseFilesOfAnUncompressedTarAreRejected) {
  TarBuilder tar;
  tar.pax("GNU.sparse.major", "1").file("a/0.jpg", "map and data").file("a/1.jpg", "1");
  put("tar", tar.finish());
  EXPECT_EQ(read("tar", InputFormat::kImageFolder).rows,
            (Lines{"a/0.jpg rejected: a sparse file: pack it without --sparse",
                   "a/1.jpg image='1' label='a' split=- id='a/1.jpg'"}));
}

TEST_F(ArchiveSource, OfSeveralArchivesIdsSayWhich) {
  put("parts/a.tar", TarBuilder().file("cat/0.jpg", "A").finish());
  put("parts/b.tar", TarBuilder().file("cat/0.jpg", "B").file("x\xff", "").finish());
  EXPECT_EQ(read("parts/*.tar", InputFormat::kImageFolder).rows,
            (Lines{"a.tar:cat/0.jpg image='A' label='cat' split=- id='a.tar:cat/0.jpg'",
                   "b.tar:cat/0.jpg image='B' label='cat' split=- id='b.tar:cat/0.jpg'",
                   "b.tar:x\xef\xbf\xbd rejected: path is not UTF-8"}));
}

void expect_damage(const RowsRead& read, std::string_view name) {
  ASSERT_FALSE(read.status) << name;
  EXPECT_EQ(read.status.error().code, Code::kDataLoss) << name;
  const std::string& message = read.status.error().message;
  EXPECT_NE(message.find(concat("memory://test/", name)), std::string::npos) << message;
  EXPECT_NE(message.find("fetch the archive again"), std::string::npos) << message;
}

TEST_F(ArchiveSource, ADamagedOrCutTarIsAnErrorThatNamesItAndThePlace) {
  const Bytes tar = TarBuilder().file("a/0.jpg", std::string(600, 'x')).file("a/1.jpg", "1").finish();
  put("within", BytesView(tar).first(1000));
  put("no-end", BytesView(tar).first(3 * 512 + 2 * 512));
  Bytes altered = tar;
  altered[3 * 512] ^= std::byte{1};
  put("header", altered);
  for (const char* name : {"within", "no-end", "header"})
    expect_damage(read(name, InputFormat::kImageFolder), name);
  const RowsRead read = this->read("header", InputFormat::kImageFolder);
  EXPECT_EQ(read.rows.size(), 1U) << "what comes before is given";
  EXPECT_NE(read.status.error().message.find("at byte 1536, after entry a/0.jpg"), std::string::npos)
      << read.status.error().message;
  const Bytes gzip = *gzip_compress(tar, 6);
  put("cut.tgz", BytesView(gzip).first(gzip.size() - 9));
  expect_damage(this->read("cut.tgz", InputFormat::kImageFolder), "cut.tgz");
}

TEST_F(ArchiveSource, SizesThatArePutIntoHeadersAreNotBelieved) {
  for (const char* size : {"77777777777", "\x80\x7f\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", "9"}) {
    put("tar", TarBuilder().entry('0', "a/0.jpg", "x", "", size).finish());
    EXPECT_FALSE(read("tar", InputFormat::kImageFolder).status) << size;
  }
}

TEST_F(ArchiveSource, WhatIsNoArchiveIsRefused) {
  put("text", "just a text");
  put("empty", "");
  for (const char* name : {"text", "empty"}) {
    const RowsRead read = this->read(name, InputFormat::kImageFolder);
    ASSERT_FALSE(read.status);
    EXPECT_EQ(read.status.error().code, Code::kInvalidArgument);
    EXPECT_NE(read.status.error().message.find(concat("memory://test/", name)), std::string::npos);
  }
}

TEST_F(ArchiveSource, AnotherVersionOfTheArchiveIsNotRead) {
  put("a.tar", TarBuilder().file("cat/0.jpg", "A").finish());
  const auto input = find("a.tar", InputFormat::kImageFolder);
  put("a.tar", TarBuilder().file("cat/0.jpg", "B").finish());
  const RowsRead read = read_slice(*input, input->slices.front());
  ASSERT_FALSE(read.status);
  EXPECT_EQ(read.status.error().code, Code::kFailedPrecondition);
  EXPECT_NE(read.status.error().message.find("run the command again"), std::string::npos);
}

}  // namespace
}  // namespace headrace
