#include "headrace/record/event_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "headrace/base/crc32c.h"
#include "headrace/record/event.h"
#include "headrace/record/tfrecord.h"

namespace headrace {
namespace {

using testing::HasSubstr;

struct Outcome {
  StreamOutcome outcome;
  std::int64_t step;
  bool operator==(const Outcome&) const = default;
};

// All outcomes of a file that comes in pieces of the given size, up to the last kWait or the first kBroken.
std::vector<Outcome> outcomes(EventStream& stream, BytesView file, std::size_t piece) {
  std::vector<Outcome> out;
  StreamEvent event;
  for (std::size_t at = 0; at < file.size(); at += piece) {
    stream.append(file.subspan(at, std::min(piece, file.size() - at)));
    for (;;) {
      const StreamOutcome outcome = stream.next(event);
      if (outcome == StreamOutcome::kWait) break;
      out.push_back({outcome, outcome == StreamOutcome::kEvent ? event.event.step : -1});
      if (outcome == StreamOutcome::kBroken) return out;
    }
  }
  return out;
}

Bytes steps(std::int64_t count) {
  Bytes file;
  EventEncoder encoder;
  for (std::int64_t step = 0; step < count; ++step) encoder.scalar(file, {1.0, step}, "loss", 0.5F);
  return file;
}

TEST(EventStream, PiecesOfAnySizeGiveTheSameEvents) {
  const Bytes file = steps(20);
  for (const std::size_t piece : {1, 7, 100, 100'000}) {
    EventStream stream;
    const std::vector<Outcome> found = outcomes(stream, file, piece);
    ASSERT_EQ(found.size(), 20U);
    for (std::int64_t step = 0; step < 20; ++step) {
      EXPECT_EQ(found[static_cast<std::size_t>(step)], (Outcome{StreamOutcome::kEvent, step}));
    }
    EXPECT_EQ(stream.end_bytes(), file.size());
  }
}

TEST(EventStream, AnEventTellsWhereItsRecordLies) {
  const Bytes file = steps(3);
  EventStream stream;
  stream.append(file);
  StreamEvent event;
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(stream.next(event), StreamOutcome::kEvent);
    const BytesView there = BytesView(file).subspan(event.offset_bytes, event.record.size());
    EXPECT_EQ(as_text(there), as_text(event.record));
  }
}

TEST(EventStream, AnUnfinishedRecordWaitsForItsRest) {
  const Bytes file = steps(2);
  EventStream stream;
  StreamEvent event;
  stream.append(BytesView(file).first(file.size() - 1));
  EXPECT_EQ(stream.next(event), StreamOutcome::kEvent);
  EXPECT_EQ(stream.next(event), StreamOutcome::kWait);
  stream.shrink();
  stream.append(BytesView(file).last(1));
  EXPECT_EQ(stream.next(event), StreamOutcome::kEvent);
  EXPECT_EQ(event.event.step, 1);
}

TEST(EventStream, ARecordWithDamagedDataIsLeftOut) {
  Bytes file = steps(3);
  file[kRecordHeaderBytes + 3] ^= std::byte{1};
  for (const std::size_t piece : {5, 100'000}) {
    EventStream stream;
    EXPECT_THAT(outcomes(stream, file, piece),
                testing::ElementsAre(Outcome{StreamOutcome::kDamaged, -1}, Outcome{StreamOutcome::kEvent, 1},
                                     Outcome{StreamOutcome::kEvent, 2}));
    EXPECT_EQ(stream.error().code, Code::kDataLoss);
    EXPECT_THAT(stream.error().message, HasSubstr("offset 0"));
  }
}

TEST(EventStream, ARecordThatIsNoEventIsLeftOut) {
  Bytes file;
  append_record(file, as_bytes("\x2a\x7f"));
  append(file, steps(1));
  EventStream stream;
  EXPECT_THAT(outcomes(stream, file, file.size()),
              testing::ElementsAre(Outcome{StreamOutcome::kDamaged, -1}, Outcome{StreamOutcome::kEvent, 0}));
}

TEST(EventStream, AWrongLengthEndsTheFile) {
  Bytes file = steps(3);
  RecordScanner scanner(file);
  BytesView record;
  ASSERT_EQ(scanner.next(record), ScanOutcome::kRecord);
  const std::size_t second = scanner.position();
  file[second] ^= std::byte{1};
  EventStream stream;
  EXPECT_THAT(outcomes(stream, file, 9),
              testing::ElementsAre(Outcome{StreamOutcome::kEvent, 0}, Outcome{StreamOutcome::kBroken, -1}));
  EXPECT_THAT(stream.error().message, HasSubstr("offset " + std::to_string(second)));
  stream.append(steps(1));
  StreamEvent event;
  EXPECT_EQ(stream.next(event), StreamOutcome::kBroken);
}

TEST(EventStream, ARecordBeyondTheLimitIsLeftOutWithoutBeingHeld) {
  Bytes file;
  append_record(file, Bytes(1000));
  append(file, steps(1));
  for (const std::size_t piece : {13, 10'000}) {
    EventStream stream(500);
    EXPECT_THAT(outcomes(stream, file, piece), testing::ElementsAre(Outcome{StreamOutcome::kDamaged, -1},
                                                                    Outcome{StreamOutcome::kEvent, 0}));
    EXPECT_EQ(stream.error().code, Code::kResourceExhausted);
  }
}

TEST(EventStream, TheTailIsTheLastBytesThatAreHeld) {
  const Bytes file = steps(2);
  EventStream stream;
  EXPECT_TRUE(stream.tail(10).empty());
  stream.append(file);
  EXPECT_EQ(as_text(stream.tail(5)), as_text(BytesView(file).last(5)));
  EXPECT_EQ(as_text(stream.tail(file.size() + 100)), as_text(file));
  StreamEvent event;
  while (stream.next(event) == StreamOutcome::kEvent) {
  }
  EXPECT_EQ(as_text(stream.tail(5)), as_text(BytesView(file).last(5))) << "it was yielded, and is still held";
  stream.shrink();
  EXPECT_TRUE(stream.tail(5).empty());
}

TEST(EventStream, SaysHowMuchOfARecordWaitsForItsRest) {
  const Bytes file = steps(2);
  EventStream stream;
  StreamEvent event;
  EXPECT_EQ(stream.room(7).size(), 7U);
  stream.append(BytesView(file).first(file.size() - 1));
  EXPECT_EQ(stream.waiting_bytes(), file.size() - 1);
  ASSERT_EQ(stream.next(event), StreamOutcome::kEvent);
  const std::size_t first = event.offset_bytes + event.record.size() + kRecordFooterBytes;
  EXPECT_EQ(stream.waiting_bytes(), file.size() - 1 - first);
  EXPECT_EQ(stream.next(event), StreamOutcome::kWait);
  EXPECT_EQ(stream.waiting_bytes(), file.size() - 1 - first);
  EXPECT_EQ(stream.room(100).size(), 100U);
  stream.arrived(0);
  EXPECT_EQ(stream.end_bytes(), file.size() - 1);
}

TEST(EventStream, AnErrorNamesTheOffsetOfTheRecord) {
  Bytes file = steps(1);
  const std::string second = std::to_string(file.size());
  append_record(file, as_bytes("\x2a\x7f"));
  EventStream unparsed;
  outcomes(unparsed, file, file.size());
  EXPECT_EQ(unparsed.error().code, Code::kDataLoss);
  EXPECT_EQ(unparsed.error().message, "at offset " + second + ": malformed event");
  file.back() ^= std::byte{1};
  EventStream damaged;
  outcomes(damaged, file, file.size());
  EXPECT_EQ(damaged.error().message, "at offset " + second + ": record data with a wrong checksum");
  EventStream large(1);
  outcomes(large, BytesView(file).subspan(std::stoul(second)), file.size());
  EXPECT_EQ(large.error().message, "at offset 0: record larger than the limit");
  file[std::stoul(second)] ^= std::byte{1};
  EventStream broken;
  outcomes(broken, file, file.size());
  EXPECT_EQ(broken.error().code, Code::kDataLoss);
  EXPECT_EQ(broken.error().message, "at offset " + second +
                                        ": record length with a wrong checksum; the file cannot be read "
                                        "beyond this point");
}

TEST(EventStream, BehindAWrongLengthNothingIsHeld) {
  Bytes file = steps(2);
  file[0] ^= std::byte{1};
  EventStream stream;
  stream.append(file);
  StreamEvent event;
  EXPECT_EQ(stream.next(event), StreamOutcome::kBroken);
  EXPECT_EQ(stream.waiting_bytes(), 0U);
  stream.append(file);
  EXPECT_EQ(stream.waiting_bytes(), 0U);
  EXPECT_EQ(stream.end_bytes(), 2 * file.size());
}

TEST(EventStream, ARecordOfTheLargestLengthIsLeftOutForEver) {
  Bytes header;
  append_little_endian(header, ~std::uint64_t{0});
  append_little_endian(header, masked_crc32c(crc32c(header)));
  EventStream stream;
  stream.append(header);
  StreamEvent event;
  EXPECT_EQ(stream.next(event), StreamOutcome::kDamaged);
  EXPECT_EQ(stream.error().code, Code::kResourceExhausted);
  for (int i = 0; i < 3; ++i) {
    stream.append(steps(1));
    EXPECT_EQ(stream.next(event), StreamOutcome::kWait);
    EXPECT_EQ(stream.waiting_bytes(), 0U);
  }
}

}  // namespace
}  // namespace headrace
