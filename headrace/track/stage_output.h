#pragma once

/// \file The output folder of a stage: how to begin there, publish in it, and remove what a new result has
/// replaced. All stages do these things through this file. docs/formats/ownership.md

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/coordinate/chain.h"
#include "headrace/store/location.h"
#include "headrace/track/published_folder.h"

namespace headrace {

/// Keys where stages kept the configuration of an output before outputs had chains. Still read.
inline constexpr std::string_view kPlanKey = "_headrace/plan";
inline constexpr std::string_view kConfigurationKey = "_headrace/configuration";

/// Describes the outputs of a stage. Patterns are keys below the output, with these special characters: '#'
/// is a decimal digit (the last '#' of several in a row may stand for more digits, because numbers grow); '%'
/// is a lower-case hexadecimal digit; '*' is one or more characters other than '/'. A pattern that ends in
/// '/' names everything below.
struct StageOutput {
  /// A folder in which the stage publishes manifests; key "" is the output itself.
  struct Folder {
    std::string_view key;
    std::string_view kind;
    std::string_view other_kind{};  // a kind that may be there instead; empty: none
  };
  std::string_view stage;         // name of its command
  std::string_view former_claim;  // kPlanKey or kConfigurationKey
  std::vector<Folder> folders{};  // a folder comes before those that it depends on
  /// Patterns of all objects that the stage may leave at an output.
  std::vector<std::string> names{};
  /// Patterns of the parts that the owner with entry `number` may have left. Number 0 means the time before
  /// ownership; then `entry` has only the configuration.
  std::function<std::vector<std::string>(std::uint64_t number, const OwnershipEntry& entry)> names_of{};
};

/// Whether a name relative to the output matches a pattern.
bool matches_name(std::string_view pattern, std::string_view name);

/// Removes every object below `output` that matches `pattern`. Cost: a listing of the objects that share the
/// fixed beginning of the pattern.
Status remove_matching(const Location& output, std::string_view pattern);

/// Suffix of object names that distinguishes owners: "" for the first entry of a chain if it begins something
/// new, else "-o<entry>". So a process that was stalled, for however long, cannot overwrite objects of its
/// successors.
std::string owner_suffix(std::uint64_t entry, OwnershipAction action);

/// The state of an output.
struct OutputState {
  ChainState chain{};
  /// The configuration with which the output was begun; none if nothing was begun, or it cannot be read.
  std::optional<Configuration> begun{};
  /// Whether the output was begun with the requested configuration, and is not to be overwritten.
  bool is_own = false;
};

/// The configuration with which `output` was begun, if it can be read; none if nothing was begun, or another
/// stage began it.
Result<std::optional<Configuration>> begun_configuration(const Location& output, const StageOutput& stage);

/// Checks whether the stage may begin or continue at `output`, or start again with `overwrite`. Changes
/// nothing. Call it before long work, so that a refusal comes early.
/// \error kFailedPrecondition  another stage began or published something there; or this stage did so with
///                             another configuration (without `overwrite`); or objects with this stage's
///                             names are there, but nobody owns them (with `overwrite`)
/// \error kInvalidArgument     something of another kind is published in one of `folders`
/// \error kDataLoss            the objects that tell the owner are damaged (without `overwrite`)
Result<OutputState> examine_output(const Location& output, const StageOutput& stage,
                                   const Configuration& configuration, bool overwrite);

/// The last manifest that the output's current generation has published in a folder of the output; none if
/// there is none. `seen`: the chain of the output.
/// \error kAborted  another process has taken the output since `seen`: the message names it
Result<std::optional<PublishedFolder>> published_in(const Location& output, std::string_view folder,
                                                    const ChainState& seen);

/// Whether something was begun at `output` and not removed.
Result<bool> is_begun(const Location& output);

/// The configuration of an output that was published as `published`: from the entry that `published` names,
/// or from the former claim `claim`; none if there is neither.
/// \error kDataLoss  it cannot be read
/// \error kAborted   the output was overwritten or removed meanwhile
Result<std::optional<Configuration>> configuration_of(const Location& output, const Manifest& published,
                                                      std::string_view claim);

/// An output that this process owns. The process may publish in each of the stage's folders until another
/// process takes the output. Not thread-safe.
class OwnedOutput {
 public:
  struct Claim {
    Configuration configuration{};
    Actor actor{};
    OwnershipAction action = OwnershipAction::kBegin;
  };
  /// How a process that found the state `seen` claims the output: it begins, takes over or overwrites.
  static OwnershipAction action_for(const OutputState& seen, bool overwrite);

