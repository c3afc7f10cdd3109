#pragma once

/// \file Files on this machine for data that are not in the store yet, so that a kill of the process loses
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

/// Removes the folder of a journal that is no longer needed. If the process is killed during this,
/// `visit_left_journals` removes the rest. REQUIRES: the caller has the folder's lock.
void remove_journal_folder(const std::string& folder);

/// The files of one writer, one for each segment of its log, in a folder whose lock it holds for as long as
/// it lives. A file is a sequence of payloads. The first payload is the head. Not thread-safe.
class Journal {
 public:
  /// Makes the folder, for this user alone, and the folders above it.
  /// \param head          the first payload of each file
  /// \param first_number  the number of the first file
  /// \error kAlreadyExists      the folder exists
  /// \error kResourceExhausted  the disk is full
  /// \error kPermissionDenied   the folder cannot be made for another reason
  static Result<Journal> create(std::string folder, Bytes head, std::uint64_t first_number = 0);

  /// Appends a payload to the current file, and makes that file if there is none. Once the call has returned,
  /// a kill of this process does not lose the payload. A power failure may, because nothing is synced. After
  /// an error, no part of the payload is kept. REQUIRES: the payload is smaller than 4 GiB.
  /// \error kResourceExhausted  the disk is full
  /// \error kPermissionDenied   the file cannot be written for another reason
  Status append(BytesView payload);
  /// Size of the current file.
  std::uint64_t file_bytes() const { return file_bytes_; }
  /// Size of all files.
  std::uint64_t held_bytes() const { return held_bytes_; }
  /// Ends the current file, so that the next payload goes to another file. Returns the number of the ended
  /// file. REQUIRES: file_bytes() > 0.
  std::uint64_t end_file();
  /// Number of the current file.
  std::uint64_t number() const { return number_; }

  std::string path(std::uint64_t number) const;
  /// Size of an ended file.
  std::uint64_t size_bytes(std::uint64_t number) const { return sizes_.at(number); }
  /// Removes an ended file. To be called once its segment is in the store.
  void remove(std::uint64_t number);
  /// Removes the journal's folder with all files. Nothing may be appended afterwards.
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
  std::map<std::uint64_t, std::uint64_t> sizes_;  // sizes of ended files, by number
};

/// Size of the largest file that is read, which is far more than a journal may have.
inline constexpr std::uint64_t kJournalFileLimitBytes = std::uint64_t{2} << 30;

/// Reads a whole file.
/// \error kNotFound           there is no such file
/// \error kResourceExhausted  the file has more than kJournalFileLimitBytes
/// \error kUnavailable        the file cannot be read now: the disk fails, or too many files are open
Result<Bytes> read_journal_file(const std::string& path);

/// The payloads of a file, up to the first frame that is cut off or damaged. They view the file's bytes.
struct JournalPayloads {
  BytesView head;
  std::vector<BytesView> others;
  std::size_t size_bytes = 0;  // size of the frames, including the head
};

/// Parses the bytes of a file. `path` is for messages.
/// \error kOutOfRange  the file ends inside its head: nothing was acknowledged
/// \error kDataLoss    the head is damaged
Result<JournalPayloads> journal_payloads(BytesView file, const std::string& path);

/// The folder of a journal whose writer was killed.
struct LeftJournal {
  std::string folder;
  std::vector<std::uint64_t> numbers;  // numbers of its files, ascending
};
/// Calls `visit` with each such journal in the folder `state`, in the order of their names. The journal's
/// lock is held during the call, so that no other process visits it at the same time. Also removes the rest
/// of folders whose process was killed while it made or removed them.
void visit_left_journals(const std::string& state, const std::function<void(const LeftJournal&)>& visit);

/// Whether the folder of a journal exists and its writer was killed. Holds the lock for a moment.
bool is_writer_gone(const std::string& folder);

/// Path of a file within a journal's folder.
std::string journal_path(const std::string& folder, std::uint64_t number);

}  // namespace headrace
