#pragma once

/// \file Records which versions of objects in two folders hold the same bytes, so that they need not be
/// copied or compared again. Format: docs/formats/transfer-journal.md.

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

/// Thread-safe. Memory: 32 bytes for each line of the file and for each pair of versions seen.
class TransferJournal {
 public:
  using Time = std::chrono::system_clock::time_point;

  /// Reads the journal of these two folders in `cache`, a folder on this machine, which is made if missing.
  /// An unreadable journal is replaced by an empty one. Removes journals in `cache` that were not opened for
  /// 90 days before `now`.
  /// \error kInvalidArgument  `cache` is not a folder on this machine
  /// \error kUnavailable      the journal cannot be opened for writing
  /// \error                   as for Store::write, if the journal cannot be created
  static Result<std::unique_ptr<TransferJournal>> open(const Location& cache, const Location& from,
                                                       const Location& to, Time now);

  /// Whether these versions of `name` were known to hold the same bytes when the journal was opened.
  bool knows(std::string_view name, const ObjectInfo& at_from, const ObjectInfo& at_to);

  /// Records that these versions of `name` hold the same bytes, for the next reader of the journal. Does not
  /// record files on this machine that were written less than three seconds before the journal was opened, or
  /// later: another write within the same tick of the clock would give the same version. Ignores a failure
  /// to write the line.
  void add(std::string_view name, const ObjectInfo& at_from, const ObjectInfo& at_to);
  /// As `add`, but records `at_to` whatever its time, because the caller has just written it as a copy of
  /// `at_from`.
  void add_copy(std::string_view name, const ObjectInfo& at_from, const ObjectInfo& at_to);

  /// Drops the entries that, since the journal was opened, were neither confirmed by `knows` nor recorded by
  /// `add` or `add_copy`. Does nothing if that would leave half of the entries or more.
  /// \error as for Store::write
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
