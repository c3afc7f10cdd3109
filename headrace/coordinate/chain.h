#pragma once

/// \file Chains: each output has one, of create-only, numbered objects below `_headrace/manifest-`. Entries
/// of ownership and manifests follow each other in it, so whoever wants to publish has to win the next
/// number, and a process that has lost its output finds it taken. docs/formats/ownership.md

#include <cstdint>
#include <optional>
#include <string>

#include "headrace/coordinate/ownership_entry.h"
#include "headrace/record/manifest.h"
#include "headrace/store/location.h"
#include "headrace/store/numbered.h"

namespace headrace {

/// A chain, as it was read.
struct ChainState {
  std::uint64_t last = 0;       // the highest number; 0: the chain is empty
  std::uint64_t entry = 0;      // number of the entry that is in force; 0: none
  OwnershipEntry owner{};       // that entry
  std::uint64_t published = 0;  // number of the manifest that readers take; 0: none
  /// The object with the highest number, or the entry that it names, cannot be understood. Then the rest
  /// describes a chain in which nothing is published.
  std::optional<Error> damage{};

  std::uint64_t generation() const { return owner.generation; }
  /// Number of the manifest that the present generation has published last; 0: none.
  std::uint64_t published_now() const { return published > generation() ? published : 0; }
  /// Whether the manifest `number` belongs to the present generation, or is the one that readers take. Others
  /// are superseded: nobody reads them, and their parts may be gone.
  bool counts(std::uint64_t number) const;
  /// Whether nobody has begun anything since the chain began, or since everything was removed.
  bool is_free() const {
    return !damage && published == 0 && (entry == 0 || owner.action == OwnershipAction::kRemove);
  }
  /// Whether the chain ends in a tombstone.
  bool has_ended() const { return last > 0 && entry == last && owner.action == OwnershipAction::kRemove; }
};

/// Cost: a list, and one or two reads.
/// \error as the store; kUnimplemented  a newer Headrace wrote the last entry
Result<ChainState> read_chain(const Location& folder, const CallOptions& call = {});

/// A manifest or an entry, as it lies in the chain; none if it is not there. Cost: a read.
/// \error kResourceExhausted  larger than kManifestLimitBytes
Result<std::optional<NumberedObject>> read_number(const Location& folder, std::uint64_t number,
                                                  const CallOptions& call = {});

/// One entry of a chain.
/// \error kDataLoss  it is gone, damaged, or a manifest
Result<OwnershipEntry> read_entry(const Location& folder, std::uint64_t number, const CallOptions& call = {});

/// The manifest that readers take; none if nothing is published. Cost: a list, and a read, or two while
/// somebody overwrites or continues.
/// \error kDataLoss           damaged; or the chain names a manifest that is gone
/// \error kResourceExhausted  larger than kManifestLimitBytes
Result<std::optional<NumberedObject>> read_current_manifest(const Location& folder,
                                                            const CallOptions& call = {});

/// A manifest that was published.
struct Published {
  std::uint64_t number = 0;
  std::string digest;  // SHA-256 (hex) of the manifest
};

/// The right to publish in a folder. A value: it is lost when somebody else appends to the chain, which
/// `publish` finds out. Not thread-safe.
class Ownership {
 public:
  /// Appends `entry`, whose `generation` and `published` are set as its action says. The number may be one
  /// that was removed long ago: `check_held` finds that out. Cost: a write.
  /// \error kAborted  `seen` is not the end of the chain any more: read it again
  static Result<Ownership> take(const Location& folder, const ChainState& seen, OwnershipEntry entry,
                                const CallOptions& call = {});
  /// Shares what another process has taken: `entry` is its number, `last` the number that was used last.
  Ownership(Location folder, std::uint64_t entry, std::uint64_t generation, std::uint64_t last)
      : folder_(std::move(folder)), entry_(entry), generation_(generation), last_(last) {}

  const Location& folder() const { return folder_; }
  std::uint64_t entry() const { return entry_; }
  std::uint64_t generation() const { return generation_; }
  std::uint64_t last() const { return last_; }

  /// Whether the chain still ends as this process has left it. Cost: a list.
  /// \error kAborted  somebody else owns the folder now: names them
  Status check_held(const CallOptions& call = {}) const;

  /// Creates the next number with `manifest`, whose `entry` is set. If a process that shares this ownership
  /// was faster with the same plan and the same parts, that counts as done. Cost: a write, a list.
  /// \error kAborted  somebody else owns the folder now: names them; nothing was published
  Result<Published> publish(Manifest manifest, const CallOptions& call = {});

 private:
  Location folder_;
  std::uint64_t entry_ = 0;
  std::uint64_t generation_ = 0;
  std::uint64_t last_ = 0;
};

/// The error for a process whose next number somebody else has taken.
Error lost_output(const Location& folder, std::uint64_t number, const CallOptions& call = {});

}  // namespace headrace
