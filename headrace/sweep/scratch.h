#pragma once

/// \file A temporary place for the outputs of a stage that are not needed after the process ends.

#include <string>

#include "headrace/store/location.h"
#include "headrace/store/staging.h"

namespace headrace {

/// A temporary folder, and the location `output` of a store in it. Movable. The location is valid only as
/// long as the scratch lives.
struct Scratch {
  StagedFolder folder;
  Location output;
};

/// Makes a scratch below the local folder `root`. Its objects are not synced to the disk.
/// \error as StagedFolder::create
Result<Scratch> make_scratch(const std::string& root);

}  // namespace headrace
