#pragma once

/// \file Reads the events of a file that arrives in pieces or grows: docs/formats/event-file.md, "Reader".

#include <cstdint>
#include <string>

#include "headrace/base/bytes.h"
#include "headrace/base/result.h"
#include "headrace/record/event_reader.h"

namespace headrace {

/// The largest record of an event that is read by default; larger ones are skipped.
inline constexpr std::uint64_t kDefaultEventLimitBytes = std::uint64_t{256} << 20;

enum class StreamOutcome : std::uint8_t {
  kEvent,
  kWait,     // no whole record is left: append more
  kDamaged,  // a record was skipped: `error` says which one and why
  kBroken,   // a length has a wrong checksum, so nothing further can be read: `error` says where
};

struct StreamEvent {
  EventView event{};
  /// The serialized event, which `event` views. Valid until the next call of `room`, `append` or `shrink`.
  BytesView record{};
  /// Offset in the file of the first byte of `record`.
  std::uint64_t offset_bytes = 0;
};

/// Takes the bytes of one file from front to back and yields its events. Memory: at most one record and the
/// bytes appended last, because bytes are kept until they make a whole record. Not thread-safe.
///
///   MutableBytesView room = stream.room(8 << 20);
///   stream.arrived(read(file, stream.end_bytes(), room));
///   while ((outcome = stream.next(event)) == StreamOutcome::kEvent) use(event);
class EventStream {
 public:
  explicit EventStream(std::uint64_t limit_bytes = kDefaultEventLimitBytes) : limit_bytes_(limit_bytes) {}

  /// Returns room for the file's bytes from `end_bytes()` on. Then call `arrived` with the number of bytes
  /// that were written there.
  MutableBytesView room(std::size_t bytes);
  void arrived(std::size_t bytes);
  /// Copies the file's next bytes, from `end_bytes()` on: `room` and `arrived` in one call.
  void append(BytesView bytes);

  /// Takes the next event. Never blocks. After kWait, append more before the next call; kBroken is final.
  StreamOutcome next(StreamEvent& event);
  /// Takes the next record without parsing it: sets only `record` and `offset_bytes` of `event`.
  StreamOutcome next_record(StreamEvent& event);

  /// The error of the last kDamaged or kBroken: kDataLoss or, for a record beyond the limit,
  /// kResourceExhausted.
  const Error& error() const { return error_; }
  /// Offset in the file of the first byte that was not appended yet.
  std::uint64_t end_bytes() const { return end_bytes_; }
  /// The number of bytes that were appended but not yet yielded.
  std::size_t waiting_bytes() const { return filled_ - begin_; }
  /// Views the last appended bytes that are still held: at most `bytes`, possibly none.
  BytesView tail(std::size_t bytes) const;
  /// Frees the memory that is not needed to continue.
  void shrink();

 private:
  std::uint64_t offset_of(std::size_t place) const { return end_bytes_ - (filled_ - place); }
  void drop_front();
  StreamOutcome leave_out(std::uint64_t size, Error error);

  std::uint64_t limit_bytes_;
  Bytes buffer_;
  std::size_t begin_ = 0;   // where the bytes that were not yielded begin
  std::size_t filled_ = 0;  // where the appended bytes end
  std::uint64_t end_bytes_ = 0;
  std::uint64_t to_leave_out_ = 0;  // bytes of a skipped record that have not arrived yet
  bool broken_ = false;
  Error error_;
};

}  // namespace headrace