  /// Appends an entry to the chain of the output, then to the chain of each folder in it. From then on, no
  /// earlier owner can publish. REQUIRES: `seen` is from examine_output
  /// \error kAborted  another process has begun something there since `seen`: the message names it; nothing
  ///                  that is published was changed
  static Result<OwnedOutput> take(const Location& output, const StageOutput& stage, const OutputState& seen,
                                  Claim claim);
  /// Shares an output with the process that took it with the same configuration, if the stage's only folder
  /// is the output itself. All processes that share it make the same bytes. REQUIRES: seen.is_own, and
  /// nothing has been published since
  static OwnedOutput join(const Location& output, const StageOutput& stage, const OutputState& seen);

  const Location& output() const { return output_; }
  std::uint64_t entry() const { return folders_.at("").ownership.entry(); }
  std::uint64_t generation() const { return folders_.at("").ownership.generation(); }
  const std::string& suffix() const { return suffix_; }
  /// Folder for files with fixed names: "" for the first owner of a new output, else "o<entry>".
  std::string files_folder() const { return suffix_.empty() ? "" : suffix_.substr(1); }

  /// The right to publish in a folder of the stage. REQUIRES, here and below: it is one of `stage.folders`,
  /// or "", which is the output itself
  Ownership& in(std::string_view folder);
  const Ownership& in(std::string_view folder) const;
  /// The last manifest that the current generation had published in a folder when the output was taken; none:
  /// nothing.
  Result<std::optional<PublishedFolder>> published(std::string_view folder) const;
  /// The number of that manifest; 0: nothing was published.
  std::uint64_t published_number(std::string_view folder) const;

 private:
  struct OwnedFolder {
    Ownership ownership;
    std::uint64_t published_before = 0;  // number of a manifest of the current generation; 0: none
  };
  OwnedOutput(Location output, const StageOutput& stage) : output_(std::move(output)), stage_(stage) {}

  Status take_folder(const StageOutput::Folder& folder, const Claim& claim);
  Result<bool> overwrites_published(const ChainState& folder) const;

  Location output_;
  StageOutput stage_;
  std::string suffix_{};
  std::map<std::string, OwnedFolder, std::less<>> folders_;
};

/// Keys of all parts that the manifests in the stage's folders name, sorted. Ignores manifests in the
/// output's own chain before `generation`, because they are superseded. Cost: a listing of each chain, and a
/// read of each object in it.
/// \error kDataLoss  a manifest is damaged, so the parts that it names are unknown
Result<std::vector<std::string>> published_parts(const Location& output, const StageOutput& stage,
                                                 std::uint64_t generation, const CallOptions& call = {});

/// Removes objects that are superseded once the owner with entry `entry` has published: from generations
/// before `generation`, the manifests, the parts that they name, the entries, and a former claim; from all
/// earlier owners, the parts that no manifest names. If it is interrupted at any point, the same call
/// continues. Damaged manifests of earlier generations are removed like others. While a manifest of this
/// generation is damaged, the unpublished parts of earlier owners stay, and so do the entries that tell their
/// names. Cost: a listing of each folder's chain, and a read; if there were earlier owners, also a listing of
/// the output, and reads of its manifests.
Status remove_superseded(const Location& output, const StageOutput& stage, std::uint64_t generation,
                         std::uint64_t entry);

}  // namespace headrace
