#pragma once

/// \file What is known of two folders: which versions of objects hold the same bytes, so that they need not
/// be copied or compared again. Format: docs/formats/transfer-journal.md.

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

  /// Reads the journal of these two folders in `cache`, a folder of this machine, which is made. Journals
  /// there that were not opened for 90 days before `now` are removed.
  /// \error kInvalidArgument  `cache` is in another store; or what the system says, where the journal cannot
  ///                          be written
  static Result<std::unique_ptr<TransferJournal>> open(const Location& cache, const Location& from,
                                                       const Location& to, Time now);

  /// Are these versions of `name` known to hold the same bytes? As of when the journal was opened.
  bool knows(std::string_view name, const ObjectInfo& at_from, const ObjectInfo& at_to);

  /// They do: whoever opens the journal from now on knows it. Left out are a line that cannot be written, and
  /// files that were written less than three seconds before the journal was opened, or later: another write
  /// within the tick of the clock that their times are taken from would give the same version.
  void add(std::string_view name, const ObjectInfo& at_from, const ObjectInfo& at_to);
  /// The same of `at_to` that the caller has just written, a copy of `at_from`, whatever its time.
  void add_copy(std::string_view name, const ObjectInfo& at_from, const ObjectInfo& at_to);

  /// Forgets what neither `knows` nor `add` was asked about, if that is most of it.
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
