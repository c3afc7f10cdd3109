#pragma once

/// \file How `cp -r` and `sync` copy the chains of folders: they arrive byte for byte, existing numbers are
/// never replaced, and a folder that another process owns is left alone. docs/formats/ownership.md, "Copies"

#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "headrace/coordinate/actor.h"
#include "headrace/coordinate/chain.h"
#include "headrace/store/transfer/folder_transfer.h"

namespace headrace {

/// Copies the chains of all folders below `from` to `to`. Memory: the objects of all chains, the manifest
/// that is being published, and 32 bytes for each object that was copied.
class ChainCopies : public Publications {
 public:
  /// The caller keeps `options`, and everything that they refer to, alive. `actor`: named in the tombstones
  /// that removals leave.
  ChainCopies(Location from, Location to, const FolderTransferOptions& options, Actor actor)
      : from_(std::move(from)), to_(std::move(to)), options_(options), actor_(std::move(actor)) {}

  bool take(ObjectPair& pair) override;
  /// \error kFailedPrecondition  the folder at `to` is an output of its own, or was removed: the message says
  ///                             whose it is, and what to do
  Status check() override;
  Result<bool> has_any() override;
  Result<bool> is_part(std::string_view name, bool is_at_to) override;
  void copied(std::string_view name, std::optional<std::uint32_t> crc32c) override;
  /// \error kAborted  `from` was changed meanwhile, so that `to` lacks a part of what it publishes; or
  ///                  another process works at `to`, and has taken a number first
  Status publish(const std::function<void(const TransferredObject&)>& report) override;
  Result<std::vector<TransferredObject>> superfluous() override;
  Result<bool> must_stay(std::string_view name) override;
  Status before_removal() override;

 private:
  using Chain = std::map<std::uint64_t, ObjectPair>;
  using Report = std::function<void(const TransferredObject&)>;
  enum class Need { kNone, kNow, kLater };  // whether `to` needs an object of a chain, and when

  Result<bool> is_same(const ObjectPair& pair);
  Status compare(const std::string& folder, Chain& chain);
  Status check_numbers_of_another(const std::string& folder, const Chain& chain,
                                  const std::vector<std::uint64_t>& numbers);
  using Parts = std::set<std::string, std::less<>>;
  bool may_have_chain(const std::string& folder) const;
  Result<Chain> list_chain(const std::string& folder);
  Result<Parts> parts_of(const std::string& folder);
  Result<Parts> parts_that_stay(const std::string& folder);
  Status add_parts(const Location& object, Parts& parts) const;

  Status publish_chain(const std::string& folder, Chain& chain, const Report& report);
  Status look_for_tombstone(const std::string& folder, Chain& chain);
  Status publish_number(const std::string& folder, std::uint64_t number, Chain& chain,
                        std::vector<std::uint64_t>* held, const Report& report);
  Result<Need> need_of(const std::string& folder, std::uint64_t number, const Chain& chain, BytesView data);
  Status check_parts(const std::string& folder, std::uint64_t number, const Manifest& manifest);
  Status check_part(const std::string& folder, const ManifestPart& part);
  Status create(const std::string& folder, std::uint64_t number, Chain& chain, const ReadObject& read,
                const Report& report);
  Status check_end(const std::string& folder, Chain& chain);
  Status check_created(const std::string& folder, std::uint64_t number, Chain& chain, BytesView data);

  Error changed(const std::string& folder, std::uint64_t number, const std::string& why) const;
  Error own_output(const std::string& folder, std::uint64_t number) const;

  const Location from_, to_;
  const FolderTransferOptions& options_;
  const Actor actor_;

  std::map<std::string, Chain> chains_;  // by folder
  std::set<std::string> removed_;        // folders whose chain in `from` ends in a tombstone
  std::set<std::string> ending_;         // folders at `to` that are removed with everything published there
  std::set<std::string> superfluous_;    // names of the objects of chains that are removed at `to`
  bool all_listed_ = false;
  std::set<std::string> whole_parts_;  // checked parts of the chain that is being published

  std::mutex mutex_;                                            // guards the following
  std::unordered_map<std::uint64_t, std::uint32_t> checksums_;  // CRC32C by the hash of the name
  std::map<std::string, Parts> parts_;                          // folder → parts that its chains name
  std::map<std::string, Parts> staying_;  // folder → parts that its chain at `to` names after a removal
};

}  // namespace headrace
