#include <cstdlib>
#include <cstring>

#include "headrace/record/event_migration.h"
#include "headrace/record/event_reader.h"
#include "headrace/record/event_scalar.h"
#include "headrace/record/event_stream.h"
#include "headrace/record/tfrecord.h"

namespace headrace {
namespace {

bool lies_within(BytesView part, BytesView whole) {
  return part.empty() ||
         (part.data() >= whole.data() && part.data() + part.size() <= whole.data() + whole.size());
}

// A histogram that is migrated has rows from the least value to the greatest; other tensors are as they were.
void check_tensor(const SummaryValue& value, const MigratedValue& migrated) {
  const Result<TensorProtoView> tensor = parse_tensor(migrated.tensor);
  if (!tensor) std::abort();
  if (value.form == ValueForm::kTensor && migrated.tensor.data() != value.content.data()) std::abort();
  if (value.form == ValueForm::kHistogram &&
      tensor->content.size() != tensor->element_count * sizeof(float)) {
    std::abort();
  }
}

// The fast reader of scalars finds the same as the reader of all events.
void check_scalar(BytesView record) {
  ScalarEvent scalar;
  if (!parse_scalar_event(record, scalar)) return;
  const Result<EventView> event = parse_event(record);
  if (!event || event->step != scalar.step) std::abort();
  if (std::memcmp(&event->wall_time_s, &scalar.wall_time_s, sizeof(double)) != 0) std::abort();
  SummaryReader values(*event);
  SummaryValue value;
  MigratedValue migrated;
  constexpr SeriesKind kScalar{DataClass::kScalar};
  if (!values.next(value) || value.tag != scalar.tag) std::abort();
  if (!EventMigration().migrate(value, &kScalar, migrated)) std::abort();
  const double value_read = scalar.value;
  const bool is_same = std::memcmp(&migrated.scalar, &value_read, sizeof(double)) == 0;
  if (!is_same && !(migrated.scalar != migrated.scalar && scalar.value != scalar.value)) std::abort();
  if (values.next(value) || !values.status()) std::abort();
}

void check_values(BytesView record, const EventView& event) {
  EventMigration migration;
  SummaryReader values(event);
  for (SummaryValue value; values.next(value);) {
    if (!lies_within(value.content, record) || !lies_within(as_bytes(value.tag), record)) std::abort();
    static constexpr SeriesKind kKinds[] = {{DataClass::kScalar},
                                            {DataClass::kTensor},
                                            {DataClass::kBlobSequence},
                                            {DataClass::kBlobSequence, true}};
    for (std::size_t i = 0; i <= std::size(kKinds); ++i) {
      MigratedValue migrated;
      if (!migration.migrate(value, i == 0 ? nullptr : &kKinds[i - 1], migrated)) continue;
      if (migrated.kind.data_class == DataClass::kTensor) check_tensor(value, migrated);
      if (migrated.blobs.size() > EventMigration::kMaxBlobs) std::abort();
    }
    if (const Result<TensorProtoView> tensor = parse_tensor(value.content); tensor) (void)tensor->scalar();
  }
  (void)values.status();
  MigratedValue migrated;
  if (migration.migrate_event(event, migrated) && !lies_within(migrated.blobs[0], record)) std::abort();
}

// Cut into pieces anywhere, a file gives the same events, and each where its record says.
void check_stream(BytesView file, std::size_t piece) {
  constexpr std::uint64_t kLimitBytes = 1 << 16;
  EventStream whole(kLimitBytes), pieces(kLimitBytes);
  whole.append(file);
  std::size_t given = 0;
  StreamEvent expected, found;
  for (;;) {
    const StreamOutcome outcome = whole.next(expected);
    StreamOutcome other = pieces.next(found);
    while (other == StreamOutcome::kWait && given < file.size()) {
      const std::size_t size = std::min(piece, file.size() - given);
      pieces.append(file.subspan(given, size));
      given += size;
      other = pieces.next(found);
    }
    if (outcome != other) std::abort();
    if (outcome == StreamOutcome::kWait || outcome == StreamOutcome::kBroken) return;
    if (outcome == StreamOutcome::kDamaged && whole.error().message != pieces.error().message) std::abort();
    if (outcome != StreamOutcome::kEvent) continue;
    const BytesView there = file.subspan(expected.offset_bytes, expected.record.size());
    if (expected.offset_bytes != found.offset_bytes || as_text(there) != as_text(found.record)) std::abort();
  }
}

}  // namespace
}  // namespace headrace

// The input is an event, and a script for a file of such events that is then damaged: each four bytes of it
// are an offset (two), and what is put there.
extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace headrace;
  const BytesView input = std::as_bytes(std::span(data, size));
  check_scalar(input);
  const Result<EventView> event = parse_event(input);
  if (event) check_values(input, *event);
  Bytes file;
  for (std::size_t count = 0; count < 4; ++count) append_record(file, input.first(size * count / 3));
  for (std::size_t at = 0; at + 4 <= size && at < 16; at += 4) {
    file[(data[at] | data[at + 1] << 8) % file.size()] = static_cast<std::byte>(data[at + 2]);
  }
  check_stream(file, 1 + (size > 0 ? data[size - 1] : 0));
  return 0;
}
