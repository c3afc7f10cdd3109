#pragma once

/// \file Chains. Each output has one chain of create-only, numbered objects below `_headrace/manifest-`. It
/// contains ownership entries and manifests. A process that publishes must win the next number, and a process
/// that has lost its output finds that number taken. Format: docs/formats/ownership.md.

#include <cstdint>
#include <optional>
#include <string>

#include "headrace/coordinate/ownership_entry.h"
#include "headrace/record/manifest.h"
#include "headrace/store/location.h"
#include "headrace/store/numbered.h"

namespace headrace {

/// The state of a chain when it was read.
struct ChainState {
  std::uint64_t last = 0;       // the highest number; 0: the chain is empty
  std::uint64_t entry = 0;      // number of the entry in force; 0: none
  OwnershipEntry owner{};       // that entry
  std::uint64_t published = 0;  // number of the manifest that readers use; 0: none
  /// Why the last object, or the entry that it names, cannot be understood. Then all other members except
  /// `last` have their defaults: nothing is published.
  std::optional<Error> damage{};

  std::uint64_t generation() const { return owner.generation; }
  /// Number of the last manifest that the present generation has published; 0: none.
  std::uint64_t published_now() const { return published > generation() ? published : 0; }
  /// Whether the manifest `number` belongs to the present generation or is the one that readers use. Other
  /// manifests are superseded: nobody reads them, and their parts may be gone. In a damaged chain all count.
  bool counts(std::uint64_t number) const;
  /// Whether no process has begun an output since the chain began, or since everything was removed.
  bool is_free() const {
    return !damage && published == 0 && (entry == 0 || owner.action == OwnershipAction::kRemove);
  }
  /// Whether the chain ends in a tombstone.
  bool has_ended() const { return last > 0 && entry == last && owner.action == OwnershipAction::kRemove; }
};

/// Reads the state of a folder's chain. Cost: one listing, and one or two reads.
/// \error kUnimplemented  a newer Headrace wrote the last entry
/// \error of the store
Result<ChainState> read_chain(const Location& folder, const CallOptions& call = {});

/// Reads the manifest or entry with this number; nullopt: it is not there. Cost: one read.
/// \error kResourceExhausted  it is larger than kManifestLimitBytes
Result<std::optional<NumberedObject>> read_number(const Location& folder, std::uint64_t number,
                                                  const CallOptions& call = {});

/// Reads one entry of a chain. Cost: one read.
/// \error kDataLoss  the object is gone, damaged, or a manifest
Result<OwnershipEntry> read_entry(const Location& folder, std::uint64_t number, const CallOptions& call = {});

/// Reads the manifest that readers use; nullopt: nothing is published. Cost: one listing, and one read, or
/// two while a process overwrites or continues the output.
/// \error kDataLoss           the chain is damaged, or names a manifest that is gone
/// \error kResourceExhausted  the manifest is larger than kManifestLimitBytes
Result<std::optional<NumberedObject>> read_current_manifest(const Location& folder,
                                                            const CallOptions& call = {});

/// A manifest that was published.
struct Published {
  std::uint64_t number = 0;
  std::string digest;  // SHA-256 (hex) of the manifest
};

/// The right to publish in a folder. A value. It is lost when another process appends to the chain; `publish`
/// and `check_held` detect that. Not thread-safe.
class Ownership {
 public:
  /// Takes ownership: appends `entry`, after setting its `generation` and `published` according to its
  /// action. The new number may be one that was removed long ago; only `check_held` detects that.
  /// Cost: one write.
  /// \error kAborted            another process has appended since `seen` was read: read the chain again
  /// \error kResourceExhausted  the entry would be larger than kOwnershipEntryLimitBytes
  static Result<Ownership> take(const Location& folder, const ChainState& seen, OwnershipEntry entry,
                                const CallOptions& call = {});
  /// Shares the ownership that another process has taken. `entry` is the number of its entry, `last` the last
  /// number that was used.
  Ownership(Location folder, std::uint64_t entry, std::uint64_t generation, std::uint64_t last)
      : folder_(std::move(folder)), entry_(entry), generation_(generation), last_(last) {}

  const Location& folder() const { return folder_; }
  std::uint64_t entry() const { return entry_; }
  std::uint64_t generation() const { return generation_; }
  std::uint64_t last() const { return last_; }

  /// Checks that no other process has appended to the chain. Cost: one listing.
  /// \error kAborted  another process owns the folder now; the message names it
  Status check_held(const CallOptions& call = {}) const;

  /// Publishes `manifest`, after setting its `entry`, under the next number. If a process that shares this
  /// ownership has already published the same plan and parts there, this succeeds. Cost: one write and one
  /// listing.
  /// \error kAborted            another process owns the folder now; the message names it. Nothing was
  ///                            published
  /// \error kResourceExhausted  the manifest would be larger than kManifestLimitBytes
  Result<Published> publish(Manifest manifest, const CallOptions& call = {});

 private:
  Location folder_;
  std::uint64_t entry_ = 0;
  std::uint64_t generation_ = 0;
  std::uint64_t last_ = 0;
};

/// The error for a process whose next number another process has taken. Reads who that is.
Error lost_output(const Location& folder, std::uint64_t number, const CallOptions& call = {});

}  // namespace headrace
