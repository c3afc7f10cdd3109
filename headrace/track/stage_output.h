#pragma once

/// \file The output folder of a stage: the one way to begin there, to publish in it, and to remove what a new
/// result has replaced. docs/formats/ownership.md

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

/// Where stages kept what an output was begun with before outputs had chains. Still read.
inline constexpr std::string_view kPlanKey = "_headrace/plan";
inline constexpr std::string_view kConfigurationKey = "_headrace/configuration";

/// Patterns are keys below the output. In them '#' stands for a decimal digit (of several in a row the last
/// may be repeated, as numbers grow), '%' for a lower-case hexadecimal one, '*' for any characters but '/',
/// one at least; one that ends in '/' names all below.
struct StageOutput {
  /// A folder that the stage publishes by manifests; key "" for the output itself.
  struct Folder {
    std::string_view key;
    std::string_view kind;
    std::string_view other_kind{};  // that may be there instead; empty: none
  };
  std::string_view stage;         // as its command is called
  std::string_view former_claim;  // kPlanKey or kConfigurationKey
  std::vector<Folder> folders{};  // a folder comes before those that it depends on
  /// Patterns for all objects that the stage may leave at an output.
  std::vector<std::string> names{};
  /// Patterns for the parts that the owner with entry `number` may have left. `number` 0: of the time before
  /// ownership; then `entry` holds nothing but the configuration.
  std::function<std::vector<std::string>(std::uint64_t number, const OwnershipEntry& entry)> names_of{};
};

bool matches_name(std::string_view pattern, std::string_view name);

/// Removes every object below `output` that `pattern` names. Cost: a list of what begins as the pattern does.
Status remove_matching(const Location& output, std::string_view pattern);

/// The part of an object's name that tells owners apart: "" for the first entry of a chain if it begins
/// something new, else "-o<entry>". So a process that was stalled for any time cannot write what its
/// successors have written.
std::string owner_suffix(std::uint64_t entry, OwnershipAction action);

/// The state of an output.
struct OutputState {
  ChainState chain{};
  /// The configuration that it was begun with; none if nobody began anything, or this cannot be read.
  std::optional<Configuration> begun{};
  /// Whether it was begun with the configuration that was asked for, and is not to be overwritten.
  bool is_own = false;
};

/// The configuration that `output` was begun with, if it can be read; none if nobody began anything, or
/// another stage did.
Result<std::optional<Configuration>> begun_configuration(const Location& output, const StageOutput& stage);

/// Whether the stage may begin or continue at `output`, or with `overwrite` start again. Changes nothing:
/// call it before long work, so that a refusal comes early.
/// \error kFailedPrecondition  another stage began or published something there; or this one, with another
///                             configuration (not with `overwrite`); or, with `overwrite`, objects of its
///                             names lie there, but nobody owns them
/// \error kInvalidArgument     in one of `folders` something of another kind is published
/// \error kDataLoss            what tells the owner is damaged (not with `overwrite`)
Result<OutputState> examine_output(const Location& output, const StageOutput& stage,
                                   const Configuration& configuration, bool overwrite);

/// The manifest that the present generation of the output, whose chain is `seen`, has published last in a
/// folder of the output; none if there is none.
/// \error kAborted  somebody has taken the output since `seen`: names them
Result<std::optional<PublishedFolder>> published_in(const Location& output, std::string_view folder,
                                                    const ChainState& seen);

/// Whether anybody began anything at `output`, and it was not removed.
Result<bool> is_begun(const Location& output);

/// The configuration of an output that is published as `published`: that of the entry which `published`
/// names, or of the former claim `claim`; none if there is neither.
/// \error kDataLoss  it cannot be read
/// \error kAborted   somebody has overwritten or removed the output meanwhile
Result<std::optional<Configuration>> configuration_of(const Location& output, const Manifest& published,
                                                      std::string_view claim);

/// An output that this process owns: it may publish in each of the stage's folders until somebody else takes
/// the output. Not thread-safe.
class OwnedOutput {
 public:
  struct Claim {
    Configuration configuration{};
    Actor actor{};
    OwnershipAction action = OwnershipAction::kBegin;
  };
  /// How a process that found `seen` claims the output: it begins, takes over or overwrites.
  static OwnershipAction action_for(const OutputState& seen, bool overwrite);

  /// Appends an entry to the chain of the output, and then to that of each folder in it. From then on, no
  /// earlier owner can publish. REQUIRES: `seen` from examine_output
  /// \error kAborted  somebody else has begun something there since `seen`: names them; nothing was changed
  static Result<OwnedOutput> take(const Location& output, const StageOutput& stage, const OutputState& seen,
                                  Claim claim);
  /// Shares the output of a stage whose only folder is the output itself with whoever took it with the same
  /// configuration. All who share it make the same bytes. REQUIRES: seen.is_own, and nothing is published
  /// since
  static OwnedOutput join(const Location& output, const StageOutput& stage, const OutputState& seen);

  const Location& output() const { return output_; }
  std::uint64_t entry() const { return folders_.at("").ownership.entry(); }
  std::uint64_t generation() const { return folders_.at("").ownership.generation(); }
  const std::string& suffix() const { return suffix_; }
  /// The folder for files with fixed names: "" for the first owner of a new output, else "o<entry>".
  std::string files_folder() const { return suffix_.empty() ? "" : suffix_.substr(1); }

  /// The right to publish in a folder of the stage. REQUIRES, here and below: it is one of `stage.folders`,
  /// or "", the output itself
  Ownership& in(std::string_view folder);
  const Ownership& in(std::string_view folder) const;
  /// The manifest that the present generation had published last in a folder when the output was taken.
  Result<std::optional<PublishedFolder>> published(std::string_view folder) const;
  /// Its number; 0: nothing.
  std::uint64_t published_number(std::string_view folder) const;

 private:
  struct OwnedFolder {
    Ownership ownership;
    std::uint64_t published_before = 0;  // number of a manifest of the present generation; 0: none
  };
  OwnedOutput(Location output, const StageOutput& stage) : output_(std::move(output)), stage_(stage) {}

  Status take_folder(const StageOutput::Folder& folder, const Claim& claim);
  Result<bool> overwrites_published(const ChainState& folder) const;

  Location output_;
  StageOutput stage_;
  std::string suffix_{};
  std::map<std::string, OwnedFolder, std::less<>> folders_;
};

/// The keys of all parts that manifests of the stage's folders name, sorted. Those in the output's own chain
/// before `generation` do not count: they are superseded. Cost: a list of each chain, a read of each object
/// in it.
/// \error kDataLoss  a manifest is damaged: nobody knows what it names
Result<std::vector<std::string>> published_parts(const Location& output, const StageOutput& stage,
                                                 std::uint64_t generation, const CallOptions& call = {});

/// Removes what is not needed any more once the owner with entry `entry` has published: of generations before
/// `generation` the parts that their manifests name, their manifests and entries, and a former claim; of all
/// earlier owners the parts that no manifest names. After an interruption at any place, the same call goes
/// on. Damaged manifests of earlier generations are removed like others; while one of this generation is
/// damaged, what earlier owners left stays, and so do the entries that tell its names. Cost: a list of each
/// folder's chain, a read; a list of the output, and reads of its manifests, if there were earlier owners.
Status remove_superseded(const Location& output, const StageOutput& stage, std::uint64_t generation,
                         std::uint64_t entry);

}  // namespace headrace
