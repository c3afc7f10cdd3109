#pragma once

/// \file Chains of folders that `cp -r` and `sync` copy: they arrive byte for byte, numbers are
/// never replaced, and a folder that somebody else owns is left alone. docs/formats/ownership.md, "Copies"

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

/// The chains of all folders below `from` and `to`. Memory: the objects of all chains, the manifest that is
/// being published, and 32 bytes for each object that was copied.
class ChainCopies : public Publications {
 public:
  /// `options` and what it borrows stay the caller's; `actor` is named where a removal leaves a tombstone.
  ChainCopies(Location from, Location to, const FolderTransferOptions& options, Actor actor)
      : from_(std::move(from)), to_(std::move(to)), options_(options), actor_(std::move(actor)) {}

  bool take(ObjectPair& pair) override;
  /// \error kFailedPrecondition  the folder at `to` is an output of its own, or was removed: whose, and what
  ///                             to do
  Status check() override;
  Result<bool> has_any() override;
  Result<bool> must_stay(std::string_view name) override;
  void copied(std::string_view name, std::optional<std::uint32_t> crc32c) override;
  /// \error kAborted  `from` was changed meanwhile, so that what it publishes is not whole at `to`
  Status publish(const std::function<void(const TransferredObject&)>& report) override;
  Result<std::vector<TransferredObject>> superfluous() override;
  Status before_removal() override;

 private:
  using Chain = std::map<std::uint64_t, ObjectPair>;
  using Report = std::function<void(const TransferredObject&)>;
  enum class Need { kNone, kNow, kLater };  // of an object of a chain, at `to`

  Result<bool> is_same(const ObjectPair& pair);
  Status compare(const std::string& folder, Chain& chain);
  Status check_numbers_of_another(const std::string& folder, const Chain& chain,
                                  const std::vector<std::uint64_t>& numbers);
  Result<std::set<std::string>> parts_at_target(const std::string& folder);

  Status publish_chain(const std::string& folder, Chain& chain, const Report& report);
  Status look_for_tombstone(const std::string& folder, Chain& chain);
  Status publish_number(const std::string& folder, std::uint64_t number, Chain& chain,
                        std::vector<std::uint64_t>* held, const Report& report);
  Result<Need> need_of(const std::string& folder, std::uint64_t number, const Chain& chain, BytesView data);
  Status check_parts(const std::string& folder, std::uint64_t number, const Manifest& manifest);
  Status check_part(const std::string& folder, const ManifestPart& part);
  Status create(const std::string& folder, std::uint64_t number, ObjectPair& pair, const ReadObject& read,
                const Report& report);

  Error changed(const std::string& folder, std::uint64_t number, const std::string& why) const;
  Error own_output(const std::string& folder, std::uint64_t number) const;

  const Location from_, to_;
  const FolderTransferOptions& options_;
  const Actor actor_;

  std::map<std::string, Chain> chains_;  // by folder
  std::set<std::string> removed_;        // folders whose chain in `from` ends in a tombstone
  std::set<std::string> ending_;         // folders at `to` that are removed with all that is published there
  std::set<std::string> whole_parts_;    // of the chain that is being published: parts that were checked

  std::mutex mutex_;                                            // guards the following
  std::unordered_map<std::uint64_t, std::uint32_t> checksums_;  // CRC32C by the hash of the name
  std::map<std::string, std::set<std::string>> published_;  // folder → parts at `to` that its chain names
};

}  // namespace headrace
