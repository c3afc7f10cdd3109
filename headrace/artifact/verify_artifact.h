#pragma once

/// \file Compares versions of artifacts with the objects that are there now.

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

/// Checks versions of the artifacts below one tracking root, one after another.
///
/// References are not read. They are looked up in listings of their folders. If the store's version of an
/// object has changed, its checksum is asked for, and the reference counts as changed unless both checksums
/// are known and equal. Contents are read, each once, eight at a time. Not thread-safe.
class ArtifactVerifier {
 public:
  using Advance = std::function<void(std::uint64_t)>;

  /// `advance` is called with the number of bytes that were read, from any thread. `checks_references`: false
  /// skips references, because they may change without damage. `registry` must outlive the verifier.
  ArtifactVerifier(StoreRegistry& registry, Location root, CallOptions call, Advance advance = {},
                   bool checks_references = true)
      : registry_(registry),
        root_(std::move(root)),
        call_(std::move(call)),
        advance_(std::move(advance)),
        checks_references_(checks_references) {}

  /// Checks one version; adds problems to `bad`.
  /// \error of the stores, if they prevent an answer; kCancelled
  Status verify(std::string_view name, std::uint64_t number);
  /// Checks all versions of an artifact and its aliases. \error as `verify`
  Status verify_all(std::string_view name);
  /// Checks that the log of aliases can be read, and that the versions that it names exist. \error as
  /// `verify`
  Status verify_aliases(std::string_view name);

  /// The problems found so far, and how many entries and versions were checked.
  const std::vector<BadEntry>& bad() const { return bad_; }
  std::uint64_t entries() const { return entries_; }
  std::uint64_t versions() const { return versions_; }

 private:
  Status verify_references(const std::vector<ArtifactEntry>& entries);
  Status verify_contents(const std::vector<ArtifactEntry>& entries);
  Status report_or_return(std::string_view path, std::string url, const Error& error);
  void report(std::string_view path, std::string url, std::string problem);

  StoreRegistry& registry_;
  const Location root_;
  const CallOptions call_;
  const Advance advance_;
  const bool checks_references_;
  std::string artifact_;                         // the artifact or version that is being checked
  std::set<std::string, std::less<>> verified_;  // digests of contents that are undamaged
  std::vector<BadEntry> bad_;
  std::uint64_t entries_ = 0;
  std::uint64_t versions_ = 0;
};

}  // namespace headrace
