#include "headrace/record/event_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

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

// All outcomes of a file that comes in pieces of that size, up to the last kWait or the first kBroken.
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

}  // namespace
}  // namespace headrace
