#include "headrace/base/text.h"
#include "headrace/cli/command.h"
#include "headrace/cli/folder_copy.h"
#include "headrace/cli/objects.h"

namespace headrace {
namespace {

constexpr Positional kPositionals[] = {
    {.name = "FROM", .sentence = "A folder or a whole store."},
    {.name = "TO", .sentence = "The folder that becomes like it; it need not be there."},
};

constexpr Option kOptions[] = {
    {.name = "delete",
     .type = OptionType::kFlag,
     .sentence = "Remove objects below TO that FROM has not, after all is copied."},
    {.name = "yes",
     .type = OptionType::kFlag,
     .sentence = "Do not ask before that. Needed for --delete where nobody can be asked.",
     .letter = 'y'},
    {.name = "dry-run",
     .type = OptionType::kFlag,
     .sentence = "Show what would be copied and removed, and change nothing.",
     .letter = 'n'},
    {.name = "checksum",
     .type = OptionType::kFlag,
     .sentence = "Read all objects of the same size on both sides, whatever is known of earlier copies."},
    kIncludeOption,
    kExcludeOption,
    kVerifyOption,
    kJobsOption,
};

Status run(CommandContext& context, const std::vector<std::string>& arguments, const OptionValues& options) {
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
                                    to.describe(), " that ", from.describe(), " has not");
    if (!asks || context.console.confirm(concat("Remove ", what, "?"))) return {};
    return Error{Code::kCancelled, "all was copied; nothing was removed"};
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
    .summary = "Make a folder like another, in any store",
    .details =
        "Copies what TO lacks, and what differs. An object is the same if it has the same size and this\n"
        "user's journal of copies knows these versions of it; objects of the same size that the journal\n"
        "knows nothing of are read on both sides. Times are never compared. What publishes a folder\n"
        "(manifests, saved_model.pb) is copied last and removed first. A run that was ended goes on where\n"
        "it was; a second run copies nothing.\n"
        "\n"
        "  headrace sync s3://datasets/reviews /data/reviews\n"
        "  headrace sync --delete --dry-run /data/reviews s3://backup/reviews\n"
        "  headrace sync --exclude '*.tmp' --include 'checkpoints/**' runs s3://backup/runs",
    .positionals = kPositionals,
    .options = kOptions,
    .run = run};

}  // namespace headrace
