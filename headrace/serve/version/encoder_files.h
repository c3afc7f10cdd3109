#pragma once

/// \file The files of an encoder that is somebody's SavedModel, as a version that ExportCache can fetch.

#include <memory>

#include "headrace/serve/version/wanted_version.h"

namespace headrace {

/// Lists the folder: all its objects belong to the encoder, as its digest in the model's contract has it.
/// They may have changed since the model was trained, or be changing: whoever loads them compares the digest.
/// Cost: one listing.
/// \error kNotFound         there are none
/// \error kInvalidArgument  none is a saved_model.pb; and as checked_version
Result<std::shared_ptr<const WantedVersion>> find_encoder_files(const Location& folder,
                                                                const CallOptions& call);

}  // namespace headrace
