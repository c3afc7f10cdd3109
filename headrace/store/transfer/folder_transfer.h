#pragma once

/// \file A folder of objects from any store to any store: copying it, and making one like another.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "headrace/store/transfer/transfer_journal.h"

namespace headrace {

/// Which objects are the same on both sides already, and so are not copied. Other than kNone: of an object
/// that an earlier run was writing, what is the same is not sent again (WriteOptions::resumes).
enum class SameObjects {
  kNone,      // all are copied
  kKnown,     // of one size, and the same by the journal; what it knows nothing of is read on both sides
  kByReading  // of one size, and the same bytes when both are read
};

enum class TransferStep { kCopied, kSame, kRemoved };

/// What was done with one object; in a dry run: would be.
struct TransferredObject {
  TransferStep step = TransferStep::kCopied;
  std::string name{};
  std::uint64_t size_bytes = 0;
  std::optional<std::uint32_t> crc32c{};  // of what was read to be copied
};

struct TransferCount {
  std::uint64_t objects = 0;
  std::uint64_t bytes = 0;
};

struct TransferProgress {
  TransferCount done;   // copied, or found to be the same by reading
  TransferCount total;  // nothing while not all is listed
};

struct TransferTotals {
  TransferCount copied;
  TransferCount same;
  TransferCount removed;
};

struct FolderTransferOptions {
  SameObjects same = SameObjects::kNone;
  /// Fail where an object is to be replaced.
  bool only_if_absent = false;
  /// Read each copy again and compare.
  bool verify = false;
  /// Remove what lies in `to` and not in `from`, once all is copied.
  bool removes_others = false;
  /// Read and report only; `to` stays as it is.
  bool is_dry_run = false;
  /// Objects copied at once: those of up to kPieceBytes; larger ones, which take 64 MiB each and what the
  /// stores buffer, four at most.
  int jobs = 16;
  /// Only names that begin so, and of these those it says yes to; both sides. Empty: all.
  std::string name_prefix{};
  std::function<bool(std::string_view name)> selects{};
  /// Order of appearance: objects of a higher rank (1, 2) are copied after all of lower rank, and removed
  /// before them. Empty: all have rank 0.
  std::function<int(std::string_view name)> rank{};
  /// Borrowed; may be null.
  TransferJournal* journal = nullptr;
  CallOptions call{};
  /// From any thread; may be empty.
  std::function<void(const TransferredObject&)> report{};
  std::function<void(const TransferProgress&)> progress{};
  /// Asked before anything is removed; its error ends the transfer. May be empty.
  std::function<Status(const TransferCount&)> confirm_removal{};
};

/// Copies what lies below `from` to the same names below `to`; each object is one version, whole, at its
/// target or is not there. Reports as it goes. A run that was ended by anything goes on where it was if it is
/// started again with the same journal and `same`; an object that was being copied too, where the store can.
/// \error kNotFound            nothing lies below `from`, by that prefix and selection
/// \error kInvalidArgument     one folder lies in the other, so that one would change while it is read
/// \error kFailedPrecondition  what would be removed may lie behind a symbolic link in `from`
/// \error kResourceExhausted   more than a million objects would be removed
/// \error those of transfer_object, whichever comes first; what is being copied then is finished
Result<TransferTotals> transfer_folder(const Location& from, const Location& to,
                                       const FolderTransferOptions& options);

}  // namespace headrace
