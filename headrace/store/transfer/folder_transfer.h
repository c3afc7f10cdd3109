#pragma once

/// \file Copies a folder of objects from any store to any store, or makes one folder equal to another.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/store/transfer/folder_pair.h"
#include "headrace/store/transfer/transfer_journal.h"

namespace headrace {

/// How to recognise objects that are already the same on both sides and need not be copied. Except with
/// kNone, parts of an object that an earlier run has already sent are not sent again
/// (WriteOptions::resumes).
enum class SameObjects {
  kNone,      // recognise none: all are copied
  kKnown,     // same size, and the journal knows that they are the same; if it does not, as kByReading
  kByReading  // same size, and the same bytes when both are read
};

enum class TransferStep { kCopied, kSame, kRemoved };

/// The result for one object. In a dry run: the result that a real run would have.
struct TransferredObject {
  TransferStep step = TransferStep::kCopied;
  std::string name{};
  std::uint64_t size_bytes = 0;
  std::optional<std::uint32_t> crc32c{};  // of the bytes that were read and copied
};

struct TransferCount {
  std::uint64_t objects = 0;
  std::uint64_t bytes = 0;
};

struct TransferProgress {
  TransferCount done;   // copied, or found to be the same by reading
  TransferCount total;  // 0 until all objects are listed
};

struct TransferTotals {
  TransferCount copied;
  TransferCount same;
  TransferCount removed;
};

/// Objects that publish folders. They are copied and removed by rules of their own, which a higher layer
/// implements here. All functions are called from one thread, unless they say otherwise.
class Publications {
 public:
  virtual ~Publications() = default;
  /// Takes the pair if its objects publish a folder. If it returns true, the transfer leaves the pair to this
  /// class; if false, the transfer handles the pair itself.
  virtual bool take(ObjectPair& pair) = 0;
  /// Called after all objects are listed and before the last ones are copied. An error ends the transfer.
  virtual Status check() = 0;
  /// Whether any pair that was taken has an object in `from` to be copied.
  virtual Result<bool> has_any() = 0;
  /// Whether a publication in `from` or at `to` names the object `name`. Such an object is created only if it
  /// is absent, and is never replaced. `is_at_to`: the object was listed at `to`. Called from any thread.
  /// \error kFailedPrecondition  the folder at `to` belongs to another publication
  virtual Result<bool> is_part(std::string_view name, bool is_at_to) = 0;
  /// Called when `name` was copied. `crc32c` is set if its bytes were read. Called from any thread.
  virtual void copied(std::string_view name, std::optional<std::uint32_t> crc32c) = 0;
  /// Publishes at `to`, after all other objects are copied. In a dry run, it only reports.
  virtual Status publish(const std::function<void(const TransferredObject&)>& report) = 0;
  /// The objects of `to` that were taken and must be removed before all others.
  virtual Result<std::vector<TransferredObject>> superfluous() = 0;
  /// Whether a publication that stays at `to` names the object `name`. Called after `superfluous`.
  virtual Result<bool> must_stay(std::string_view name) = 0;
  /// Called after confirm_removal, before any object is removed. Not called in a dry run.
  virtual Status before_removal() = 0;
};

struct FolderTransferOptions {
  SameObjects same = SameObjects::kNone;
  /// Fail with kAlreadyExists if an object would be replaced.
  bool only_if_absent = false;
  /// Read each copy again, and compare it with the source.
  bool verify = false;
  /// After everything is copied, remove the objects in `to` that are not in `from`.
  bool removes_others = false;
  /// Only read and report; change nothing in `to`.
  bool is_dry_run = false;
  /// How many objects of up to kPieceBytes are copied at once. At most four larger ones are copied at once;
  /// each takes 64 MiB and the stores' buffers.
  int jobs = 16;
  /// Consider only names, on either side, that begin with this prefix and that `selects` accepts. Empty: all
  /// names.
  std::string name_prefix{};
  std::function<bool(std::string_view name)> selects{};
  /// Rank of an object: 0, 1 or 2. Objects of a higher rank are copied after all objects of lower rank, and
  /// removed before them. Empty: all objects have rank 0.
  std::function<int(std::string_view name)> rank{};
  /// Borrowed. May be null: then no object is treated as a publication.
  Publications* publications = nullptr;
  /// Borrowed; may be null.
  TransferJournal* journal = nullptr;
  CallOptions call{};
  /// Called from any thread, but one call at a time. May be empty.
  std::function<void(const TransferredObject&)> report{};
  std::function<void(const TransferProgress&)> progress{};
  /// Called with the number and size of the objects to be removed, before any of them is removed. An error
  /// ends the transfer. Not called in a dry run. May be empty.
  std::function<Status(const TransferCount&)> confirm_removal{};
};

/// Copies the objects below `from` to the same names below `to`. Each object appears at its target whole, as
/// one version, or not at all. Reports each object as soon as it is done. To continue an interrupted run,
/// start it again with the same journal and `same`. It continues even within an object, if the store
/// supports that. The first error ends the transfer, after the copies that are under way.
/// \error kNotFound            no object below `from` has that prefix and is selected
/// \error kInvalidArgument     one folder lies in the other, so that one would change while it is read
/// \error kFailedPrecondition  an object that would be removed may lie behind a symbolic link in `from`; or
///                             an object that a publication names (Publications) would be replaced by other
///                             bytes, or removed
/// \error kResourceExhausted   more than a million objects would be removed
/// \error                      as for transfer_object
Result<TransferTotals> transfer_folder(const Location& from, const Location& to,
                                       const FolderTransferOptions& options);

}  // namespace headrace
