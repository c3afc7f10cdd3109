#pragma once

/// \file Writes to the store the records that killed processes have left in the journals of segment logs:
/// docs/formats/journal.md, "Segment logs".

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/store/location.h"

namespace headrace {

/// The folder of the journals of segment logs, below `state_folder`.
inline constexpr std::string_view kSegmentJournals = "/logs";

/// The head of a segment log's journal.
struct SegmentJournalHead {
  std::string url;       // URL of the log
  std::string ending{};  // `ending` and `header` are those of SegmentLogOptions
  Bytes header{};
  std::string owner{};  // URL of a folder (SegmentJournalOptions); empty: the log has no owner
};
Bytes encode_segment_journal_head(const SegmentJournalHead& head);

/// The records of a file, up to the first frame that is cut off or damaged.
struct SegmentJournalFile {
  SegmentJournalHead head;
  Bytes records;
  std::uint64_t size_bytes = 0;  // size of the frames, including the head
};
/// Parses the bytes of a file. `path` is for messages.
/// \error kDataLoss  the file is not a journal of a segment log
/// \error            as for journal_payloads
Result<SegmentJournalFile> parse_segment_journal(BytesView file, const std::string& path);
/// Reads and parses the file at `path`.
/// \error as for read_journal_file and parse_segment_journal
Result<SegmentJournalFile> read_segment_journal(const std::string& path);

struct RecoveredSegments {
  std::string url;  // URL of the log; empty if no file could be read
  std::string folder;
  std::uint64_t segments = 0;    // number of segments that were not in the store before
  std::uint64_t size_bytes = 0;  // size of their records
  Status status{};               // why the rest stays in the journal
};

/// For each journal in the folder `state` whose writer was killed, writes its records to the store. `open`
/// opens a URL. Returns a result for each journal that holds records or fails. A file is removed once its
/// records are in the store, and so is a folder without records. Several processes may do this at once: each
/// journal is handled by one of them. Cost: one request for each segment, or three if the segment was already
/// in the store, and one request for the owner of a log.
std::vector<RecoveredSegments> recover_segments(
    const std::string& state, const std::function<Result<Location>(const std::string& url)>& open,
    const CallOptions& call);

}  // namespace headrace
