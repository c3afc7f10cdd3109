#include <nlohmann/json.hpp>

#include "headrace/base/text.h"
#include "headrace/cli/command.h"
#include "headrace/cli/objects.h"

namespace headrace {
namespace {

constexpr std::size_t kKeysAtOnce = 1000;

constexpr Positional kPositionals[] = {{.name = "URL", .sentence = "An object, or with -r a folder."}};

constexpr Option kOptions[] = {
    {.name = "recursive",
     .type = OptionType::kFlag,
     .sentence = "Remove all objects below URL.",
     .letter = 'r'},
    {.name = "yes",
     .type = OptionType::kFlag,
     .sentence = "Do not ask. Needed for -r where nobody can be asked.",
     .letter = 'y'},
};

struct Doomed {
  Totals totals;
  std::vector<std::string> manifests;
};

Result<Doomed> survey(const Location& folder, const CallOptions& call) {
  Doomed doomed;
  HEADRACE_CHECK(folder.store->list(folder_prefix(folder.key), {.call = call}, [&](const ObjectInfo& object) {
    ++doomed.totals.objects;
    doomed.totals.bytes += object.size_bytes;
    if (is_manifest_key(object.key)) doomed.manifests.push_back(object.key);
    return !call.stop.stop_requested();
  }));
  HEADRACE_CHECK(check_stop(call.stop, "listing"));
  return doomed;
}

// The next keys below `folder`, at most kKeysAtOnce.
Result<std::vector<std::string>> next_keys(const Location& folder, const CallOptions& call) {
  std::vector<std::string> keys;
  HEADRACE_CHECK(folder.store->list(folder_prefix(folder.key), {.call = call}, [&](const ObjectInfo& object) {
    keys.push_back(object.key);
    return keys.size() < kKeysAtOnce;
  }));
  return keys;
}

Status remove_below(CommandContext& context, const Location& folder, const Doomed& doomed) {
  // Manifests first: whoever reads meanwhile finds nothing published, rather than something that lacks parts.
  HEADRACE_CHECK(folder.store->remove_many(doomed.manifests, context.call()));
  std::string last;
  for (std::uint64_t removed = doomed.manifests.size();;) {
    HEADRACE_CHECK(check_stop(context.stop, concat("removing ", folder.describe())));
    HEADRACE_TRY(const std::vector<std::string> keys, next_keys(folder, context.call()));
    if (keys.empty()) return {};
    if (keys.back() == last)
      return Error{Code::kUnavailable,
                   concat(folder.store->describe(last), " is still listed after it was removed")};
    last = keys.back();
    HEADRACE_CHECK(folder.store->remove_many(keys, context.call()));
    context.console.progress("removing", removed += keys.size(), doomed.totals.objects, "objects");
  }
}

Status remove_folder(CommandContext& context, const Location& folder, bool yes) {
  if (folder.key.empty() && folder.url.authority.empty())
    return Error{Code::kInvalidArgument, "this would remove all files of this machine; name a folder"};
  HEADRACE_TRY(const Doomed doomed, survey(folder, context.call()));
  if (doomed.totals.objects == 0) return nothing_at(folder);
  const std::string what = concat(doomed.totals.objects, " objects (", format_size(doomed.totals.bytes),
                                  ") below ", folder.describe());
  if (!yes && !context.console.can_ask())
    return Error{Code::kFailedPrecondition, concat("-r would remove ", what, "; add --yes to do so")};
  if (!yes && !context.console.confirm(concat("Remove ", what, "?")))
    return Error{Code::kCancelled, "nothing was removed"};
  HEADRACE_CHECK(remove_below(context, folder, doomed));
  if (context.console.json()) {
    context.console.result(
        nlohmann::json({{"removed_objects", doomed.totals.objects}, {"removed_bytes", doomed.totals.bytes}})
            .dump());
  } else {
    context.console.note(concat("removed ", what));
  }
  return {};
}

Status run(CommandContext& context, const std::vector<std::string>& arguments, const OptionValues& options) {
  HEADRACE_TRY(const Location location, context.stores.open(arguments[0]));
  const bool yes = options.flag("yes");
  HEADRACE_TRY(const auto object, find_object(location, context.call()));
  if (!object && options.flag("recursive")) return remove_folder(context, location, yes);
  if (!object) {
    HEADRACE_TRY(const bool folder, is_folder(location, context.call()));
    if (!folder) return nothing_at(location);
    return Error{Code::kFailedPrecondition,
                 concat(location.describe(), " is a folder; -r removes all objects below it")};
  }
  const std::string what = concat(location.describe(), " (", format_size(object->size_bytes), ")");
  if (!yes && context.console.can_ask() && !context.console.confirm(concat("Remove ", what, "?")))
    return Error{Code::kCancelled, "nothing was removed"};
  HEADRACE_CHECK(remove_object(*location.store, location.key, context.call()));
  if (context.console.json()) {
    context.console.result(
        nlohmann::json({{"removed_objects", 1}, {"removed_bytes", object->size_bytes}}).dump());
  } else {
    context.console.note(concat("removed ", what));
  }
  return {};
}

}  // namespace

extern const Command kRmCommand;
const Command kRmCommand = {
    .name = "rm",
    .summary = "Remove an object, or all objects of a folder",
    .details =
        "Asks first, on a terminal. Of published folders the manifest goes first, so that nobody reads\n"
        "half of what was there.\n"
        "\n"
        "  headrace rm s3://datasets/notes.txt\n"
        "  headrace rm -r --yes s3://datasets/runs/imdb-1",
    .positionals = kPositionals,
    .options = kOptions,
    .run = run};

}  // namespace headrace
