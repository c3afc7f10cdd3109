#include "headrace/log/create_segment.h"

#include <algorithm>

#include "headrace/base/text.h"

namespace headrace {

namespace {

constexpr int kNameDigits = 6;
// If a writer finds its number taken this often in a row, the cause is an error and not other writers of the
// log.
constexpr int kMostTaken = 1'000;

Result<bool> false_if_missing(const Error& error) {
  if (error.code == Code::kNotFound) return false;
  return error;
}

// Returns whether the object is the segment. False if it was removed meanwhile.
Result<bool> is_same_segment(const Location& object, BytesView segment, SameSegment same,
                             const CallOptions& call) {
  const auto there = object.store->stat(object.key, call);
  if (!there) return false_if_missing(there.error());
  const std::uint64_t size = there->size_bytes;
  if (same == SameSegment::kEqual ? size != segment.size() : size < segment.size()) return false;
  Bytes beginning(segment.size());
  const auto read = object.store->read_into(object.key, beginning, {.call = call});
  if (!read) return false_if_missing(read.error());
  return read->bytes_read == segment.size() && std::ranges::equal(beginning, segment);
}

}  // namespace

std::string segment_key(std::string_view log, std::uint64_t segment, std::string_view ending) {
  if (segment == 0 && ending.empty()) return std::string(log);
  return concat(log, ".", zero_padded(segment, kNameDigits), ending);
}

Result<bool> create_segment(const Location& log, const SegmentForm& form, BytesView records, SameSegment same,
                            std::uint64_t& number, const CallOptions& call) {
  for (int taken = 0;; ++taken) {
    Location place = log;
    place.key = segment_key(log.key, number, form.ending);
    Bytes segment = number == 0 ? Bytes() : Bytes(form.header.begin(), form.header.end());
    headrace::append(segment, records);
    const auto written = log.store->write(place.key, segment, {.only_if_absent = true, .call = call});
    const bool is_taken = !written && written.error().code == Code::kAlreadyExists;
    if (!written && (!is_taken || taken == kMostTaken)) return written.error();
    bool is_there = false;
    if (is_taken) {
      HEADRACE_TRY(is_there, is_same_segment(place, segment, same, call));
    }
    ++number;
    if (written || is_there) return !is_there;
  }
}

}  // namespace headrace
