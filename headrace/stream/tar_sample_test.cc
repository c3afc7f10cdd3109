#include "headrace/stream/tar_sample.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "headrace/base/text.h"
#include "headrace/codec/tar.h"
#include "headrace/codec/tar_builder_test.h"
#include "headrace/record/example.h"
#include "headrace/record/tfrecord.h"

namespace headrace {
namespace {

std::string features_text(BytesView record) {
  const auto features = parse_example(record);
  EXPECT_TRUE(features);
  if (!features) return "";
  std::string text;
  for (const Feature& feature : *features) {
    const auto* bytes = std::get_if<std::vector<BytesView>>(&feature.values);
    const auto* numbers = std::get_if<std::vector<std::int64_t>>(&feature.values);
    text += concat(feature.name,
                   bytes != nullptr ? concat("=", as_text(bytes->at(0))) : concat(":", numbers->at(0)), ' ');
  }
  return text;
}

// The features of each sample, or the error.
std::vector<std::string> convert(const Bytes& tar, std::vector<Column> wanted = {}, bool is_end = true) {
  TarSampleConverter converter(std::move(wanted));
  Bytes part = tar;
  std::vector<std::uint64_t> offsets;
  const Status status = converter.convert({part, 0, is_end}, offsets);
  if (!status) {
    EXPECT_EQ(status.error().code, Code::kDataLoss);
    return {status.error().message};
  }
  EXPECT_EQ(offsets.front(), 0U);
  offsets.push_back(part.size());
  std::vector<std::string> records;
  for (std::size_t i = 0; i + 1 < offsets.size(); ++i)
    records.push_back(
        features_text(BytesView(part).first(offsets[i + 1]).subspan(offsets[i] + kRecordFramingBytes)));
  return records;
}

using Lines = std::vector<std::string>;

TEST(TarSampleConverter, FilesOfOneKeyThatFollowOneAnotherAreASample) {
  TarBuilder tar;
  tar.entry('5', "d/", "")
      .file("__meta__/x.json", "-")
      .file("a.jpg", "A")
      .file("README", "-")
      .file("a.JSON", "{}");
  tar.entry('2', "a.png", "").file("d/a.jpg", "B").file("a.jpg", "C");
  EXPECT_EQ(convert(tar.finish()),
            (Lines{"__key__=a jpg=A json={} ", "__key__=d/a jpg=B ", "__key__=a jpg=C "}));
}

TEST(TarSampleConverter, TheExampleOfTheFormatPageIsReadSo) {
  const Bytes tar = TarBuilder().file("a.cls", "7").finish();
  EXPECT_EQ(to_string(BytesView(tar).subspan(0x7c, 12)), std::string("00000000001\0", 12));
  EXPECT_EQ(to_string(BytesView(tar).subspan(0x101, 8)), std::string("ustar\0"
                                                                     "00",
                                                                     8));
  EXPECT_EQ(tar[0x200], std::byte{0x37});
  const std::string_view page =
      "\x0a\x20\x0a\x10\x0a\x07__key__\x12\x05\x0a\x03\x0a\x01"
      "a"
      "\x0a\x0c\x0a\x03"
      "cls\x12\x05\x1a\x03\x0a\x01\x07";
  EXPECT_EQ(convert(tar), Lines{features_text(as_bytes(page))});
}

TEST(TarSampleConverter, FieldsThatWebdatasetDecodesAsNumbersAreNumbers) {
  TarBuilder tar;
  tar.file("a.cls", "7\n").file("a.cls2", " -12 ").file("a.index", "+3").file("a.inx", "9223372036854775807");
  tar.file("a.left.id", "007").file("a.txt", "8");
  tar.file("b.cls", "7.5").file("b.cls2", "").file("b.index", "0x7").file("b.inx", "9223372036854775808");
  tar.file("b.id", std::string(100, ' ') + "1").file("b.left.id", "+-1");
  EXPECT_EQ(convert(tar.finish()),
            (Lines{"__key__=a cls:7 cls2:-12 index:3 inx:9223372036854775807 left.id:7 txt=8 ",
                   concat("__key__=b cls=7.5 cls2= id=", std::string(100, ' '),
                          "1 index=0x7 inx=9223372036854775808 left.id=+-1 ")}));
}

TEST(TarSampleConverter, WantedColumnsDecideWhatIsMadeAndOfWhichType) {
  const Bytes tar = TarBuilder().file("a.id", "17").file("a.txt", "18").file("a.jpg", "A").finish();
  const auto column = [](std::string name, DataType type) {
    return Column{.name = std::move(name), .type = type};
  };
  EXPECT_EQ(convert(tar, {column("id", DataType::kBytes), column("txt", DataType::kInt64)}),
            (Lines{"id=17 txt:18 "}));
  EXPECT_EQ(convert(tar, {column("jpg", DataType::kInt64), column("__key__", DataType::kBytes)}),
            (Lines{"__key__=a jpg=A "}));
  EXPECT_EQ(convert(tar, {column("none", DataType::kBytes)}), (Lines{""}));
}

TEST(TarSampleConverter, WhatIsNoSampleIsAnErrorThatNamesIt) {
  TarBuilder twice, key, sparse, many;
  twice.file("s.jpg", "1").file("s.JPG", "2");
  EXPECT_EQ(convert(twice.finish()), (Lines{"sample s: field jpg occurs twice"}));
  key.file("s.__key__", "1");
  EXPECT_EQ(convert(key.finish()), (Lines{"sample s: field __key__ occurs twice"}));
  sparse.pax("GNU.sparse.major", "1").file("s.jpg", "1");
  EXPECT_NE(convert(sparse.finish()).front().find("sample s: a sparse file"), std::string::npos);
  for (std::size_t i = 0; i <= kMaxSampleFiles; ++i) many.file(concat("s.", i), "");
  EXPECT_EQ(convert(many.finish()), (Lines{"sample s: it has more than 1000 files"}));
}

TEST(TarSampleConverter, NoEndIsAnErrorWhereThereMustBeOne) {
  const Bytes tar = TarBuilder().file("a.x", "1").file("b.x", "2").finish();
  const Bytes open(tar.begin(), tar.begin() + 2048);
  EXPECT_EQ(convert(open, {}, false), (Lines{"__key__=a x=1 ", "__key__=b x=2 "}));
  EXPECT_EQ(convert(open), (Lines{"sample b: the tar has no end mark: it was truncated"}));
  const Bytes cut(tar.begin(), tar.begin() + 1536);
  EXPECT_EQ(convert(cut, {}, false), (Lines{"sample a: the tar is cut within b.x at byte 1536"}));
}

TEST(TarSampleConverter, FilesOfAnySizeEndWhereTheyEnd) {
  for (std::size_t size = 0; size <= 1100; ++size) {
    const std::string data(size, 'x');
    EXPECT_EQ(convert(TarBuilder().file("a.f", data).file("b.e", data).file("b.f", data).bytes, {}, false),
              (Lines{concat("__key__=a f=", data, ' '), concat("__key__=b e=", data, " f=", data, ' ')}));
    EXPECT_EQ(convert(TarBuilder().file("a.cls", "1").file("a.f", data).bytes,
                      {{.name = "cls", .type = DataType::kInt64}}, false),
              (Lines{"cls:1 "}));
  }
}

TEST(TarSampleConverter, APartMayEndAnywhereBehindItsLastFile) {
  for (std::size_t padding = 0; padding < kTarBlockBytes; ++padding) {
    Bytes number = TarBuilder().file("a.x", "A").file("a.cls", "7").bytes;
    number.resize(3 * kTarBlockBytes + 1 + padding);
    EXPECT_EQ(convert(number, {}, false), (Lines{"__key__=a cls:7 x=A "})) << padding;
    Bytes text = TarBuilder().file("a.cls", "7").file("a.x", "A").bytes;
    text.resize(3 * kTarBlockBytes + 1 + padding);
    EXPECT_EQ(convert(text, {}, false), (Lines{"__key__=a cls:7 x=A "})) << padding;
  }
}

TEST(TarSampleConverter, HeadersHaveRoomForWhatIsWrittenOverThem) {
  // The case with the least room: no data, and names that just fill a header, or are longer.
  for (const std::size_t length : {4U, 100U, 256U, 300U, 5000U}) {
    for (const TarFormat format : {TarFormat::kUstar, TarFormat::kGnu, TarFormat::kPax}) {
      if (format == TarFormat::kUstar && length > 256) continue;
      const std::string key = length <= 100
                                  ? std::string(length - 3, 'k')
                                  : concat(std::string(155, 'd'), '/', std::string(length - 156 - 3, 'k'));
      TarBuilder tar(format);
      tar.file(key + ".id", "-1").file(key + ".f", "");
      EXPECT_EQ(convert(tar.bytes, {}, false), (Lines{concat("__key__=", key, " f= id:-1 ")})) << length;
    }
  }
}

}  // namespace
}  // namespace headrace
