#pragma once

/// \file Writes into the store what killed processes have left in the journals of segment logs:
/// docs/formats/journal.md, "Segment logs".

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/store/location.h"

namespace headrace {

/// Where the journals of segment logs lie, below `state_folder`.
inline constexpr std::string_view kSegmentJournals = "/logs";

/// The head of a segment log's journal.
struct SegmentJournalHead {
  std::string url;       // of the log
  std::string ending{};  // as SegmentLogOptions has them
  Bytes header{};
  std::string owner{};  // URL of a folder; empty: none
};
Bytes encode_segment_journal_head(const SegmentJournalHead& head);

/// The records of a file, up to the first frame that is cut off or damaged.
struct SegmentJournalFile {
  SegmentJournalHead head;
  Bytes records;
  std::uint64_t size_bytes = 0;  // of the frames
};
/// \error as journal_payloads; kDataLoss  it is no journal of a segment log
Result<SegmentJournalFile> parse_segment_journal(BytesView file, const std::string& path);
/// The same of the file at `path`. \error and as read_journal_file
Result<SegmentJournalFile> read_segment_journal(const std::string& path);

struct RecoveredSegments {
  std::string url;  // of the log; empty if no file says so
  std::string folder;
  std::uint64_t segments = 0;  // that were not in the store
  std::uint64_t size_bytes = 0;
  Status status{};  // why the rest stays where it is
};

/// Writes into the store what the journals below `state` hold whose writers are gone. Returns one result for
/// each that holds records. A file whose records are in the store is removed, and so is a folder without
/// records. Several processes may do this at once: each journal is one process's. `open` opens a URL. A
/// segment takes one request, and three if it was there already; the owner of a log one more.
std::vector<RecoveredSegments> recover_segments(
    const std::string& state, const std::function<Result<Location>(const std::string& url)>& open,
    const CallOptions& call);

}  // namespace headrace
