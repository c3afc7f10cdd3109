#include "headrace/events/log_reader.h"

#include <algorithm>

#include "headrace/base/text.h"

namespace headrace {
namespace {

// Whether the error shows that the listing is out of date. The next listing will be right.
bool is_outdated(const Error& error) {
  return error.code == Code::kNotFound || error.code == Code::kOutOfRange;
}

// Whether an object was archived, for example by a rule of the bucket. The reader requests no version, so the
// code has no other cause.
bool is_archived(const Error& error) { return error.code == Code::kFailedPrecondition; }

}  // namespace

bool LogReader::is_behind(const LogSegments& segments) const {
  if (segments.size() != seen_.size()) return true;
  for (std::size_t i = 0; i < seen_.size(); ++i) {
    if (seen_[i].key != segments[i].key || seen_[i].size_bytes != segments[i].size_bytes ||
        seen_[i].version != segments[i].version) {
      return true;
    }
  }
  return false;
}

bool LogReader::is_finished_part_changed(const LogSegments& segments) const {
  if (segments.size() < seen_.size()) return true;
  for (std::size_t i = 0; i < seen_.size(); ++i) {
    if (seen_[i].key != segments[i].key) return true;
    const bool is_last = i + 1 == seen_.size();
    if (!is_last && seen_[i].version != segments[i].version) return true;
    if (is_last && segments[i].size_bytes < stream_.end_bytes()) return true;
  }
  return false;
}

void LogReader::forget(Run& run) {
  run.drop_log(id_, name_);
  seen_.clear();
}

Status LogReader::advance(const LogReading& reading, const LogSegments& segments) {
  if (is_finished_part_changed(segments)) forget(reading.run);
  if (!seen_.empty()) {
    const ObjectInfo& last = segments[seen_.size() - 1];
    if (seen_.back().version != last.version || seen_.back().size_bytes != last.size_bytes) {
      HEADRACE_TRY(const bool continued, continues(reading, last));
      if (continued) {
        HEADRACE_CHECK(read_segment(reading, last));
        if (seen_.back().version != last.version) return {};  // not everything was read
      } else {
        forget(reading.run);
      }
    }
  }
  for (std::size_t i = seen_.size(); i < segments.size() && !reading.must_pause(); ++i) {
    if (!seen_.empty() && !broken_ && stream_.waiting_bytes() > 0) warn_of_cut_off(reading);
    seen_.push_back({segments[i].key, 0, {}});
    stream_ = EventStream();
    tail_.clear();
    broken_ = has_warned_ = false;
    HEADRACE_CHECK(read_segment(reading, segments[i]));
  }
  return {};
}

// Warns that the last object is finished although its last record is incomplete.
void LogReader::warn_of_cut_off(const LogReading& reading) {
  const std::uint64_t offset = stream_.end_bytes() - stream_.waiting_bytes();
  reading.warn(concat(reading.store.describe(seen_.back().key), ": it ends within the record at offset ",
                      offset, ", and the log continues in another object; that record is left out"));
}

// Whether the object still holds the same bytes before the place where reading stopped.
Result<bool> LogReader::continues(const LogReading& reading, const ObjectInfo& object) {
  if (tail_.empty()) return true;
  Bytes there(tail_.size());
  const auto read = reading.store.read_into(
      object.key, there, {.offset_bytes = stream_.end_bytes() - tail_.size(), .call = reading.call});
  if (!read && (is_outdated(read.error()) || is_archived(read.error()))) return true;
  if (!read) return read.error();
  return read->bytes_read == there.size() && there == tail_;
}

// Reads the object from where reading stopped up to the size that was listed.
Status LogReader::read_segment(const LogReading& reading, const ObjectInfo& object) {
  Seen& seen = seen_.back();
  seen.version = {};
  const std::uint64_t begin = stream_.end_bytes();
  const EventSource source{
      id_, name_, std::make_shared<const std::string>(object.key), [&](const Error& problem) {
        if (!std::exchange(has_warned_, true)) {
          reading.warn(concat(reading.store.describe(object.key), ": ", problem.message));
        }
      }};
  while (!broken_ && stream_.end_bytes() < object.size_bytes) {
    if (stream_.end_bytes() > begin && reading.must_pause()) return {};
    const Result<std::size_t> bytes = read_piece(reading, object);
    if (!bytes && is_archived(bytes.error())) {
      reading.warn(concat(bytes.error().message, "; it is left out"));
      broken_ = true;
      break;
    }
    if (!bytes) return bytes.error();
    if (*bytes == 0) return {};
    broken_ = reading.run.take(stream_, source) == StreamOutcome::kBroken;
    const BytesView tail = stream_.tail(kTailBytes);
    tail_.assign(tail.begin(), tail.end());
  }
  stream_.shrink();
  seen.size_bytes = object.size_bytes;
  seen.version = object.version;
  return {};
}

// Returns 0 if the object has changed since it was listed.
Result<std::size_t> LogReader::read_piece(const LogReading& reading, const ObjectInfo& object) {
  const std::uint64_t left = object.size_bytes - stream_.end_bytes();
  const MutableBytesView room =
      stream_.room(static_cast<std::size_t>(std::min<std::uint64_t>(left, kPieceBytes)));
  const auto read =
      reading.store.read_into(object.key, room, {.offset_bytes = stream_.end_bytes(), .call = reading.call});
  if (!read) return is_outdated(read.error()) ? Result<std::size_t>(0U) : Result<std::size_t>(read.error());
  stream_.arrived(read->bytes_read);
  return read->bytes_read;
}

}  // namespace headrace
