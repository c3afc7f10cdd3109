#pragma once

/// \file Puts together a new version of an artifact.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/artifact/artifact_entry.h"
#include "headrace/artifact/artifact_version.h"
#include "headrace/artifact/content.h"
#include "headrace/store/location.h"
#include "headrace/track/run_record.h"

namespace headrace {

/// The entries and properties of a version that is to be logged. Each `add_…` adds all of its objects, or
/// fails and adds none. Not thread-safe.
class ArtifactDraft {
 public:
  /// Makes a draft without entries. `metadata_json`: a JSON object, which readers get back unchanged.
  /// \error kInvalidArgument  the name breaks the rule for run ids, the type is empty or too long, the
  ///                          metadata are no JSON object, or one of their members seems to hold a secret:
  ///                          the message names it
  static Result<ArtifactDraft> make(std::string_view name, std::string_view type,
                                    std::string_view description = "", std::string_view metadata_json = "{}");

  /// Adds an object, or all objects of a folder, by reference. A published folder gives its manifest, the
  /// parts that the manifest names, and the entry of its owner. No data are read, only a manifest. Cost: a
  /// request for an object, a listing for a folder.
  /// \param path  of the object within the artifact, by default the object's name; or of the folder, by
  ///     default the top
  /// \error kNotFound           nothing is there
  /// \error kInvalidArgument    the path is taken, or is a folder of another path; a URL seems to hold a
  ///                            secret; the location is a pattern
  /// \error kDataLoss           a published folder lacks a part
  /// \error kAborted            a published folder was overwritten meanwhile
  /// \error kResourceExhausted  there are more than kMostArtifactEntries
  Status add_reference(const Location& location, std::string_view path = "", const CallOptions& call = {});

  /// Adds an object by content: its bytes are read and kept when the artifact is logged. `path` as in
  /// add_reference. Cost: a request.
  /// \error as add_reference
  Status add_file(const Location& object, std::string_view path = "", const CallOptions& call = {});
  /// Adds all objects of a folder by content. Cost: a listing. \error as add_reference
  Status add_folder(const Location& folder, std::string_view path = "", const CallOptions& call = {});

  const std::string& name() const { return head_.name; }
  std::size_t size() const { return additions_.size(); }
  /// The URLs that were added by reference, as records describe them: at most 64. If there are more, each
  /// store is described once, by the deepest folder that holds all of its URLs.
  std::vector<Artifact> sources() const;

  struct Complete {
    ArtifactVersion version;        // without `number`, `run` and `created`
    std::vector<Content> contents;  // those of the entries, then the list of entries
  };
  /// Reads all objects that were added by content to compute their digests, eight at a time. The result reads
  /// them again.
  /// \error kFailedPrecondition  an object has changed since it was added, or there are no entries
  /// \error kResourceExhausted   the list of entries is larger than kEntryListLimitBytes
  Result<Complete> complete(const CallOptions& call) const;

 private:
  struct Addition {
    ArtifactEntry entry;
    std::optional<Location> kept{};  // for content: where its bytes are
    ObjectInfo object{};
  };

  using Additions = std::map<std::string, Addition, std::less<>>;  // by path

  // The path of another entry that makes `path` impossible; empty: there is none.
  static std::string beside(const Additions& additions, const std::string& path);
  // These functions add to `additions`, which the caller merges into the draft if all went well.
  Status add(std::string path, Addition addition, Additions& additions) const;
  Status add_published(const Location& folder, std::uint64_t manifest, std::string_view path,
                       const CallOptions& call, Additions& additions) const;
  Status add_objects(const Location& folder, std::string_view path, bool by_content, const CallOptions& call,
                     Additions& additions) const;

  ArtifactVersion head_;
  Additions additions_;
  std::vector<Artifact> sources_;
};

}  // namespace headrace
