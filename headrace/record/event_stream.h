#pragma once

/// \file The events of a file that comes in pieces, or grows: docs/formats/event-file.md, "Reader".

#include <cstdint>
#include <string>

#include "headrace/base/bytes.h"
#include "headrace/base/result.h"
#include "headrace/record/event_reader.h"

namespace headrace {

/// An event's record may be as large as this; a larger one is left out.
inline constexpr std::uint64_t kDefaultEventLimitBytes = std::uint64_t{256} << 20;

enum class StreamOutcome : std::uint8_t {
  kEvent,
  kWait,     // no whole record is left: append more
  kDamaged,  // a record was left out: `error` says which, and why
  kBroken,   // a length with a wrong checksum: nothing further can be read, `error` says where
};

struct StreamEvent {
  EventView event{};
  /// The serialized event, which `event` views; until the stream is called again with anything but `next`.
  BytesView record{};
  /// Offset in the file of the first byte of `record`.
  std::uint64_t offset_bytes = 0;
};

/// Takes the bytes of one file front to back and yields its events. Keeps the bytes that do not make a whole
/// record yet: at most one record and the latest appended bytes. Use it from one thread at a time.
///
///   MutableBytesView room = stream.room(8 << 20);
///   stream.arrived(read(file, stream.end_bytes(), room));
///   while ((outcome = stream.next(event)) == StreamOutcome::kEvent) use(event);
class EventStream {
 public:
  explicit EventStream(std::uint64_t limit_bytes = kDefaultEventLimitBytes) : limit_bytes_(limit_bytes) {}

  /// Where to put the bytes from `end_bytes()` on; `arrived` says how many of them were put there.
  MutableBytesView room(std::size_t bytes);
  void arrived(std::size_t bytes);
  void append(BytesView bytes);

  /// Never waits; kWait and kBroken do not change until more is appended, or ever.
  StreamOutcome next(StreamEvent& event);
  /// The same, but a record is not parsed: of `event`, only `record` and `offset_bytes` are set.
  StreamOutcome next_record(StreamEvent& event);

  /// The error of the last kDamaged or kBroken: kDataLoss or, for a record beyond the limit,
  /// kResourceExhausted.
  const Error& error() const { return error_; }
  /// Offset in the file of the first byte that was not appended.
  std::uint64_t end_bytes() const { return end_bytes_; }
  /// Bytes of a record whose rest was not appended.
  std::size_t waiting_bytes() const { return filled_ - begin_; }
  /// The last bytes that were appended and are still held: at most `bytes`, maybe none.
  BytesView tail(std::size_t bytes) const;
  /// Frees what is not needed to go on.
  void shrink();

 private:
  std::uint64_t offset_of(std::size_t place) const { return end_bytes_ - (filled_ - place); }
  void drop_front();
  StreamOutcome leave_out(std::uint64_t size, Error error);

  std::uint64_t limit_bytes_;
  Bytes buffer_;
  std::size_t begin_ = 0;   // of what was not yielded
  std::size_t filled_ = 0;  // end of what was appended
  std::uint64_t end_bytes_ = 0;
  std::uint64_t to_leave_out_ = 0;  // bytes of a record that are yet to come
  bool broken_ = false;
  Error error_;
};

}  // namespace headrace
