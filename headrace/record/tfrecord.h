#pragma once

/// \file TFRecord framing: docs/formats/tfrecord.md. Works on bytes that are already decompressed.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "headrace/base/bytes.h"
#include "headrace/base/result.h"

namespace headrace {

/// Length and its checksum before the data, the data's checksum after them.
inline constexpr std::size_t kRecordHeaderBytes = 12;
inline constexpr std::size_t kRecordFooterBytes = 4;
inline constexpr std::size_t kRecordFramingBytes = kRecordHeaderBytes + kRecordFooterBytes;
/// Default for the largest record that a reader accepts: protobuf's own limit for a message is 2 GiB.
inline constexpr std::uint64_t kDefaultRecordLimitBytes = std::uint64_t{1} << 30;
/// No record can be larger than this.
inline constexpr std::uint64_t kNoRecordLimitBytes = (std::uint64_t{1} << 62) - 1;

/// Appends one framed record: 16 bytes more than `data`.
void append_record(Bytes& out, BytesView data);

/// For data that are written in place: `begin_record` appends room for a header and returns the record's
/// offset in `out`; append the data; `end_record` with that offset frames them.
std::size_t begin_record(Bytes& out);
void end_record(Bytes& out, std::size_t offset);

enum class ScanOutcome : std::uint8_t {
  kRecord,
  kEnd,                // the bytes end where a record ended
  kTruncated,          // the bytes end inside a record
  kBadLengthChecksum,  // from here on nothing says where the next record begins
  kBadDataChecksum,    // this record is damaged; its length is sound
  kTooLarge,           // a sound header, but more bytes than the limit
};

/// "truncated record", "record length with a wrong checksum" and so on.
std::string_view scan_outcome_text(ScanOutcome outcome);

/// Yields the records of `stream` in order, as views, always after checking both checksums. Keeps nothing but
/// a position, copies nothing; `stream` must outlive it and the views.
///
///   RecordScanner scanner(stream);
///   BytesView record;
///   while (scanner.next(record) == ScanOutcome::kRecord) use(record);
///
/// A stream that comes in pieces is scanned piece by piece: at kTruncated keep the bytes from `position()`
/// on, put the next piece after them, and scan on with a new scanner. The checksums cost least in pieces of 1
/// to 8 MiB, which are still in the processor's caches: on a Zen 4 core 14 GB/s of a file in the page cache,
/// read() included; 56 million records/s where they have 128 bytes.
class RecordScanner {
 public:
  explicit RecordScanner(BytesView stream, std::uint64_t limit_bytes = kDefaultRecordLimitBytes)
      : stream_(stream),
        limit_bytes_(limit_bytes < kNoRecordLimitBytes ? limit_bytes : kNoRecordLimitBytes) {}

  /// kRecord moves past the record; every other outcome stays where it is, and would be met again.
  ScanOutcome next(BytesView& record);

  /// Where the record that `next` looks at begins, in bytes from the start of `stream`.
  std::size_t position() const { return position_; }

 private:
  BytesView stream_;
  std::uint64_t limit_bytes_;
  std::size_t position_ = 0;
};

/// Where to read on after damage: given the offset of a record that `RecordScanner` did not yield, the next
/// offset at which a record may begin. That is the record's end where its length is sound and a header, or
/// the end of the stream, follows it; else, since bytes may be missing, the first offset behind `damaged` at
/// which twelve bytes are a header: a length of at most `limit_bytes` with a right checksum. Records that lie
/// wholly or partly between the two offsets are lost; nothing says how many.
///
/// None if the stream holds no such offset. If more of it is to come, keep its last twelve bytes, put the
/// rest after them and call again with `damaged` 0.
///
/// Twelve bytes are a header by chance once in 2^32 offsets among zeros and small numbers, once in 2^66 of
/// random bytes; what follows them then fails its own checksum, and one goes on. A damaged record that itself
/// holds TFRecords may yield those. Pure; about 1 GB/s.
std::optional<std::size_t> find_next_record(BytesView stream, std::size_t damaged,
                                            std::uint64_t limit_bytes = kDefaultRecordLimitBytes);

/// The error for an outcome that is neither kRecord nor kEnd: says what is wrong at which offset of what.
/// \param where   names the object, as Store::describe does
/// \param offset  in the decompressed stream
/// \param record  index of the record in the object
Error scan_error(ScanOutcome outcome, std::string_view where, std::uint64_t offset, std::uint64_t record);

}  // namespace headrace
