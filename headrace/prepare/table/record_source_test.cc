#include "headrace/prepare/table/record_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "headrace/base/crc32c.h"
#include "headrace/base/wire.h"
#include "headrace/prepare/table/rows_test.h"
#include "headrace/record/example.h"
#include "headrace/record/tfrecord.h"

namespace headrace {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

std::vector<std::string> read_records(const FilesInMemory& input,
                                      std::uint64_t cell_limit_bytes = kCellLimitBytes) {
  return all_rows(*open_records(input.files, cell_limit_bytes));
}

std::vector<std::string> read_records(std::string_view content,
                                      std::uint64_t cell_limit_bytes = kCellLimitBytes) {
  return read_records(FilesInMemory().add("a", content), cell_limit_bytes);
}

std::string framed(BytesView record) {
  Bytes out;
  append_record(out, record);
  return to_string(out);
}

std::string example(std::int64_t value) {
  ExampleBuilder builder;
  builder.add_int64s("n", {&value, 1});
  Bytes out;
  builder.append_to(out);
  return framed(out);
}

// An Example whose features have these messages.
Bytes example_of(const std::vector<std::pair<std::string, Bytes>>& features) {
  Bytes map;
  for (const auto& [name, feature] : features) {
    Bytes entry;
    WireWriter(entry).text(1, name);
    WireWriter(entry).bytes(2, feature);
    WireWriter(map).bytes(1, entry);
  }
  Bytes out;
  WireWriter(out).bytes(1, map);
  return out;
}

// A Feature of the list `kind`, which has these bytes.
Bytes feature_of(std::uint32_t kind, BytesView list) {
  Bytes out;
  WireWriter(out).bytes(kind, list);
  return out;
}

std::string zlib_wrapped(const std::string& content) {
  // One stored block.
  std::string out = "\x78\x01\x01";
  const auto size = static_cast<std::uint16_t>(content.size());
  for (const unsigned number : {unsigned{size}, 0xffffU - size}) {
    out += static_cast<char>(number & 0xff);
    out += static_cast<char>(number >> 8);
  }
  out += content;
  std::uint32_t low = 1, high = 0;  // Adler-32
  for (const unsigned char c : content) {
    low = (low + c) % 65521;
    high = (high + low) % 65521;
  }
  for (const std::uint32_t part : {high >> 8, high, low >> 8, low}) out += static_cast<char>(part & 0xff);
  return out;
}

TEST(RecordSource, StagedRowsAreCountedOverAllParts) {
  const std::string part = "rows-000000000100-0123456789abcdef0123456789abcdef.tfrecord";
  EXPECT_THAT(read_records(FilesInMemory().add(part, example(1) + example(2))),
              ElementsAre("0:1 rows@101 n=i[1]", "0:2 rows@102 n=i[2]"));
  EXPECT_THAT(read_records(FilesInMemory().add("stored-" + part, example(1))),
              ElementsAre("0:1 rows@101 n=i[1]"));
  for (const std::string& name : {std::string("rows-1.tfrecord"), "a/" + part, part + ".gz"})
    EXPECT_THAT(read_records(FilesInMemory().add(name, example(1))),
                ElementsAre("0:1 " + name + "@1 n=i[1]"));
}

TEST(RecordSource, EachKindOfFeatureHasItsKindOfCell) {
  const std::vector<float> floats = {1.5F, -2};
  const std::vector<std::int64_t> int64s = {-1, 1LL << 40};
  ExampleBuilder builder;
  builder.add_floats("f", floats);
  builder.add_floats("g", {});
  builder.add_int64s("i", int64s);
  builder.add_bytes("b", as_bytes("text"));
  builder.add_bytes("empty", {});
  builder.add_bytes_list("none", {});
  const std::vector<BytesView> several = {as_bytes("x"), {}, as_bytes("yz")};
  builder.add_bytes_list("several", several);
  Bytes record;
  builder.append_to(record);
  EXPECT_THAT(read_records(framed(record)),
              ElementsAre("0:1 a@1 b='text' empty='' f=f[1.5 -2] g=f[] i=i[-1 1099511627776] none=b[] "
                          "several=b['x' '' 'yz']"));
}

TEST(RecordSource, AFeatureOfNoKindIsMissingAndAnEmptyRecordARowWithoutCells) {
  EXPECT_THAT(read_records(framed(example_of({{"a", {}}})) + framed({})),
              ElementsAre("0:1 a@1 a=-", "0:2 a@2"));
}

TEST(RecordSource, NumbersMayBeUnpackedAndInSeveralRuns) {
  Bytes floats;
  WireWriter(floats).fixed32(1, 1);
  WireWriter(floats).fixed32(1, 2);
  Bytes packed;
  append_little_endian(packed, 3.0F);
  WireWriter(floats).bytes(1, packed);
  Bytes int64s;
  WireWriter(int64s).varint(1, 7);
  WireWriter(int64s).varint(1, 8);
  EXPECT_THAT(read_records(framed(example_of({{"f", feature_of(2, floats)}, {"i", feature_of(3, int64s)}}))),
              ElementsAre("0:1 a@1 f=f[1 2 3] i=i[7 8]"));
}

TEST(RecordSource, OfFeaturesOfOneNameTheLastCounts) {
  Bytes one, two;
  WireWriter(one).varint(1, 1);
  WireWriter(two).varint(1, 2);
  EXPECT_THAT(
      read_records(framed(example_of({{"b", {}}, {"a", feature_of(3, one)}, {"a", feature_of(3, two)}}))),
      ElementsAre("0:1 a@1 a=i[2] b=-"));
}

TEST(RecordSource, FilesFollowOneAnotherInAnyWrapping) {
  EXPECT_THAT(
      read_records(FilesInMemory()
                       .add("a", example(1) + example(2))
                       .add("none", "")
                       .add("b", gzipped(example(3)) + gzipped(example(4)))
                       .add("c", zlib_wrapped(example(5)))),
      ElementsAre("0:1 a@1 n=i[1]", "0:2 a@2 n=i[2]", "2:1 b@1 n=i[3]", "2:2 b@2 n=i[4]", "3:1 c@1 n=i[5]"));
}

TEST(RecordSource, ARecordWhoseLengthLooksLikeGzipIsPlain) {
  const std::string text(0x8b1f - 15, 'x');
  ExampleBuilder builder;
  builder.add_bytes("a", as_bytes(text));
  Bytes record;
  builder.append_to(record);
  Bytes padded = record;
  padded.resize(0x8b1f, std::byte{0});
  const auto rows = read_records(framed(padded) + example(1));
  ASSERT_THAT(rows, SizeIs(2));
  EXPECT_EQ(rows[1], "0:2 a@2 n=i[1]");
}

TEST(RecordSource, EachByteStringOfAListTakesFourBytesMoreThanItHas) {
  const std::vector<BytesView> values(20, as_bytes("x"));
  ExampleBuilder builder;
  builder.add_bytes_list("b", values);
  Bytes record;
  builder.append_to(record);
  EXPECT_THAT(read_records(framed(record), 100), ElementsAre(StartsWith("0:1 a@1 b=b['x' 'x'")));
  EXPECT_THAT(read_records(framed(record), 99),
              ElementsAre("0:1 a@1 rejected: cell larger than the limit: record 1: feature \"b\""));
}

TEST(RecordSource, AListOfByteStringsMayBeInSeveralRuns) {
  Bytes first, second;
  WireWriter(first).text(1, "x");
  WireWriter(second).text(1, "y");
  Bytes feature = feature_of(1, first);
  append(feature, feature_of(1, second));
  EXPECT_THAT(read_records(framed(example_of({{"b", feature}}))), ElementsAre("0:1 a@1 b=b['x' 'y']"));
}

TEST(RecordSource, WhatIsNoExampleIsRejectedAndTheNextIsRead) {
  const Bytes odd = feature_of(2, feature_of(1, as_bytes("\x01\x02\x03")));  // three bytes of a float
  EXPECT_THAT(read_records(framed(as_bytes("no Example")) + framed(example_of({{"f", odd}})) + example(1)),
              ElementsAre("0:1 a@1 rejected: not a tf.Example: record 1: malformed message",
                          "0:2 a@2 rejected: not a tf.Example: record 2: feature \"f\": malformed message",
                          "0:3 a@3 n=i[1]"));
}

TEST(RecordSource, WhatIsTooLargeIsRejectedAndTheNextIsRead) {
  const std::string large = framed(to_bytes(std::string(3'000'000, 'x')));
  EXPECT_THAT(
      read_records(example(1) + large + example(2), 100),
      ElementsAre("0:1 a@1 n=i[1]",
                  HasSubstr("0:2 a@2 rejected: record larger than the limit: record 2: 3000000 bytes at"),
                  "0:3 a@3 n=i[2]"));
  // A byte each in the record, eight as cells.
  const Bytes numbers = feature_of(1, to_bytes(std::string(50, '\1')));
  EXPECT_THAT(read_records(framed(example_of({{"i", Bytes(feature_of(3, numbers))}})), 400),
              ElementsAre(HasSubstr("i=i[1 1")));
  EXPECT_THAT(read_records(framed(example_of({{"i", Bytes(feature_of(3, numbers))}})), 399),
              ElementsAre("0:1 a@1 rejected: cell larger than the limit: record 1: feature \"i\""));
  std::vector<std::pair<std::string, Bytes>> many;
  for (const std::string name : {"a", "b", "c", "d", "e"}) many.emplace_back(name, feature_of(3, numbers));
  EXPECT_THAT(read_records(framed(example_of(many)), 410),
              ElementsAre("0:1 a@1 rejected: row larger than the limit: record 1: feature \"e\""));
}

TEST(RecordSource, ALengthNearTheLargestNumberEndsTheFile) {
  for (const std::uint64_t length : {~std::uint64_t{0}, ~std::uint64_t{0} - 15, std::uint64_t{1} << 62}) {
    Bytes file = to_bytes(example(1));
    const std::size_t begin = file.size();
    append_little_endian(file, length);
    append_little_endian(file, masked_crc32c(crc32c(BytesView(file).subspan(begin))));
    append(file, as_bytes(example(2)));
    EXPECT_THAT(read_records(as_text(file)),
                ElementsAre("0:1 a@1 n=i[1]", HasSubstr("record larger than the limit")));
  }
}

TEST(RecordSource, TooManyFeaturesAreRejected) {
  std::vector<std::pair<std::string, Bytes>> features(kMaxColumns, {"x", {}});
  EXPECT_THAT(read_records(framed(example_of(features))), ElementsAre("0:1 a@1 x=-"));
  features.push_back({"x", {}});
  EXPECT_THAT(read_records(framed(example_of(features))),
              ElementsAre("0:1 a@1 rejected: too many columns: record 1: more than 10000"));
}

TEST(RecordSource, AfterDamageReadingGoesOnAtTheNextRecord) {
  const std::string one = example(1), whole = one + example(2) + example(3);
  std::string data = whole;
  data[one.size() + kRecordHeaderBytes] ^= 1;
  EXPECT_THAT(read_records(data),
              ElementsAre("0:1 a@1 n=i[1]",
                          AllOf(StartsWith("0:2 a@2 rejected: record data with a wrong checksum: "),
                                HasSubstr(concat("at offset ", one.size(), "; what lies in the ", one.size(),
                                                 " bytes from there on is lost"))),
                          "0:3 a@3 n=i[3]"));
  std::string length = whole;
  length[one.size()] ^= 1;
  EXPECT_THAT(
      read_records(length),
      ElementsAre("0:1 a@1 n=i[1]", HasSubstr("record length with a wrong checksum"), "0:3 a@3 n=i[3]"));
  const std::string hole = one + whole.substr(one.size() + 5);
  EXPECT_THAT(read_records(hole),
              ElementsAre("0:1 a@1 n=i[1]", HasSubstr("2 a@2 rejected"), "0:3 a@3 n=i[3]"));
}

TEST(RecordSource, DamageMayBeLongerThanAPiece) {
  std::string junk;
  for (std::uint32_t i = 0; i < 1'000'000; ++i) junk += concat(i * 2654435761U, ",");
  EXPECT_THAT(read_records(example(1) + junk + example(2)),
              ElementsAre("0:1 a@1 n=i[1]",
                          HasSubstr(concat("what lies in the ", junk.size(), " bytes from there on is lost")),
                          "0:3 a@3 n=i[2]"));
}

TEST(RecordSource, AFileThatEndsInsideARecordHasOneRejectedRow) {
  const std::string one = example(1), two = one + example(2);
  for (std::size_t size = one.size() + 1; size < two.size(); ++size) {
    EXPECT_THAT(
        read_records(two.substr(0, size)),
        ElementsAre("0:1 a@1 n=i[1]", StartsWith("0:2 a@2 rejected: truncated record: record 2: at offset ")))
        << size;
  }
  EXPECT_THAT(read_records(FilesInMemory().add("a", two.substr(0, two.size() - 1)).add("b", one)).back(),
              "1:1 b@1 n=i[1]");
}

TEST(RecordSource, AnyTextIsRejectedNotRead) {
  EXPECT_THAT(read_records("this is not a TFRecord file at all"),
              ElementsAre(HasSubstr("record length with a wrong checksum")));
  EXPECT_THAT(read_records("short"), ElementsAre(HasSubstr("truncated record")));
}

TEST(RecordSource, AFileThatIsCutInItsCompressionOrChangedIsAnError) {
  const std::string whole = gzipped(example(1));
  EXPECT_THAT(read_records(whole.substr(0, whole.size() - 1)).back(),
              StartsWith("DATA_LOSS reading memory://test/input/a"));
  FilesInMemory input;
  input.add("a", example(1));
  ASSERT_TRUE(write_text(*input.store, "input/a", example(2)));
  EXPECT_THAT(read_records(input), ElementsAre(StartsWith("FAILED_PRECONDITION")));
}

TEST(RecordSource, RowsAreTheSameHoweverTheBytesAreCut) {
  std::string content = example(1) + framed(to_bytes(std::string(200, 'x'))) + example(2) +
                        "some junk between" + example(3) + framed(as_bytes("no Example")) + example(4) +
                        example(5) + example(6);
  content[content.size() - 1] ^= 1;                                           // the data of the last
  content[content.size() - example(6).size() - example(5).size() + 12] ^= 1;  // and of the one before
  content += example(7).substr(0, 20);
  const auto whole = parsed_rows(*make_record_parser(100), content, content.size());
  EXPECT_THAT(whole, SizeIs(10));
  for (std::size_t piece = 1; piece < content.size(); ++piece)
    EXPECT_EQ(parsed_rows(*make_record_parser(100), content, piece), whole) << piece;
}

}  // namespace
}  // namespace headrace
