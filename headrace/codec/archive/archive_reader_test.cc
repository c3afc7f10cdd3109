#include "headrace/codec/archive/archive_reader.h"

#include <bzlib.h>
#include <gtest/gtest.h>
#include <lzma.h>
#include <zlib.h>
#include <zstd.h>

#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "headrace/base/crc32c.h"
#include "headrace/base/text.h"
#include "headrace/store/layers/forwarding.h"
#include "headrace/store/memory/memory_store.h"

namespace headrace {
namespace {

struct Item {
  std::string path;
  std::string data;
  std::string link_to = "";
};

// Writes POSIX.1-1988 (ustar) by itself, so that the test does not depend on the library that it tests.
Bytes make_tar(const std::vector<Item>& items) {
  std::string out;
  for (const Item& item : items) {
    char header[512] = {};
    std::snprintf(header, 100, "%s", item.path.c_str());
    std::snprintf(header + 100, 8, "%07o", 0644U);
    std::snprintf(header + 124, 12, "%011zo", item.data.size());
    std::snprintf(header + 136, 12, "%011o", 0U);
    header[156] = item.link_to.empty() ? '0' : '2';
    std::snprintf(header + 157, 100, "%s", item.link_to.c_str());
    std::snprintf(header + 257, 8, "ustar");
    std::memcpy(header + 263, "00", 2);
    std::memset(header + 148, ' ', 8);
    unsigned sum = 0;
    for (const char c : header) sum += static_cast<unsigned char>(c);
    std::snprintf(header + 148, 8, "%06o", sum);
    out.append(header, sizeof header).append(item.data).append((512 - item.data.size() % 512) % 512, '\0');
  }
  return to_bytes(out.append(1024, '\0'));
}

template <typename T>
void put(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

// Stored entries only; PKWARE's APPNOTE, sections 4.3.7, 4.3.12 and 4.3.16.
Bytes make_zip(const std::vector<Item>& items) {
  std::string out, directory;
  for (const Item& item : items) {
    std::string common;
    put<std::uint16_t>(common, 20), put<std::uint32_t>(common, 0), put<std::uint32_t>(common, 0);
    put<std::uint32_t>(common,
                       static_cast<std::uint32_t>(crc32(0, reinterpret_cast<const Bytef*>(item.data.data()),
                                                        static_cast<uInt>(item.data.size()))));
    put(common, static_cast<std::uint32_t>(item.data.size())),
        put(common, static_cast<std::uint32_t>(item.data.size()));
    put(common, static_cast<std::uint16_t>(item.path.size())), put<std::uint16_t>(common, 0);
    directory += "PK\1\2" + std::string("\x14\0", 2) + common + std::string(10, '\0');
    put(directory, static_cast<std::uint32_t>(out.size()));
    directory += item.path;
    out += "PK\3\4" + common + item.path + item.data;
  }
  const std::size_t start = out.size();
  out += directory + "PK\5\6" + std::string(4, '\0');
  put(out, static_cast<std::uint16_t>(items.size())), put(out, static_cast<std::uint16_t>(items.size()));
  put(out, static_cast<std::uint32_t>(directory.size())), put(out, static_cast<std::uint32_t>(start)),
      put<std::uint16_t>(out, 0);
  return to_bytes(out);
}

Bytes gzip(const Bytes& data) {
  Bytes out(data.size() + 1000);
  z_stream stream{};
  deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(data.data()));
  stream.avail_in = static_cast<uInt>(data.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

Bytes bzip2(const Bytes& data) {
  Bytes out(data.size() + 1000);
  auto size = static_cast<unsigned>(out.size());
  BZ2_bzBuffToBuffCompress(reinterpret_cast<char*>(out.data()), &size,
                           reinterpret_cast<char*>(const_cast<std::byte*>(data.data())),
                           static_cast<unsigned>(data.size()), 1, 0, 0);
  out.resize(size);
  return out;
}

Bytes xz(const Bytes& data) {
  Bytes out(data.size() + 1000);
  std::size_t size = 0;
  lzma_easy_buffer_encode(1, LZMA_CHECK_CRC32, nullptr, reinterpret_cast<const std::uint8_t*>(data.data()),
                          data.size(), reinterpret_cast<std::uint8_t*>(out.data()), &size, out.size());
  out.resize(size);
  return out;
}

Bytes zstd(const Bytes& data) {
  Bytes out(data.size() + 1000);
  out.resize(ZSTD_compress(out.data(), out.size(), data.data(), data.size(), 1));
  return out;
}

const std::vector<Item> kItems = {{"./a/one.txt", "first"},
                                  {"a/two.txt", std::string(300'000, 'x')},
                                  {"a/link", "", "/etc/passwd"},
                                  {"../up", "x"}};

// Has kept that checksum of each object.
class ChecksumStore final : public ForwardingStore {
 public:
  explicit ChecksumStore(std::optional<std::uint32_t> crc32c)
      : ForwardingStore(make_memory_store("test")), crc32c_(crc32c) {}
  Result<ObjectInfo> stat(std::string_view key, const CallOptions& options) override {
    HEADRACE_TRY(ObjectInfo object, inner().stat(key, options));
    object.crc32c = crc32c_;
    return object;
  }

 private:
  const std::optional<std::uint32_t> crc32c_;
};

// Describes every entry, and the error if there was one. Appends the entries' data to `content`.
std::vector<std::string> read_all(const Bytes& data, std::string* content = nullptr,
                                  std::optional<std::uint32_t> checksum = {}) {
  const auto store = std::make_unique<ChecksumStore>(checksum);
  EXPECT_TRUE(store->write("archive", data, {}));
  std::vector<std::string> seen;
  auto reader = open_archive(*store, "archive");
  if (!reader) return {reader.error().message};
  while (true) {
    const auto entry = (*reader)->next();
    if (!entry) return seen.push_back("error: " + entry.error().message), seen;
    if (!*entry) return seen;
    std::string text;
    const auto status = (*reader)->read_data(text, 1 << 20);
    if (!status) return seen.push_back("error: " + status.error().message), seen;
    if (content != nullptr) *content += text;
    seen.push_back(concat((*entry)->path,
                          (*entry)->kind == EntryKind::kLink ? " is a link" : concat(" has ", text.size())));
  }
}

TEST(ArchiveReader, ReadsTarHoweverCompressed) {
  const std::vector<std::string> expected = {"a/one.txt has 5", "a/two.txt has 300000", "a/link is a link",
                                             "../up has 1"};
  const Bytes tar = make_tar(kItems);
  for (const Bytes& archive : {tar, gzip(tar), bzip2(tar), xz(tar), zstd(tar)})
    EXPECT_EQ(read_all(archive), expected);
}

TEST(ArchiveReader, ReadsZip) {
  EXPECT_EQ(read_all(make_zip({{"./a/one.txt", "first"}, {"../up", "x"}})),
            (std::vector<std::string>{"a/one.txt has 5", "../up has 1"}));
}

TEST(ArchiveReader, ACutArchiveIsAnErrorWhereverItIsCut) {
  const Bytes tar = make_tar(kItems);
  const Bytes compressed = gzip(tar);
  for (const auto& [archive, end] :
       {std::pair(tar, tar.size() - 1024), std::pair(compressed, compressed.size())}) {
    for (std::size_t size = 1; size < end; size += 1 + end / 97) {
      const auto seen = read_all(Bytes(archive.begin(), archive.begin() + static_cast<std::ptrdiff_t>(size)));
      ASSERT_FALSE(seen.empty());
      EXPECT_NE(seen.back().find("memory://test/archive"), std::string::npos)
          << "cut at " << size << ": " << seen.back();
    }
  }
}

TEST(ArchiveReader, AnAlteredByteNeverPassesForContent) {
  std::string text;
  for (int i = 0; i < 3000; ++i) text += std::to_string(i * i % 977);
  const Bytes tar = make_tar({{"a/text", text}, {"a/end", "."}});
  // A plain tar has no checksums of contents, so only the store's checksum reveals the damage.
  for (const Bytes& archive : {gzip(tar), bzip2(tar), xz(tar), tar}) {
    const auto checksum = archive == tar ? std::optional(crc32c(tar)) : std::nullopt;
    EXPECT_EQ(read_all(archive, nullptr, checksum).size(), 2U);
    int errors = 0;
    for (std::size_t i = 12; i < archive.size(); i += 1 + archive.size() / 199) {
      Bytes altered = archive;
      altered[i] ^= std::byte{0x10};
      std::string content;
      const bool failed =
          read_all(altered, &content, checksum).back().find("memory://test/archive") != std::string::npos;
      errors += failed ? 1 : 0;
      EXPECT_TRUE(failed || content == text + ".") << "byte " << i;
    }
    EXPECT_GT(errors, 150);
  }
}

TEST(ArchiveReader, ATarThatWasCutBeforeItWasCompressedIsTold) {
  Bytes tar = make_tar(kItems);
  tar.resize(tar.size() - 1024);
  for (const Bytes& archive : {tar, gzip(tar)})
    EXPECT_NE(read_all(archive).back().find("no end mark"), std::string::npos);
}

TEST(ArchiveReader, WhatIsNoArchiveIsNamed) {
  EXPECT_NE(read_all({}).front().find("is empty"), std::string::npos);
  EXPECT_NE(read_all(to_bytes(std::string(10'000, 'z'))).front().find("not a tar or zip"), std::string::npos);
}

TEST(ArchiveReader, AnEntryBeyondTheLimitIsToldAndPassedOver) {
  const auto store = make_memory_store("test");
  ASSERT_TRUE(store->write("archive", gzip(make_tar(kItems)), {}));
  auto reader = open_archive(*store, "archive");
  ASSERT_TRUE(reader);
  ASSERT_TRUE((*reader)->next());
  ASSERT_TRUE((*reader)->next());
  std::string text;
  const auto fits = (*reader)->read_data(text, 1000);
  ASSERT_TRUE(fits) << fits.error().message;
  EXPECT_FALSE(*fits);
  const auto after = (*reader)->next();
  ASSERT_TRUE(after && *after);
  EXPECT_EQ((*after)->path, "a/link");
}

}  // namespace
}  // namespace headrace
