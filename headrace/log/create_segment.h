#pragma once

/// \file Creates the segments of a log. Each is created once, even if other writers create segments of the
/// same log.

#include <cstdint>
#include <string>
#include <string_view>

#include "headrace/store/location.h"

namespace headrace {

/// Key of a segment. Segment 0 has the key of the log; the others are "<log>.000001" and so on. With an
/// ending, every segment has its number before the ending: "<log>.000000<ending>".
std::string segment_key(std::string_view log, std::uint64_t segment, std::string_view ending = {});

/// The ending of the segments' keys, and the header with which all segments except segment 0 begin.
struct SegmentForm {
  std::string_view ending{};
  BytesView header{};
};

/// When an existing object with the number counts as the segment.
enum class SameSegment {
  kEqual,   // it has the same bytes, because the answer to an earlier request was lost
  kBegins,  // it begins with these bytes, because the end of the records may have been lost since
};

/// Creates a segment with these records under the first free number from `number` on, unless one of the taken
/// numbers before that already holds the segment (`same`). Sets `number` to the number after the segment or,
/// after an error, to the number that was tried. Returns true if the segment is new. Cost: one request for
/// each number, and up to two more for each that is taken.
/// \error kAlreadyExists  1,000 numbers in a row are taken
/// \error                 as for Store::write; the segment may have been created all the same
Result<bool> create_segment(const Location& log, const SegmentForm& form, BytesView records, SameSegment same,
                            std::uint64_t& number, const CallOptions& call);

}  // namespace headrace
