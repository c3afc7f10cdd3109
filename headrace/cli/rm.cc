#include <algorithm>
#include <span>

#include "headrace/base/json.h"
#include "headrace/base/text.h"
#include "headrace/cli/command.h"
#include "headrace/cli/objects.h"
#include "headrace/store/glob.h"

namespace headrace {
namespace {

constexpr std::size_t kKeysAtOnce = 1000;
constexpr std::size_t kMostKeys = 1'000'000;  // removed by one command, besides manifests

constexpr Positional kRmPositionals[] = {
    {.name = "URL", .sentence = "An object, or a quoted pattern of objects; with -r also folders."}};

constexpr Option kRmOptions[] = {
    {.name = "recursive",
     .type = OptionType::kFlag,
     .sentence = "Remove all objects below URL.",
     .letter = 'r'},
    {.name = "yes",
     .type = OptionType::kFlag,
     .sentence = "Do not ask. Required for -r and patterns without a terminal.",
     .letter = 'y'},
};

// The object, folder or pattern that the command line asks to remove.
struct Doomed {
  Location place;
  Named::Kind kind;
  bool recursive;

  Status visit(const CallOptions& call, const std::function<Status(const ObjectInfo&)>& visit_object) const {
    if (kind == Named::Kind::kFolder) return visit_below(place, call, visit_object);
    return visit_matches(place, recursive, call, [&](const ObjectInfo& entry) {
      if (!entry.is_folder()) return visit_object(entry);
      return visit_below(with_key(place, entry.key), call, visit_object);
    });
  }

 private:
  static Status visit_below(const Location& folder, const CallOptions& call,
                            const std::function<Status(const ObjectInfo&)>& visit_object) {
    Status status;
    HEADRACE_CHECK(
        folder.store->list(folder_prefix(folder.key), {.call = call}, [&](const ObjectInfo& object) {
          status = check_stop(call.stop, concat("listing ", folder.describe()));
          if (status) status = visit_object(object);
          return status.has_value();
        }));
    return status;
  }
};

// The objects to remove, as they are shown before. Objects that are written later stay.
struct Survey {
  Totals totals;
  std::vector<std::string> manifests;
  std::vector<std::string> others;  // the first kMostKeys

