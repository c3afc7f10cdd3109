#pragma once

/// \file The output folder of a stage: the one way to begin there, and to remove its objects.

#include <string>
#include <string_view>
#include <vector>

#include "headrace/store/location.h"
#include "headrace/track/configuration.h"

namespace headrace {

/// Where stages keep what an output was begun with: one of them is the `claim` of each.
inline constexpr std::string_view kPlanKey = "_headrace/plan";
inline constexpr std::string_view kConfigurationKey = "_headrace/configuration";

/// Names are keys below the output. In them '#' stands for a decimal digit (of several in a row the last may
/// be repeated, as numbers grow), '%' for a lower-case hexadecimal one, '*' for any characters but '/', one
/// at least; one that ends in '/' names all below.
struct StageOutput {
  /// A folder that the stage publishes by manifests; key "" for the output itself.
  struct Folder {
    std::string_view key;
    std::string_view kind;
    std::string_view other_kind{};  // that may be there instead; empty: none
  };
  std::string_view stage;            // as its command is called
  std::string_view claim;            // the configuration that it keeps: see configuration.h
  std::vector<Folder> folders{};     // a folder comes before those that it depends on
  std::vector<std::string> names{};  // what may be there without a manifest that names it
};

bool matches_name(std::string_view pattern, std::string_view name);

/// Removes every object below `output` that `pattern` names. Cost: a list of what begins as the pattern does.
Status remove_matching(const Location& output, std::string_view pattern);

/// Whether the stage may begin or continue at `output`, or with `overwrite` start again. Changes nothing:
/// call it before long work, so that a refusal comes early.
/// \error kFailedPrecondition  another stage began or published something there; or this one, with another
///                             configuration (not with `overwrite`); or, with `overwrite`, objects of its
///                             names lie there, but no claim of it
Status check_output(const Location& output, const StageOutput& stage, const Configuration& configuration,
                    bool overwrite);

/// The same, then makes the output the stage's own by creating its claim, or finding it there. With
/// `overwrite`, before that, removes what the stage left: manifests, the parts that they named, `names`, the
/// claim; so whatever is found after an interruption at any place is whole, or is known to be unfinished, and
/// the same call goes on. Nothing else is touched: neither other files nor the record of runs. A damaged
/// manifest or claim is removed like a good one. Call it once everything that may be wrong with input and
/// options was looked at, before the first object that is to stay.
/// \error kInvalidArgument  in one of `folders` something of another kind is published: nothing was removed
Status claim_output(const Location& output, const StageOutput& stage, const Configuration& configuration,
                    bool overwrite);

}  // namespace headrace
