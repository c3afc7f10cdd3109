#include "headrace/record/tfrecord.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>
#include <vector>

#include "headrace/base/crc32c.h"

namespace headrace {
namespace {

using testing::HasSubstr;

Bytes random_bytes(std::mt19937& random, std::size_t size) {
  Bytes out(size);
  for (auto& byte : out) byte = static_cast<std::byte>(random());
  return out;
}

std::vector<Bytes> some_records(int count, unsigned seed = 1) {
  std::mt19937 random(seed);
  std::vector<Bytes> out;
  for (int i = 0; i < count; ++i) out.push_back(random_bytes(random, random() % 300));
  return out;
}

Bytes framed(const std::vector<Bytes>& records) {
  Bytes out;
  for (const Bytes& record : records) append_record(out, record);
  return out;
}

std::vector<Bytes> scan(RecordScanner& scanner, ScanOutcome& last) {
  std::vector<Bytes> out;
  BytesView record;
  while ((last = scanner.next(record)) == ScanOutcome::kRecord)
    out.emplace_back(record.begin(), record.end());
  return out;
}

// A header with a correct checksum, whatever length it announces.
Bytes header_for(std::uint64_t size) {
  Bytes out(kRecordHeaderBytes);
  store_little_endian(out.data(), size);
  store_little_endian(out.data() + 8, masked_crc32c(crc32c({out.data(), 8})));
  return out;
}

TEST(TfRecord, WritesTheBytesThatTensorFlowWrites) {
  // tf.io.TFRecordWriter("x").write(b"headrace")
  Bytes out;
  append_record(out, as_bytes("headrace"));
  const unsigned char expected[] = {8,   0,   0,   0,   0,   0,   0,   0,   0xff, 0x86, 0x24, 0x0f,
                                    'h', 'e', 'a', 'd', 'r', 'a', 'c', 'e', 0x70, 0x50, 0xa6, 0xb3};
  EXPECT_THAT(out, testing::ElementsAreArray(reinterpret_cast<const std::byte*>(expected), sizeof expected));
}

TEST(TfRecord, ReadsBackWhatItWrote) {
  const std::vector<Bytes> records = some_records(500);
  const Bytes stream = framed(records);
  RecordScanner scanner(stream);
  ScanOutcome last;
  EXPECT_EQ(scan(scanner, last), records);
  EXPECT_EQ(last, ScanOutcome::kEnd);
  EXPECT_EQ(scanner.position(), stream.size());
}

TEST(TfRecord, RecordsWrittenInPlaceAreTheSame) {
  Bytes out = framed({to_bytes("one")});
  const std::size_t offset = begin_record(out);
  append(out, as_bytes("two"));
  end_record(out, offset);
  EXPECT_EQ(out, framed({to_bytes("one"), to_bytes("two")}));
}

TEST(TfRecord, EveryTruncationIsToldFromAnEnd) {
  const Bytes stream = framed({to_bytes("first"), {}, to_bytes("third one")});
  const std::set<std::size_t> ends = {0, 21, 37, 62};
  for (std::size_t size = 0; size <= stream.size(); ++size) {
    RecordScanner scanner(BytesView(stream).first(size));
    ScanOutcome last;
    scan(scanner, last);
    EXPECT_EQ(last, ends.contains(size) ? ScanOutcome::kEnd : ScanOutcome::kTruncated) << size;
  }
}

TEST(TfRecord, AStreamInPiecesGivesTheSameRecords) {
  const std::vector<Bytes> records = some_records(200);
  const Bytes stream = framed(records);
  for (const std::size_t piece : {1UL, 13UL, 1000UL}) {
    std::vector<Bytes> found;
    Bytes held;
    for (std::size_t at = 0; at < stream.size(); at += piece) {
      append(held, BytesView(stream).subspan(at, std::min(piece, stream.size() - at)));
      RecordScanner scanner(held);
      ScanOutcome last;
      for (Bytes& record : scan(scanner, last)) found.push_back(std::move(record));
      ASSERT_TRUE(last == ScanOutcome::kEnd || last == ScanOutcome::kTruncated);
      held.erase(held.begin(), held.begin() + static_cast<std::ptrdiff_t>(scanner.position()));
    }
    EXPECT_EQ(found, records) << piece;
    EXPECT_TRUE(held.empty());
  }
}

TEST(TfRecord, EveryFlippedBitIsNoticedAtItsRecord) {
  const std::vector<Bytes> records = {to_bytes("first"), to_bytes("second"), to_bytes("third")};
  const Bytes stream = framed(records);
  for (std::size_t bit = 0; bit < stream.size() * 8; ++bit) {
    Bytes wrong = stream;
    wrong[bit / 8] ^= static_cast<std::byte>(1 << (bit % 8));
    RecordScanner scanner(wrong);
    ScanOutcome last;
    std::vector<Bytes> found = scan(scanner, last);
    ASSERT_TRUE(last == ScanOutcome::kBadLengthChecksum || last == ScanOutcome::kBadDataChecksum) << bit;
    std::vector<Bytes> expected = records;
    expected.resize(bit / 8 < 21 ? 0 : bit / 8 < 43 ? 1 : 2);
    EXPECT_EQ(found, expected) << bit;
  }
}

TEST(TfRecord, ALengthIsNotBelievedBeyondTheLimit) {
  for (const std::uint64_t size : {std::uint64_t{101}, std::uint64_t{1} << 40, ~std::uint64_t{0} - 15}) {
    Bytes stream = header_for(size);
    stream.resize(100);
    BytesView record;
    EXPECT_EQ(RecordScanner(stream, 100).next(record), ScanOutcome::kTooLarge) << size;
    // Practically without a limit, the announced bytes are missing, or more than there can ever be.
    const ScanOutcome unlimited = RecordScanner(stream, ~std::uint64_t{0}).next(record);
    EXPECT_EQ(unlimited, size >> 62 != 0 ? ScanOutcome::kTooLarge : ScanOutcome::kTruncated) << size;
  }
}

// Continues after all damage. Returns the offsets at which records were found.
std::set<std::size_t> offsets_of_sound_records(BytesView stream) {
  std::set<std::size_t> out;
  std::size_t start = 0;
  while (start < stream.size()) {
    RecordScanner scanner(stream.subspan(start));
    BytesView record;
    std::size_t before = 0;
    while (scanner.next(record) == ScanOutcome::kRecord) {
      out.insert(start + before);
      before = scanner.position();
    }
    const std::size_t damaged = start + before;
    const std::optional<std::size_t> next = find_next_record(stream, damaged);
    if (!next) break;
    EXPECT_GT(*next, damaged);
    start = *next;
  }
  return out;
}

struct Framed {
  Bytes stream;
  std::vector<std::size_t> offsets;  // of the records, and the end
};

Framed random_stream(std::mt19937& random) {
  Framed out;
  for (unsigned i = 0; i < 60; ++i) {
    out.offsets.push_back(out.stream.size());
    append_record(out.stream, random_bytes(random, random() % (1U << (random() % 10))));
  }
  out.offsets.push_back(out.stream.size());
  return out;
}

TEST(TfRecord, AfterOverwrittenBytesEveryRecordThatWasNotTouchedIsFound) {
  std::mt19937 random(6);
  for (int round = 0; round < 2000; ++round) {
    const Framed framed = random_stream(random);
    Bytes wrong = framed.stream;
    for (unsigned damages = 1 + random() % 4; damages > 0; --damages) {
      const std::size_t begin = random() % wrong.size();
      const std::size_t end = std::min<std::size_t>(begin + 1 + random() % 100, wrong.size());
      for (std::size_t at = begin; at < end; ++at) wrong[at] = static_cast<std::byte>(random());
    }
    std::set<std::size_t> expected;
    for (std::size_t i = 0; i + 1 < framed.offsets.size(); ++i) {
      const auto begin = static_cast<std::ptrdiff_t>(framed.offsets[i]);
      const auto end = static_cast<std::ptrdiff_t>(framed.offsets[i + 1]);
      if (std::equal(wrong.begin() + begin, wrong.begin() + end, framed.stream.begin() + begin))
        expected.insert(framed.offsets[i]);
    }
    ASSERT_EQ(offsets_of_sound_records(wrong), expected) << round;
  }
}

TEST(TfRecord, AfterMissingBytesEveryRecordBehindThemIsFound) {
  std::mt19937 random(7);
  for (int round = 0; round < 2000; ++round) {
    const Framed framed = random_stream(random);
    const std::size_t begin = random() % framed.stream.size();
    const std::size_t end = std::min<std::size_t>(begin + 1 + random() % 200, framed.stream.size());
    // If the missing bytes are as many as some records have, the cut record seems to end where a later record
    // ends.
    const auto cut = std::upper_bound(framed.offsets.begin(), framed.offsets.end(), begin);
    if (std::binary_search(cut, framed.offsets.end(), *cut + (end - begin))) continue;
    Bytes wrong = framed.stream;
    wrong.erase(wrong.begin() + static_cast<std::ptrdiff_t>(begin),
                wrong.begin() + static_cast<std::ptrdiff_t>(end));
    std::set<std::size_t> expected;
    for (std::size_t i = 0; i + 1 < framed.offsets.size(); ++i) {
      if (framed.offsets[i + 1] <= begin) expected.insert(framed.offsets[i]);
      if (framed.offsets[i] >= end) expected.insert(framed.offsets[i] - (end - begin));
    }
    // The two ends may join to form a record, because all records without data are equal.
    EXPECT_THAT(offsets_of_sound_records(wrong), testing::IsSupersetOf(expected)) << round;
  }
}

TEST(TfRecord, TheSearchForARecordGoesOnInTheNextPiece) {
  Bytes stream(100, std::byte{7});
  append_record(stream, as_bytes("found"));
  for (std::size_t cut = 0; cut < 112; ++cut) {
    ASSERT_EQ(find_next_record(BytesView(stream).first(cut), 0), std::nullopt) << cut;
    const std::size_t kept = std::max<std::size_t>(cut, kRecordHeaderBytes) - kRecordHeaderBytes;
    ASSERT_EQ(find_next_record(BytesView(stream).subspan(kept), 0), 100 - kept) << cut;
  }
  EXPECT_EQ(find_next_record(stream, 0, 4), std::nullopt) << "larger than the limit";
  EXPECT_EQ(find_next_record(stream, 0, 5), 100U) << "as large as the limit";
  EXPECT_EQ(find_next_record(stream, stream.size()), std::nullopt);
  EXPECT_EQ(find_next_record(stream, ~std::size_t{0}), std::nullopt);
}

TEST(TfRecord, AnErrorNamesObjectOffsetAndRecord) {
  const Error error = scan_error(ScanOutcome::kBadDataChecksum, "s3://bucket/train-00003", 4711, 17);
  EXPECT_EQ(error.code, Code::kDataLoss);
  EXPECT_THAT(error.message,
              HasSubstr("s3://bucket/train-00003: record data with a wrong checksum at offset 4711"));
  EXPECT_THAT(error.message, HasSubstr("record 17"));
}

TEST(TfRecord, ARecordAsLargeAsTheLimitIsRead) {
  const Bytes stream = framed({Bytes(100)});
  BytesView record;
  EXPECT_EQ(RecordScanner(stream, 100).next(record), ScanOutcome::kRecord);
  EXPECT_EQ(record.size(), 100U);
  EXPECT_EQ(RecordScanner(stream, 99).next(record), ScanOutcome::kTooLarge);
}

TEST(TfRecord, AfterADamagedRecordTheEndOfTheStreamIsFound) {
  Bytes stream = framed({to_bytes("only")});
  stream[kRecordHeaderBytes] ^= std::byte{1};
  EXPECT_EQ(find_next_record(stream, 0), stream.size());
  EXPECT_EQ(find_next_record(BytesView(stream).first(stream.size() - 1), 0), std::nullopt);
  Bytes two = stream;
  append(two, framed({{}}));
  EXPECT_EQ(find_next_record(two, 0), stream.size());
  two.resize(stream.size() + kRecordHeaderBytes - 1);
  EXPECT_EQ(find_next_record(two, 0), std::nullopt) << "the next header is not whole";
  two = stream;
  append(two, header_for(7));
  EXPECT_EQ(find_next_record(two, 0), stream.size()) << "the next header is all that follows";
}

TEST(TfRecord, OnlyARecordBeyondTheLimitIsNoLoss) {
  for (const ScanOutcome outcome : {ScanOutcome::kTruncated, ScanOutcome::kBadLengthChecksum})
    EXPECT_EQ(scan_error(outcome, "x", 0, 0).code, Code::kDataLoss);
  const Error large = scan_error(ScanOutcome::kTooLarge, "x", 3, 2);
  EXPECT_EQ(large.code, Code::kResourceExhausted);
  EXPECT_EQ(large.message,
            "x: record larger than the limit at offset 3 of the uncompressed stream (record 2)");
  EXPECT_EQ(scan_outcome_text(ScanOutcome::kRecord), "record");
  EXPECT_EQ(scan_outcome_text(ScanOutcome::kEnd), "end");
  EXPECT_EQ(scan_outcome_text(ScanOutcome::kTruncated), "truncated record");
}

}  // namespace
}  // namespace headrace
