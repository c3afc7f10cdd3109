#pragma once

/// \file Files of this machine that hold what is not in the store yet, so that a kill of the process loses
/// nothing: docs/formats/journal.md.

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "headrace/base/bytes.h"
#include "headrace/base/result.h"
#include "headrace/os/file_descriptor.h"

namespace headrace {

/// Removes the folder of a journal that is no longer needed. A kill meanwhile leaves a folder that
/// `visit_left_journals` removes. REQUIRES: the caller has the folder's lock
void remove_journal_folder(const std::string& folder);

/// The files of one writer, one for each segment of its log, in a folder with a lock that is held as long as
/// this lives. A file is a sequence of payloads, the first of which is the head. Not thread-safe.
class Journal {
 public:
  /// Makes the folder, and those above it, for this user alone.
  /// \param head          the first payload of each file
  /// \param first_number  of the first file
  /// \error kAlreadyExists  it is there; kPermissionDenied, kResourceExhausted  of the disk
  static Result<Journal> create(std::string folder, Bytes head, std::uint64_t first_number = 0);

  /// Appends a payload to the current file, which it makes if there is none. When it returns, a kill of this
  /// process does not lose the payload. Does not wait for the disk.
  /// \error kResourceExhausted, kPermissionDenied  of the disk: nothing of the payload is kept
  /// REQUIRES: the payload has less than 4 GiB
  Status append(BytesView payload);
  /// Size of the current file.
  std::uint64_t file_bytes() const { return file_bytes_; }
  /// Size of all files.
  std::uint64_t held_bytes() const { return held_bytes_; }
  /// The next payload goes to another file. Returns the number of the one that is done.
  /// REQUIRES: file_bytes() > 0
  std::uint64_t end_file();
  /// Number of the current file.
  std::uint64_t number() const { return number_; }

  std::string path(std::uint64_t number) const;
  /// Size of a file that was ended.
  std::uint64_t size_bytes(std::uint64_t number) const { return sizes_.at(number); }
  /// Removes a file that was ended, once its segment is in the store.
  void remove(std::uint64_t number);
  /// As remove_journal_folder.
  void remove_all() { remove_journal_folder(folder_); }
  const std::string& folder() const { return folder_; }

 private:
  Journal(std::string folder, Bytes head, std::uint64_t first_number, FileDescriptor lock)
      : folder_(std::move(folder)), head_(std::move(head)), lock_(std::move(lock)), number_(first_number) {}
  Status write_frame(BytesView payload);

  std::string folder_;
  Bytes head_;
  FileDescriptor lock_;
  FileDescriptor file_;
  std::uint64_t number_ = 0;
  std::uint64_t file_bytes_ = 0;
  std::uint64_t held_bytes_ = 0;
  std::map<std::uint64_t, std::uint64_t> sizes_;  // of ended files, by number
};

/// Largest file that is read: far more than a journal may hold.
inline constexpr std::uint64_t kJournalFileLimitBytes = std::uint64_t{2} << 30;

/// \error kNotFound  there is no such file; kResourceExhausted  it has more than kJournalFileLimitBytes;
/// kUnavailable  it cannot be read now: of the disk, or too many files are open
Result<Bytes> read_journal_file(const std::string& path);

/// The payloads of a file, up to the first frame that is cut off or damaged. Views of its bytes.
struct JournalPayloads {
  BytesView head;
  std::vector<BytesView> others;
  std::size_t size_bytes = 0;  // of the frames
};

/// \param path  for messages
/// \error kOutOfRange  the file ends in its head: nothing was acknowledged
/// \error kDataLoss    its head is damaged
Result<JournalPayloads> journal_payloads(BytesView file, const std::string& path);

/// A folder whose writer is gone.
struct LeftJournal {
  std::string folder;
  std::vector<std::uint64_t> numbers;  // of its files, ascending
};
/// Visits those below `state`, by name. Each one's lock is held while it is visited, which keeps others away.
/// Removes what a kill has left of folders that were being made or removed.
void visit_left_journals(const std::string& state, const std::function<void(const LeftJournal&)>& visit);

/// Whether the folder of a journal is there, and its writer is gone: it was killed. Holds the lock for a
/// moment.
bool is_writer_gone(const std::string& folder);

/// Path of a file within a journal's folder.
std::string journal_path(const std::string& folder, std::uint64_t number);

}  // namespace headrace
