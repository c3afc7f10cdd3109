#include "headrace/log/recover_segments.h"

#include <filesystem>
#include <optional>
#include <utility>

#include "headrace/base/text.h"
#include "headrace/base/wire.h"
#include "headrace/log/create_segment.h"
#include "headrace/log/journal.h"

namespace headrace {

namespace {

using OpenUrl = std::function<Result<Location>(const std::string& url)>;

bool parse_head(BytesView payload, SegmentJournalHead& head) {
  WireReader reader(payload);
  for (WireField field; reader.next(field);) {
    if (field.number == 1) head.url = field.as_text();
    if (field.number == 2) head.ending = field.as_text();
    if (field.number == 3) head.header.assign(field.bytes.begin(), field.bytes.end());
    if (field.number == 4) head.owner = field.as_text();
  }
  return !reader.malformed() && !head.url.empty();
}

/// \error kFailedPrecondition  nothing is in the folder
Status check_owner_is_there(const std::string& owner, const OpenUrl& open, const CallOptions& call) {
  HEADRACE_TRY(const Location folder, open(owner));
  bool is_there = false;
  HEADRACE_CHECK(folder.store->list(folder_prefix(folder.key), {.call = call}, [&](const ObjectInfo&) {
    is_there = true;
    return false;
  }));
  if (is_there) return {};
  return Error{
      Code::kFailedPrecondition,
      concat(folder.describe(), " was removed; if its records are not needed, remove the journal, too")};
}

/// The recovery of one journal: writes its records to the store.
class Recovery {
 public:
  Recovery(const LeftJournal& journal, const OpenUrl& open, const CallOptions& call,
           RecoveredSegments& result)
      : journal_(journal), open_(open), call_(call), result_(result) {}

  /// Recovers all files in the order of their numbers. A damaged file stays, and the recovery continues with
  /// the others.
  Status run() {
    Status whole;
    for (const std::uint64_t number : journal_.numbers) {
      const std::string path = journal_path(journal_.folder, number);
      const auto file = read_segment_journal(path);
      if (!file && file.error().code == Code::kDataLoss) {
        whole = file.error();
        continue;
      }
      if (!file && file.error().code != Code::kOutOfRange) return file.error();
      if (file && !file->records.empty()) HEADRACE_CHECK(write(*file, number));
      std::error_code ignored;
      std::filesystem::remove(path, ignored);
    }
    if (whole) remove_journal_folder(journal_.folder);
    return whole;
  }

 private:
  // The segment has the file's number or a later one, so the search for it begins there.
  Status write(const SegmentJournalFile& file, std::uint64_t number) {
    const SegmentJournalHead& head = file.head;
    result_.url = head.url;
    HEADRACE_TRY(const Location log, open_(head.url));
    if (!is_owner_there_ && !head.owner.empty())
      HEADRACE_CHECK(check_owner_is_there(head.owner, open_, call_));
    is_owner_there_ = true;
    HEADRACE_TRY(const bool is_new, create_segment(log, {head.ending, head.header}, file.records,
                                                   SameSegment::kBegins, number, call_));
    if (!is_new) return {};
    ++result_.segments;
    result_.size_bytes += file.records.size();
    return {};
  }

  const LeftJournal& journal_;
  const OpenUrl& open_;
  const CallOptions& call_;
  RecoveredSegments& result_;
  bool is_owner_there_ = false;
};

}  // namespace

Bytes encode_segment_journal_head(const SegmentJournalHead& head) {
  Bytes out;
  WireWriter writer(out);
  writer.text(1, head.url);
  if (!head.ending.empty()) writer.text(2, head.ending);
  if (!head.header.empty()) writer.bytes(3, head.header);
  if (!head.owner.empty()) writer.text(4, head.owner);
  return out;
}

Result<SegmentJournalFile> parse_segment_journal(BytesView file, const std::string& path) {
  HEADRACE_TRY(const JournalPayloads payloads, journal_payloads(file, path));
  SegmentJournalFile parsed;
  if (!parse_head(payloads.head, parsed.head))
    return Error{Code::kDataLoss, concat(path, " is not a journal of a segment log")};
  parsed.size_bytes = payloads.size_bytes;
  for (const BytesView records : payloads.others) append(parsed.records, records);
  return parsed;
}

Result<SegmentJournalFile> read_segment_journal(const std::string& path) {
  HEADRACE_TRY(const Bytes file, read_journal_file(path));
  return parse_segment_journal(file, path);
}

std::vector<RecoveredSegments> recover_segments(const std::string& state, const OpenUrl& open,
                                                const CallOptions& call) {
  std::vector<RecoveredSegments> results;
  visit_left_journals(state, [&](const LeftJournal& journal) {
    RecoveredSegments result{.url = {}, .folder = journal.folder};
    result.status = Recovery(journal, open, call, result).run();
    if (!result.status || !result.url.empty()) results.push_back(std::move(result));
  });
  return results;
}

}  // namespace headrace
