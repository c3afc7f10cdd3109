#pragma once

/// \file Compares versions of artifacts with what is there now.

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/artifact/artifact_entry.h"
#include "headrace/artifact/artifact_version.h"
#include "headrace/store/registry.h"

namespace headrace {

struct BadEntry {
  std::string artifact;  // "cats:v3"
  std::string path;      // empty: the version itself, its list of entries, or the log of aliases
  std::string url;
  std::string problem;
};

/// Looks at versions, one after another, of the artifacts below one tracking root.
///
/// References are asked for, not read: by listings of the folders that they lie in; one whose version has
/// changed is asked for its checksum, and counts as changed unless that is known and the same. Contents are
/// read, each once, eight at a time. Not thread-safe.
class ArtifactVerifier {
 public:
  using Advance = std::function<void(std::uint64_t)>;

  /// `advance` is called with bytes that were read, from any thread. `checks_references`: false leaves
  /// references alone, which may change without damage. `registry` must outlive it.
  ArtifactVerifier(StoreRegistry& registry, Location root, CallOptions call, Advance advance = {},
                   bool checks_references = true)
      : registry_(registry),
        root_(std::move(root)),
        call_(std::move(call)),
        advance_(std::move(advance)),
        checks_references_(checks_references) {}

  /// Reads a version and compares it; adds faults to `bad`.
  /// \error of the stores, where nothing can be said; kCancelled
  Status verify(std::string_view name, std::uint64_t number);
  /// All versions of an artifact, and its aliases.
  Status verify_all(std::string_view name);
  /// Reads the last entry of the log of aliases, and whether the versions that it names exist.
  Status verify_aliases(std::string_view name);

  const std::vector<BadEntry>& bad() const { return bad_; }
  std::uint64_t entries() const { return entries_; }
  std::uint64_t versions() const { return versions_; }

 private:
  Status verify_references(const std::vector<ArtifactEntry>& entries);
  Status verify_contents(const std::vector<ArtifactEntry>& entries);
  Status tell_or_return(std::string_view path, std::string url, const Error& error);
  void tell(std::string_view path, std::string url, std::string problem);

  StoreRegistry& registry_;
  const Location root_;
  const CallOptions call_;
  const Advance advance_;
  const bool checks_references_;
  std::string artifact_;                         // that is being looked at
  std::set<std::string, std::less<>> verified_;  // digests of contents that are whole
  std::vector<BadEntry> bad_;
  std::uint64_t entries_ = 0;
  std::uint64_t versions_ = 0;
};

}  // namespace headrace
