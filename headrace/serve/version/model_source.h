#pragma once

/// \file Follows which versions of one model are wanted: docs/decisions/serving.md, "Which version".

#include <memory>
#include <string>

#include "headrace/serve/version/wanted_version.h"

namespace headrace {

/// Not thread-safe: one thread polls. The versions that `wanted` shares may be used by any thread.
class ModelSource {
 public:
  virtual ~ModelSource() = default;

  /// Looks at the store. True if what is wanted (numbers, digests or labels; not remarks) has changed since
  /// the last poll that succeeded. After an error, what was wanted stays wanted, and the next poll looks for
  /// the same changes again. A version that was wanted is not given up because its successor is not
  /// published yet, or because nothing is there any more; the remarks then say so.
  ///
  /// Cost, if nothing has changed: one request for a named model (whatever the length of its log of aliases),
  /// for a run, and for an export; one more, or three if it is damaged, for each version that is asked for
  /// and not published. One listing for a SavedModel folder; for numbered folders, one of their names and one
  /// of the files of each that is wanted, or newer. A few requests while nothing is there.
  /// \error kInvalidArgument    the place holds something else: a dataset, a checkpoint
  /// \error kResourceExhausted  more than kMostWantedVersions are wanted, or the folder has too many entries
  /// \error kDataLoss           an entry of the aliases, or the export's only manifest, is damaged
  virtual Result<bool> poll(const CallOptions& call) = 0;
  /// As of the last poll that succeeded; empty while there is no model.
  virtual const WantedVersions& wanted() const = 0;
  /// Names the place and what it was found to be, as in "the named model s3://b/models/m".
  virtual std::string describe() const = 0;
};

/// Follows the model in `place`, and polls once. The store tells what the place is:
/// * a named model (models/NAME). The number is that of the version; labels are the aliases. A label keeps
///   its version while its alias names one that is not published;
/// * a run, or its export, or a published copy of one. The number is that of the manifest in the export's
///   chain (docs/formats/ownership.md), so 1 for models that an old Headrace has trained; label "latest";
/// * a folder of folders <integer>/ with a SavedModel of others in each, or one such SavedModel, whose number
///   is 1. Label "latest": the highest. Nobody says when an upload is complete, so a folder counts only when
///   listings at successive polls agree on the names, sizes and versions of all its files, and
///   saved_model.pb, variables/variables.index and all data files that the names announce are there. Two
///   listings have to agree; five where there is no variables/ (the upload may not have come to it), and
///   where the files of an accepted folder were replaced. Assets that come later still are not noticed in
///   time: upload saved_model.pb last.
/// Nothing there yet is no error: nothing is wanted, a remark says why, and a later poll finds it.
/// \error as check_policy, and as `ModelSource::poll`
Result<std::unique_ptr<ModelSource>> open_model_source(const Location& place, const VersionPolicy& policy,
                                                       const CallOptions& call = {});

}  // namespace headrace
