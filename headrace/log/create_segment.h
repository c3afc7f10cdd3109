#pragma once

/// \file Creates the segments of a log, each once, whoever else creates segments of that log.

#include <cstdint>
#include <string>
#include <string_view>

#include "headrace/store/location.h"

namespace headrace {

/// Key of a segment: that of the log for segment 0, "<log>.000001" and so on for the others. With an ending,
/// every segment has its number before the ending: "<log>.000000<ending>".
std::string segment_key(std::string_view log, std::uint64_t segment, std::string_view ending = {});

/// How the segments of a log are named, and what all but segment 0 begin with.
struct SegmentForm {
  std::string_view ending{};
  BytesView header{};
};

/// When an object that has the number already is taken for the segment.
enum class SameSegment {
  kEqual,   // it has the same bytes: the answer to an earlier request was lost
  kBegins,  // it begins with these bytes: of the records, the end may be lost since
};

/// Creates the segment of these records under the first free number from `number` on, unless it is there
/// under one of the numbers before that. `number` becomes the number after the segment, or after those that
/// are taken. Returns whether it was not there.
/// \error of the store: then it may be there nonetheless; kAlreadyExists  1,000 numbers in a row are taken
Result<bool> create_segment(const Location& log, const SegmentForm& form, BytesView records, SameSegment same,
                            std::uint64_t& number, const CallOptions& call);

}  // namespace headrace
