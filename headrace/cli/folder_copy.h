#pragma once

/// \file Copying a folder on the command line, as `cp` and `sync` do it.

#include "headrace/cli/command.h"
#include "headrace/store/transfer/folder_transfer.h"

namespace headrace {

inline constexpr Option kJobsOption = {
    .name = "jobs",
    .type = OptionType::kInteger,
    .default_value = "16",
    .unit = "objects",
    .sentence =
        "How many objects to copy at a time: those of up to 8 MiB. Larger ones, which take 64 MiB of "
        "memory each and what the store buffers, are copied four at a time at most.",
    .minimum = 1,
    .maximum = 256};
inline constexpr Option kVerifyOption = {
    .name = "verify",
    .type = OptionType::kFlag,
    .sentence = "Read each copy again and compare its CRC32C with what was read of the original."};
inline constexpr Option kIncludeOption = {
    .name = "include",
    .type = OptionType::kTextList,
    .unit = "GLOB",
    .sentence =
        "Only objects whose name below FROM is so (**/*.json), or its last part where GLOB has no '/' "
        "(*.json)."};
inline constexpr Option kExcludeOption = {.name = "exclude",
                                          .type = OptionType::kTextList,
                                          .unit = "GLOB",
                                          .sentence = "No such objects, also if they are included."};

/// What --include and --exclude say of a name; none if they are not given.
std::function<bool(std::string_view name)> selection_of(const OptionValues& options);

/// Copies with the journal of this user, what publishes a folder (manifests, saved_model.pb) last; shows
/// progress and a line for each object that is copied or removed, and counts in the end; with --json only
/// these. `options` lacks `rank`, `journal`, `call`, `report` and `progress`.
/// \error those of transfer_folder; kFailedPrecondition where an object has the name `to`
Status copy_folder(CommandContext& context, const Location& from, const Location& to,
                   FolderTransferOptions options);

}  // namespace headrace
