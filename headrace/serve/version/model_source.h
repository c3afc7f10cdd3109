#pragma once

/// \file Follows which versions of one model are wanted: docs/decisions/serving.md, "Which version".

#include <memory>
#include <string>

#include "headrace/serve/version/wanted_version.h"

namespace headrace {

/// A place with versions of a model, and which of them are wanted. Not thread-safe: only one thread may poll.
/// The versions in `wanted` may be used by any thread.
class ModelSource {
 public:
  virtual ~ModelSource() = default;

  /// Looks for changes in the store. Returns true if the wanted numbers, digests or labels (not the remarks)
  /// have changed since the last successful poll. After an error `wanted` does not change, and the next poll
  /// looks for the same changes again. A wanted version is kept while its successor is not yet published, and
  /// also if the place becomes empty; the remarks then say so.
  ///
  /// Cost, if nothing has changed: one request for a named model (whatever the length of its log of aliases),
  /// for a run, and for an export; one more, or three if it is damaged, for each requested version that is
  /// not published. For a SavedModel folder, one listing. For numbered folders, one listing of their names,
  /// and one of the files of each folder that is wanted or newer. While nothing is there, a few requests.
  /// \error kInvalidArgument    the place holds something else, such as a dataset or a checkpoint
  /// \error kResourceExhausted  more than kMostWantedVersions are wanted, or the folder has too many entries
  /// \error kDataLoss           an entry of the aliases, or the only manifest of the export, is damaged
  virtual Result<bool> poll(const CallOptions& call) = 0;
  /// The versions as of the last successful poll; empty while there is no model.
  virtual const WantedVersions& wanted() const = 0;
  /// Names the place and the kind of place, for example "the named model s3://b/models/m".
  virtual std::string describe() const = 0;
};

/// Opens the source of the model in `place`, and polls once. The content of the place decides what it is:
/// * a named model (models/NAME). The numbers are its version numbers; the labels are its aliases. A label
///   keeps its version while its alias names a version that is not published;
/// * a run, its export, or a published copy of an export. The number is that of the manifest in the export's
///   chain (docs/formats/ownership.md): 1 for models trained by an old Headrace. The label is "latest";
/// * a folder of folders <integer>/, each with an external SavedModel, or one external SavedModel, whose
///   number is 1. The label "latest" is the highest number. Nothing marks the end of an upload. A folder
///   counts only when successive polls list the same names, sizes and versions of all its files, and when
///   saved_model.pb, variables/variables.index and all data files that their names announce are there. Two
///   listings must agree; five if there is no variables/ (the upload may not have reached it), or if the
///   files of an accepted folder were replaced. Assets that arrive even later are missed: upload
///   saved_model.pb last.
/// An empty place is not an error: nothing is wanted, a remark says why, and a later poll finds the model.
/// \error as check_policy, and as `ModelSource::poll`
Result<std::unique_ptr<ModelSource>> open_model_source(const Location& place, const VersionPolicy& policy,
                                                       const CallOptions& call = {});

}  // namespace headrace
