#pragma once

/// \file A place for the outputs of a stage that nobody needs once the process has ended.

#include <string>

#include "headrace/store/location.h"
#include "headrace/store/staging.h"

namespace headrace {

/// A temporary folder and, in it, the folder `output` of a store. Movable; the location is of no use without
/// the scratch.
struct Scratch {
  StagedFolder folder;
  Location output;
};

/// Objects of the store are not synced to the disk.
/// \error as StagedFolder::create
Result<Scratch> make_scratch(const std::string& root);

}  // namespace headrace
