#pragma once

/// \file Copies a folder of objects from any store to any store, or makes one like another.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/store/transfer/folder_pair.h"
#include "headrace/store/transfer/transfer_journal.h"

namespace headrace {

/// How to recognise objects that are already the same on both sides, which are not copied. Except with kNone,
/// the parts of an object that an earlier run has already sent are not sent again (WriteOptions::resumes).
enum class SameObjects {
  kNone,      // all are copied
  kKnown,     // of one size, and the same by the journal; what it knows nothing of is read on both sides
  kByReading  // of one size, and the same bytes when both are read
};

enum class TransferStep { kCopied, kSame, kRemoved };

/// The result for one object; in a dry run, what the result would be.
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

/// Objects that publish folders. They are not copied and removed as others are, but by rules of their own,
/// which are known above this layer. Called from one thread, unless it says otherwise.
class Publications {
 public:
  virtual ~Publications() = default;
  /// Takes the pair if its objects publish a folder: then it is theirs alone, and false is returned
  /// otherwise.
  virtual bool take(ObjectPair& pair) = 0;
  /// Called once all is listed, before the last objects are copied: its error ends the transfer.
  virtual Status check() = 0;
  /// Whether any pair that was taken has something in `from` to be copied.
  virtual Result<bool> has_any() = 0;
  /// Whether something that is published, in `from` or at `to`, names the object `name`: then it is created
  /// only if absent, and stays as it is. `is_at_to`: it was listed there. From any thread.
  /// \error kFailedPrecondition  the folder at `to` is somebody else's
  virtual Result<bool> is_part(std::string_view name, bool is_at_to) = 0;
  /// `name` was copied; `crc32c` is that of its bytes, if they were read. From any thread.
  virtual void copied(std::string_view name, std::optional<std::uint32_t> crc32c) = 0;
  /// Publishes at `to`, once all else is copied; in a dry run, only reports.
  virtual Status publish(const std::function<void(const TransferredObject&)>& report) = 0;
  /// The objects of `to` that were taken and are to be removed before all others.
  virtual Result<std::vector<TransferredObject>> superfluous() = 0;
  /// Called after `superfluous`. Whether something that stays published at `to` names the object `name`.
  virtual Result<bool> must_stay(std::string_view name) = 0;
  /// Called after confirm_removal, before anything is removed.
  virtual Status before_removal() = 0;
};

struct FolderTransferOptions {
  SameObjects same = SameObjects::kNone;
  /// Fail if an object would be replaced.
  bool only_if_absent = false;
  /// Read each copy again and compare.
  bool verify = false;
  /// Remove objects that lie in `to` and not in `from`, once everything is copied.
  bool removes_others = false;
  /// Read and report only; `to` stays as it is.
  bool is_dry_run = false;
  /// How many objects of up to kPieceBytes are copied at once. At most four larger ones are copied at once;
  /// each takes 64 MiB and the stores' buffers.
  int jobs = 16;
  /// Only names on either side that begin with this prefix and that the selection accepts. Empty: all.
  std::string name_prefix{};
  std::function<bool(std::string_view name)> selects{};
  /// Order of appearance: objects of a higher rank (1, 2) are copied after all of lower rank, and removed
  /// before them. Empty: all have rank 0.
  std::function<int(std::string_view name)> rank{};
  /// Borrowed; may be null: then all objects are alike.
  Publications* publications = nullptr;
  /// Borrowed; may be null.
  TransferJournal* journal = nullptr;
  CallOptions call{};
  /// From any thread; may be empty.
  std::function<void(const TransferredObject&)> report{};
  std::function<void(const TransferProgress&)> progress{};
  /// Asked before anything is removed; its error ends the transfer. May be empty.
  std::function<Status(const TransferCount&)> confirm_removal{};
};

/// Copies the objects below `from` to the same names below `to`; each object appears at its target as one
/// version, whole, or not at all. Reports as it goes. If it is started again with the same journal and
/// `same`, an interrupted run continues where it was, even within an object if the store supports that.
/// \error kNotFound            nothing below `from` has that prefix and is selected
/// \error kInvalidArgument     one folder lies in the other, so that one would change while it is read
/// \error kFailedPrecondition  an object that would be removed may lie behind a symbolic link in `from`; or
///                             a part of what is published (Publications) would be replaced by other bytes,
///                             or removed
/// \error kResourceExhausted   more than a million objects would be removed
/// \error those of transfer_object; the first error ends the transfer, after the copies under way
Result<TransferTotals> transfer_folder(const Location& from, const Location& to,
                                       const FolderTransferOptions& options);

}  // namespace headrace