  std::uint64_t removable() const { return manifests.size() + others.size(); }
};

Result<Survey> survey(const Doomed& doomed, const CallOptions& call) {
  Survey found;
  HEADRACE_CHECK(doomed.visit(call, [&](const ObjectInfo& object) -> Status {
    ++found.totals.objects;
    found.totals.bytes += object.size_bytes;
    if (is_manifest_key(object.key)) {
      found.manifests.push_back(object.key);
    } else if (found.others.size() < kMostKeys) {
      found.others.push_back(object.key);
    }
    return {};
  }));
  std::ranges::sort(found.manifests);  // a pattern may match folders, of which each has its own order
  return found;
}

// Between question and answer much may happen: what was published since would lose parts to this.
Status check_not_published_since(const Doomed& doomed, const Survey& found, const CallOptions& call) {
  Status visited = doomed.visit(call, [&](const ObjectInfo& object) -> Status {
    if (!is_manifest_key(object.key) || std::ranges::binary_search(found.manifests, object.key)) return {};
    return Error{Code::kFailedPrecondition, concat(doomed.place.store->describe(object.key),
                                                   " was published meanwhile; nothing was removed; look at "
                                                   "what is there, and run the same command again")};
  });
  if (!visited && visited.error().code == Code::kNotFound) return {};  // all is gone
  return visited;
}

Status remove_all(CommandContext& context, const Doomed& doomed, const Survey& found) {
  Store& store = *doomed.place.store;
  HEADRACE_CHECK(check_not_published_since(doomed, found, context.call()));
  // Manifests first: whoever reads meanwhile finds nothing published, rather than something that lacks parts.
  HEADRACE_CHECK(store.remove_many(found.manifests, context.call()));
  const std::span others(found.others);
  for (std::size_t at = 0; at < others.size(); at += kKeysAtOnce) {
    HEADRACE_CHECK(check_stop(context.call().stop, concat("removing ", doomed.place.describe())));
    const auto keys = others.subspan(at, std::min(kKeysAtOnce, others.size() - at));
    HEADRACE_CHECK(store.remove_many(keys, context.call()));
    context.console.progress("removing", found.manifests.size() + at + keys.size(), found.totals.objects,
                             "objects");
  }
  if (found.removable() == found.totals.objects) return {};
  return Error{Code::kResourceExhausted, concat("removed ", found.removable(), " of ", found.totals.objects,
                                                " objects; run the same command again for the others")};
}

Status show_removed(Console& console, const Totals& totals, const std::string& what) {
  if (console.json()) {
    console.result(Json({{"removed_objects", totals.objects}, {"removed_bytes", totals.bytes}}).dump());
  } else {
    console.note(concat("removed ", what));
  }
  return {};
}

// Is it all of this machine, or what matches anywhere on it? A mistyped variable must not be enough.
bool names_no_folder_of_machine(const Doomed& doomed) {
  const Location& place = doomed.place;
  if (!place.url.authority.empty()) return false;
  return place.key.empty() || (doomed.kind == Named::Kind::kPattern && literal_folder(place.key).empty());
}

Status remove_several(CommandContext& context, const Doomed& doomed, bool yes) {
  const Location& place = doomed.place;
  if (names_no_folder_of_machine(doomed)) {
    return Error{Code::kInvalidArgument,
                 "this would remove files from all of this machine; name a folder of it"};
  }
  HEADRACE_TRY(const Survey found, survey(doomed, context.call()));
  if (found.totals.objects == 0) return nothing_at(place);
  const std::string what = concat(found.totals.objects, " objects (", format_size(found.totals.bytes), ") ",
                                  doomed.kind == Named::Kind::kFolder ? "below " : "of ", place.describe());
  if (!yes && !context.console.can_ask())
    return Error{Code::kFailedPrecondition, concat("rm would remove ", what, "; add --yes to do so")};
  if (!yes && !context.console.confirm(concat("Remove ", what, "?")))
    return Error{Code::kCancelled, "nothing was removed"};
  HEADRACE_CHECK(remove_all(context, doomed, found));
  return show_removed(context.console, found.totals, what);
}

Status remove_object(CommandContext& context, const Location& place, const ObjectInfo& object, bool yes) {
  const std::string what = concat(place.describe(), " (", format_size(object.size_bytes), ")");
  if (!yes && context.console.can_ask() && !context.console.confirm(concat("Remove ", what, "?")))
    return Error{Code::kCancelled, "nothing was removed"};
  HEADRACE_CHECK(remove_object(*place.store, place.key, context.call()));
  return show_removed(context.console, {1, object.size_bytes}, what);
}

Status run_rm(CommandContext& context, const std::vector<std::string>& arguments,
              const OptionValues& options) {
  HEADRACE_TRY(const Location place, context.stores.open(arguments[0]));
  HEADRACE_TRY(const Named named, look_up(place, context.call()));
  const bool yes = options.flag("yes"), recursive = options.flag("recursive");
  if (named.kind == Named::Kind::kNothing) return nothing_at(place);
  if (named.kind == Named::Kind::kObject) return remove_object(context, place, named.object, yes);
  if (named.kind == Named::Kind::kFolder && !recursive) {
    return Error{Code::kFailedPrecondition,
                 concat(place.describe(), " is a folder; -r removes all objects below it")};
  }
  return remove_several(context, {place, named.kind, recursive}, yes);
}

}  // namespace

extern const Command kRmCommand;
const Command kRmCommand = {
    .name = "rm",
    .summary = "Remove objects, or all objects of a folder",
    .details =
        "On a terminal, asks first. Removes only the objects that were listed then: an object that is "
        "written later stays, and if something is published meanwhile, nothing is removed. In published "
        "folders the manifest is removed first, so nobody reads a half-removed folder. More than a million "
        "objects need several runs.\n"
        "\n"
        "  headrace rm s3://datasets/notes.txt\n"
        "  headrace rm 's3://datasets/reviews/*.tmp'\n"
        "  headrace rm -r --yes s3://datasets/runs/imdb-1",
    .positionals = kRmPositionals,
    .options = kRmOptions,
    .run = run_rm};

}  // namespace headrace
