#include "headrace/base/text.h"
#include "headrace/cli/command.h"
#include "headrace/cli/folder_copy.h"
#include "headrace/cli/objects.h"

namespace headrace {
namespace {

constexpr Positional kSyncPositionals[] = {
    {.name = "FROM", .sentence = "A folder or a whole store."},
    {.name = "TO", .sentence = "The folder to update; it need not exist."},
};

constexpr Option kSyncOptions[] = {
    {.name = "delete",
     .type = OptionType::kFlag,
     .sentence = "Remove objects below TO that are not below FROM, after everything is copied."},
    {.name = "yes",
     .type = OptionType::kFlag,
     .sentence = "Do not ask before removing. Required for --delete without a terminal.",
     .letter = 'y'},
    {.name = "dry-run",
     .type = OptionType::kFlag,
     .sentence = "Show what would be copied and removed, and change nothing.",
     .letter = 'n'},
    {.name = "checksum",
     .type = OptionType::kFlag,
     .sentence =
         "Read all objects of equal size on both sides, even if the journal says that they are the same."},
    kIncludeOption,
    kExcludeOption,
    kVerifyOption,
    kJobsOption,
};

Status run_sync(CommandContext& context, const std::vector<std::string>& arguments,
                const OptionValues& options) {
  HEADRACE_TRY(const Location from, context.stores.open(arguments[0]));
  HEADRACE_TRY(const Location to, context.stores.open(arguments[1]));
  const bool removes = options.flag("delete");
  if (removes && to.key.empty() && to.url.authority.empty())
    return Error{Code::kInvalidArgument, "this would remove all other files of this machine; name a folder"};
  FolderTransferOptions transfer;
  transfer.same = options.flag("checksum") ? SameObjects::kByReading : SameObjects::kKnown;
  transfer.verify = options.flag("verify");
  transfer.removes_others = removes;
  transfer.is_dry_run = options.flag("dry-run");
  transfer.jobs = static_cast<int>(options.integer("jobs"));
  transfer.selects = selection_of(options);
  const bool asks = removes && !transfer.is_dry_run && !options.flag("yes");
  if (asks && !context.console.can_ask()) {
    return Error{Code::kFailedPrecondition, concat("--delete may remove objects below ", to.describe(),
                                                   "; add --yes to do so, or --dry-run to see which")};
  }
  transfer.confirm_removal = [&](const TransferCount& count) -> Status {
    const std::string what = concat(count.objects, " objects (", format_size(count.bytes), ") below ",
                                    to.describe(), " that are not in ", from.describe());
    if (!asks || context.console.confirm(concat("Remove ", what, "?"))) return {};
    return Error{Code::kCancelled, "everything was copied; nothing was removed"};
  };
  Status done = copy_folder(context, from, to, std::move(transfer));
  if (!done && done.error().code == Code::kNotFound) {
    HEADRACE_TRY(const auto object, find_object(from, context.call()));
    if (object)
      return Error{Code::kFailedPrecondition,
                   concat(from.describe(), " is an object; headrace cp copies objects")};
  }
  return done;
}

}  // namespace

extern const Command kSyncCommand;
const Command kSyncCommand = {
    .name = "sync",
    .summary = "Update a folder to match another, in any store",
    .details =
        "Copies objects that TO lacks or that differ. Objects are the same if they have the same size and "
        "this user's journal of copies lists their two versions; objects of the same size that the journal "
        "does not list are read on both sides. Times are never compared. Objects that publish a folder "
        "(manifests, saved_model.pb) are copied last and removed first. An output that somebody else has "
        "made or works on at TO is not replaced: the command says by whom. An interrupted run continues "
        "where it "
        "was; a second run copies nothing.\n"
        "\n"
        "  headrace sync s3://datasets/reviews /data/reviews\n"
        "  headrace sync --delete --dry-run /data/reviews s3://backup/reviews\n"
        "  headrace sync --exclude '*.tmp' --include 'checkpoints/**' runs s3://backup/runs",
    .positionals = kSyncPositionals,
    .options = kSyncOptions,
    .run = run_sync};

}  // namespace headrace
