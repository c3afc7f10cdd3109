#pragma once

/// \file An artifact that is being put together.

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

/// Each `add_…` adds all of its objects, or fails and adds none. Not thread-safe.
class ArtifactDraft {
 public:
  /// `metadata_json`: a JSON object, which comes back as it is.
  /// \error kInvalidArgument  the name breaks the rule for run ids, there is no type, or no JSON object; a
  ///                          member of the metadata seems to hold a secret: says which
  static Result<ArtifactDraft> make(std::string_view name, std::string_view type,
                                    std::string_view description = "", std::string_view metadata_json = "{}");

  /// Adds an object, or all objects of a folder, by reference. `path`: of the object, by default its name; or
  /// of the folder within the artifact, by default none. Nothing is read but a manifest. Cost: a request for
  /// an object, a listing for a folder.
  /// \error kNotFound         nothing is there
  /// \error kInvalidArgument  a path is there already, or is a folder of another; a URL seems to hold a
  ///                          secret; it is a pattern
  /// \error kDataLoss         a published folder lacks a part
  Status add_reference(const Location& location, std::string_view path = "", const CallOptions& call = {});

  /// Adds an object whose bytes are to be kept. They are read when the artifact is logged.
  /// \error as for add_reference
  Status add_file(const Location& object, std::string_view path = "", const CallOptions& call = {});
  /// The same for all objects of a folder.
  Status add_folder(const Location& folder, std::string_view path = "", const CallOptions& call = {});

  const std::string& name() const { return head_.name; }
  std::size_t size() const { return additions_.size(); }
  /// The URLs that were added by reference, as a record describes them: 64 at most; if there are more, the
  /// deepest folders that hold them.
  std::vector<Artifact> sources() const;

  struct Complete {
    ArtifactVersion version;        // without number, run and time
    std::vector<Content> contents;  // of entries, and the list of entries
  };
  /// Reads what is to be kept to its digests, eight objects at a time.
  /// \error kFailedPrecondition  an object has changed since it was added, or there are no entries
  Result<Complete> complete(const CallOptions& call) const;

 private:
  struct Addition {
    ArtifactEntry entry;
    std::optional<Location> kept{};  // of content: where its bytes are
    ObjectInfo object{};
  };

  using Additions = std::map<std::string, Addition, std::less<>>;  // by path

  // The path because of which there can be no `path`; empty: none.
  static std::string beside(const Additions& additions, const std::string& path);
  // These add to `additions`, which the draft takes over if all went well.
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
