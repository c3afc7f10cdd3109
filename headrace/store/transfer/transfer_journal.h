#pragma once

/// \file The known facts about two folders: which versions of objects hold the same bytes, so that they need
/// not be copied or compared again. Format: docs/formats/transfer-journal.md.

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/os/file_descriptor.h"
#include "headrace/store/location.h"

namespace headrace {

/// Thread-safe. Memory: 16 bytes for each line of the file and each pair of versions seen.
class TransferJournal {
 public:
  using Time = std::chrono::system_clock::time_point;

  /// Reads the journal of these two folders in `cache`, a folder of this machine, which is made if missing.
  /// Removes journals there that were not opened for 90 days before `now`.
  /// \error kInvalidArgument  `cache` is in another store
  /// \error the system's error, if the journal cannot be written
  static Result<std::unique_ptr<TransferJournal>> open(const Location& cache, const Location& from,
                                                       const Location& to, Time now);

  /// Whether these versions of `name` were known to hold the same bytes when the journal was opened.
  bool knows(std::string_view name, const ObjectInfo& at_from, const ObjectInfo& at_to);

  /// Records that they do; the next reader of the journal knows it. Not recorded: a line that cannot be
  /// written, and files that were written less than three seconds before the journal was opened, or later,
  /// because another write within the same tick of the clock would give the same version.
  void add(std::string_view name, const ObjectInfo& at_from, const ObjectInfo& at_to);
  /// The same for `at_to` that the caller has just written as a copy of `at_from`, whatever its time.
  void add_copy(std::string_view name, const ObjectInfo& at_from, const ObjectInfo& at_to);

  /// Forgets all entries that neither `knows` nor `add` was called for, if they are the majority.
  /// \error those of writing a file
  Status forget_unseen();

 private:
  using Line = std::array<char, 32>;

  TransferJournal(Location file, FileDescriptor descriptor, std::vector<Line> known, const Url& from,
                  const Url& to, Time opened)
      : file_(std::move(file)),
        descriptor_(std::move(descriptor)),
        known_(std::move(known)),
        from_(from),
        to_(to),
        opened_(opened) {}

  bool is_settled(const Url& place, const ObjectInfo& object) const;

  const Location file_;
  const FileDescriptor descriptor_;
  const std::vector<Line> known_;  // sorted
  const Url from_, to_;
  const Time opened_;
  std::mutex mutex_;
  std::vector<Line> seen_;
};

}  // namespace headrace
