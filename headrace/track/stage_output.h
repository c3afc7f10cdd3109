#pragma once

/// \file What a stage leaves in its output folder, and the one way to remove it: for `--overwrite`.

#include <string>
#include <string_view>
#include <vector>

#include "headrace/store/registry.h"

namespace headrace {

/// Names are keys below the output. In them '#' stands for a decimal digit (of several in a row the last may
/// be repeated, as numbers grow), '%' for a lower-case hexadecimal one; one that ends in '/' names all below.
struct StageOutput {
  /// A folder that the stage publishes by manifests; key "" for the output itself.
  struct Folder {
    std::string_view key;
    std::string_view kind;
  };
  std::string_view stage;            // as its command is called
  std::string_view claim;            // the configuration that it creates before all else: see configuration.h
  std::vector<Folder> folders{};     // whoever depends on another one comes first
  std::vector<std::string> work{};   // what vouches for other objects: receipts
  std::vector<std::string> names{};  // what may be there without a manifest that names it
};

bool matches_name(std::string_view pattern, std::string_view name);

/// Removes every object below `output` that `pattern` names. Cost: a list of what begins as the pattern does.
Status remove_matching(const Location& output, std::string_view pattern);

/// Removes what the stage left: manifests, `work`, the parts that the manifests named, `names`, the claim; so
/// whatever is found after an interruption at any place is whole, or is known to be unfinished, and the same
/// call goes on. Nothing else is touched: neither other files nor the record of runs. A damaged manifest or
/// claim is removed like a good one. Does nothing where nothing of the kind lies.
/// \error kFailedPrecondition  objects lie there, but no claim of this stage: nothing was removed
/// \error kInvalidArgument     something of another kind is published there: nothing was removed
Status remove_output(const Location& output, const StageOutput& stage);

}  // namespace headrace
