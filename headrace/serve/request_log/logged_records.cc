#include "headrace/serve/request_log/logged_records.h"

#include <algorithm>
#include <deque>
#include <filesystem>
#include <fstream>
#include <utility>

#include "headrace/base/text.h"
#include "headrace/record/tfrecord.h"
#include "headrace/serve/request_log/model_log.h"

namespace headrace {
namespace {

// At most this many files are read, however few records they have.
constexpr std::size_t kFilesMax = 64;

// A piece of a file.
struct Piece {
  Bytes content;
  std::string name;                // name of the file, for the remark
  std::uint64_t offset_bytes = 0;  // above 0: the piece may begin within a record
  bool is_cut = false;             // the piece may end within a record
};

// Which records of a file are kept if it has more than wanted.
enum class KeptRecords { kFirst, kLast };

void add_records(Piece piece, KeptRecords kept, const RecordLimits& limits, LoggedRecords& out) {
  const auto file = std::make_shared<const Bytes>(std::move(piece.content));
  out.files.push_back(file);
  std::size_t begin = 0;
  if (piece.offset_bytes > 0) {
    const auto found = find_next_record(*file, 0);
    if (!found) return;
    begin = *found;
  }
  const std::size_t most = limits.records - out.records.size();
  RecordScanner scanner(BytesView(*file).subspan(begin));
  ScanOutcome outcome = ScanOutcome::kRecord;
  std::deque<BytesView> records;
  std::uint64_t scanned = 0;
  for (BytesView record; kept == KeptRecords::kLast || records.size() < most;) {
    outcome = scanner.next(record);
    if (outcome != ScanOutcome::kRecord) break;
    ++scanned;
    records.push_back(record);
    if (records.size() > most) records.pop_front();
  }
  out.records.insert(out.records.end(), records.begin(), records.end());
  const bool is_cut = outcome == ScanOutcome::kTruncated && piece.is_cut;
  if (outcome == ScanOutcome::kRecord || outcome == ScanOutcome::kEnd || is_cut) return;
  const std::uint64_t place = piece.offset_bytes + begin + scanner.position();
  out.remark = scan_error(outcome, piece.name, place, scanned).message;
}

// Keeps the most recently written files, newest first.
void keep_newest(std::vector<ObjectInfo>& files) {
  std::ranges::sort(files, [](const ObjectInfo& a, const ObjectInfo& b) {
    return a.modified != b.modified ? a.modified > b.modified : a.key > b.key;
  });
  if (files.size() > kFilesMax) files.resize(kFilesMax);
}

Result<std::vector<ObjectInfo>> newest_files(const Location& folder, const CallOptions& call) {
  std::vector<ObjectInfo> files;
  const std::string prefix = folder.key.empty() ? std::string() : folder.key + "/";
  HEADRACE_CHECK(
      folder.store->list(prefix, {.collapse_folders = true, .call = call}, [&](const ObjectInfo& object) {
        if (object.is_folder() || !object.key.ends_with(kRequestLogEnding)) return true;
        files.push_back(object);
        if (files.size() >= 2 * kFilesMax) keep_newest(files);
        return true;
      }));
  keep_newest(files);
  return files;
}

// The object itself, else the files in the model's folder, else the files in the folder.
Result<std::vector<ObjectInfo>> log_files(const Location& place, std::string_view model,
                                          const CallOptions& call) {
  if (!place.key.empty()) {
    auto object = place.store->stat(place.key, call);
    if (object) return std::vector<ObjectInfo>{*std::move(object)};
    if (object.error().code != Code::kNotFound) return std::move(object).error();
  }
  HEADRACE_TRY(std::vector<ObjectInfo> own, newest_files(place.at(model), call));
  if (!own.empty()) return own;
  HEADRACE_TRY(std::vector<ObjectInfo> all, newest_files(place, call));
  if (!all.empty()) return all;
  return Error{Code::kNotFound, concat(place.describe(), " is not a log of requests: it has no file named *",
                                       kRequestLogEnding)};
}

}  // namespace

Result<LoggedRecords> read_record_file(const std::string& path, const RecordLimits& limits) {
  std::error_code failure;
  const std::uint64_t size = std::filesystem::file_size(path, failure);
  if (failure == std::errc::no_such_file_or_directory)
    return Error{Code::kNotFound, concat("there is no file ", path)};
  if (failure) return Error{Code::kPermissionDenied, concat(path, ": ", failure.message())};
  Bytes content(std::min(size, limits.bytes));
  std::ifstream file(path, std::ios::binary);
  file.read(reinterpret_cast<char*>(content.data()), static_cast<std::streamsize>(content.size()));
  if (!file) return Error{Code::kPermissionDenied, concat(path, " cannot be read")};
  LoggedRecords out;
  add_records({.content = std::move(content), .name = path, .is_cut = size > limits.bytes},
              KeptRecords::kFirst, limits, out);
  return out;
}

Result<LoggedRecords> read_newest_records(const Location& place, std::string_view model,
                                          const CallOptions& call, const RecordLimits& limits) {
  HEADRACE_TRY(const std::vector<ObjectInfo> files, log_files(place, model, call));
  LoggedRecords out;
  std::uint64_t left = limits.bytes;
  for (const ObjectInfo& object : files) {
    if (out.records.size() >= limits.records || left == 0) break;
    Piece piece{.content = Bytes(std::min(object.size_bytes, left)),
                .name = place.store->describe(object.key),
                .offset_bytes = object.size_bytes - std::min(object.size_bytes, left)};
    HEADRACE_TRY(const ReadResult read,
                 place.store->read_into(object.key, piece.content,
                                        {.offset_bytes = piece.offset_bytes, .call = call}));
    piece.content.resize(read.bytes_read);
    piece.is_cut = piece.offset_bytes + read.bytes_read < read.object.size_bytes;
    left -= piece.content.size();
    add_records(std::move(piece), KeptRecords::kLast, limits, out);
  }
  return out;
}

}  // namespace headrace
