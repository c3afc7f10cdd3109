#pragma once

/// \file The files of an encoder that is an external SavedModel, as a version that ExportCache can fetch.

#include <memory>

#include "headrace/serve/version/wanted_version.h"

namespace headrace {

/// Lists the folder of an encoder. All its objects belong to the encoder and count for its digest in the
/// model's contract. They may have changed since the model was trained, or be changing now: the caller must
/// compare the digest when it loads them. Cost: one listing.
/// \error kNotFound         the folder has no objects
/// \error kInvalidArgument  there is no saved_model.pb; as checked_version
Result<std::shared_ptr<const WantedVersion>> find_encoder_files(const Location& folder,
                                                                const CallOptions& call);

}  // namespace headrace
