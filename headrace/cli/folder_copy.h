#pragma once

/// \file Copies a folder for the commands `cp` and `sync`.

#include "headrace/cli/command.h"
#include "headrace/store/transfer/folder_transfer.h"

namespace headrace {

inline constexpr Option kJobsOption = {
    .name = "jobs",
    .type = OptionType::kInteger,
    .default_value = "16",
    .unit = "objects",
    .sentence =
        "Objects of up to 8 MiB to copy at a time. At most four larger objects are copied at a time; each "
        "takes 64 MiB of memory plus the store's buffers.",
    .minimum = 1,
    .maximum = 256};
inline constexpr Option kVerifyOption = {
    .name = "verify",
    .type = OptionType::kFlag,
    .sentence = "Read each copy again and compare its CRC32C with that of the original."};
inline constexpr Option kIncludeOption = {
    .name = "include",
    .type = OptionType::kTextList,
    .unit = "GLOB",
    .sentence =
        "Only objects whose name below FROM matches (**/*.json); if GLOB has no '/', only the last part of "
        "the name has to match (*.json)."};
inline constexpr Option kExcludeOption = {
    .name = "exclude",
    .type = OptionType::kTextList,
    .unit = "GLOB",
    .sentence = "Leave out matching objects, even if --include matches them."};

/// Whether a name is selected by --include and --exclude; none if neither option is given.
std::function<bool(std::string_view name)> selection_of(const OptionValues& options);

/// Copies a folder with this user's journal. Objects that publish a folder (manifests, saved_model.pb) are
/// copied last. Shows progress, a line for each object that is copied or removed, and totals at the end; with
/// --json only the totals. This function sets `options`' rank, journal, publications, call, report and
/// progress.
/// \error as transfer_folder; kFailedPrecondition  an object has the name `to`
Status copy_folder(CommandContext& context, const Location& from, const Location& to,
                   FolderTransferOptions options);

}  // namespace headrace
