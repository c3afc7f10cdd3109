#pragma once

/// \file Files of this machine that hold points until they are in the store: docs/formats/metric-segments.md,
/// "Journal".

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "headrace/metrics/segment.h"
#include "headrace/os/file_descriptor.h"

namespace headrace {

struct JournalHead {
  std::string url;  // of the metric log
  std::optional<std::int64_t> from_step{};
};

/// Numbers of metrics, by the order in which a file names them.
class JournalNumbers {
 public:
  std::uint32_t count() const { return static_cast<std::uint32_t>(named_.size()); }
  /// True if it is new: then it is the next number.
  bool add(std::uint32_t metric) {
    if (metric >= numbers_.size()) numbers_.resize(metric + 1, kNone);
    if (numbers_[metric] != kNone) return false;
    numbers_[metric] = count();
    named_.push_back(metric);
    return true;
  }
  std::uint32_t operator[](std::uint32_t metric) const { return numbers_[metric]; }
  /// Forgets those from that number on.
  void cut(std::uint32_t count) {
    for (; named_.size() > count; named_.pop_back()) numbers_[named_.back()] = kNone;
  }

 private:
  static constexpr std::uint32_t kNone = 0xffff'ffff;
  std::vector<std::uint32_t> numbers_;  // by metric
  std::vector<std::uint32_t> named_;    // metrics by their number
};

/// The files of one writer: one for each segment, in a folder with a lock that is held as long as this lives.
/// Not thread-safe.
class Journal {
 public:
  /// Makes the folder, and those above it, for this user alone.
  /// \error kAlreadyExists  it is there; kPermissionDenied, kResourceExhausted  of the disk
  static Result<Journal> create(std::string folder, JournalHead head);

  /// Appends points to the file of the next segment; `names` are all names so far. When it returns, a kill of
  /// this process does not lose them.
  /// \error of the disk: none or some of the points are kept
  Status append(std::span<const std::string> names, std::span<const MetricPoint> points, bool is_end);
  /// So much is in the file of the next segment.
  std::uint64_t file_bytes() const { return file_bytes_; }
  /// So much is in all files.
  std::uint64_t held_bytes() const { return held_bytes_; }
  /// The next points go to another file. Returns the number of the one that is done.
  /// REQUIRES: file_bytes() > 0
  std::uint64_t end_file();

  std::string path(std::uint64_t number) const;
  /// Once its segment is in the store.
  void remove(std::uint64_t number);
  /// Removes the folder, which must be empty of points.
  void remove_all();
  const std::string& folder() const { return folder_; }

 private:
  Journal(std::string folder, JournalHead head, FileDescriptor lock)
      : folder_(std::move(folder)), head_(std::move(head)), lock_(std::move(lock)) {}
  Status write_frame(BytesView payload);
  Status begin_file();

  std::string folder_;
  JournalHead head_;
  FileDescriptor lock_;
  FileDescriptor file_;
  std::uint64_t number_ = 0;
  std::uint64_t file_bytes_ = 0;
  std::uint64_t held_bytes_ = 0;
  std::map<std::uint64_t, std::uint64_t> sizes_;  // of ended files, by number
  JournalNumbers in_file_;
};

/// The content of a file, up to the first frame that is cut off or damaged.
struct JournalFile {
  JournalHead head;
  std::vector<std::string> names;
  std::vector<MetricPoint> points;
  bool is_end = false;
  Bytes digest;  // SHA-256 of the frames
};

/// \error kOutOfRange  it ends in its head: nothing was acknowledged
/// \error kDataLoss    its head is damaged; kNotFound
Result<JournalFile> read_journal_file(const std::string& path);

/// The folders below `state` whose writers are gone, each with its lock, which keeps others away.
struct LeftJournal {
  std::string folder;
  FileDescriptor lock;
  std::vector<std::uint64_t> numbers;  // of its files, ascending
};
std::vector<LeftJournal> left_journals(const std::string& state);

/// Whether the folder of a journal is there, and its writer is gone: it was killed. Holds the lock for a
/// moment.
bool is_writer_gone(const std::string& folder);

/// Path of a file within a journal's folder.
std::string journal_path(const std::string& folder, std::uint64_t number);

}  // namespace headrace
