#include <algorithm>
#include <span>

#include "headrace/base/json.h"
#include "headrace/base/text.h"
#include "headrace/cli/command.h"
#include "headrace/cli/objects.h"
#include "headrace/cli/tombstones.h"
#include "headrace/store/glob.h"

namespace headrace {
namespace {

constexpr std::size_t kKeysAtOnce = 1000;
constexpr std::size_t kMostKeys = 1'000'000;  // removed by one command, besides manifests

constexpr Positional kRmPositionals[] = {
    {.name = "URL",
     .sentence =
         "An object, or a quoted pattern of objects with * or ?; with -r also folders. A URL that ends "
         "in '/' names folders only."}};

constexpr Option kRmOptions[] = {
    {.name = "recursive",
     .type = OptionType::kFlag,
     .sentence = "Remove all objects below URL, besides the object URL if there is one.",
     .letter = 'r'},
    {.name = "yes",
     .type = OptionType::kFlag,
     .sentence = "Do not ask. Required for -r and patterns without a terminal.",
     .letter = 'y'},
    {.name = "forget",
     .type = OptionType::kFlag,
     .sentence =
         "Leave no tombstones where something was published. Use it only if no process can still work "
         "there: without a tombstone, a stalled process may publish again."},
};

// The removal that the command line asks for. Only the text of the command line says what that is, never the
// contents of the store: the same command, given twice, removes nothing that it kept the first time.
struct Removal {
  Location place;
  bool by_pattern;
  bool recursive;
  bool only_folders;
  bool forget;              // leaves no tombstones
  bool has_object = false;  // beside the folder

  Status visit(const CallOptions& call, const std::function<Status(const ObjectInfo&)>& visit_object) const {
    if (by_pattern) {
      const Matched matched = only_folders ? Matched::kFolders
                              : recursive  ? Matched::kBoth
                                           : Matched::kObjects;
      return visit_matches(place, matched, call, [&](const ObjectInfo& entry) {
        if (!entry.is_folder()) return visit_object(entry);
        return visit_below(with_key(place, entry.key), call, visit_object);
      });
    }
    if (!only_folders) {
      HEADRACE_TRY(const auto object, find_object(place, call));
      if (object) HEADRACE_CHECK(visit_object(*object));
    }
    return visit_below(place, call, visit_object);
  }

  std::string describe(const Console& console) const {
    return concat(by_pattern   ? "of "
                  : has_object ? "at and below "
                               : "below ",
                  console.name(place.describe()));
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

// The objects to remove, as they were shown to the user. Objects that are written later stay.
struct Survey {
  Totals totals;
  std::vector<std::string> manifests;   // and entries of ownership
  std::vector<std::string> others;      // the first kMostKeys
  std::vector<std::string> tombstones;  // of an earlier removal: they stay
  std::vector<FoundChain> chains;       // of manifests and tombstones
  bool is_whole = true;                 // whether `others` are all
};

Status leave_out_tombstones(const Location& place, const CallOptions& call, Survey& found) {
  HEADRACE_TRY(found.chains, read_chains(place, found.manifests, call));
  for (const FoundChain& chain : found.chains) {
    if (!chain.state.has_ended()) continue;
    const std::string tombstone = numbered_key(chain.folder.at(kManifestPrefix).key, chain.state.last);
    const auto at = std::ranges::lower_bound(found.manifests, tombstone);
    if (at == found.manifests.end() || *at != tombstone) continue;
    HEADRACE_TRY(const auto object, find_object(with_key(place, tombstone), call));
    found.manifests.erase(at);
    --found.totals.objects;
    if (object)
      found.totals.bytes -= object->size_bytes;  // otherwise somebody has begun again, and removed it
    found.tombstones.push_back(tombstone);
  }
  std::ranges::sort(found.tombstones);
  return {};
}

Result<Survey> survey(const Removal& removal, const CallOptions& call) {
  Survey found;
  HEADRACE_CHECK(removal.visit(call, [&](const ObjectInfo& object) -> Status {
    ++found.totals.objects;
    found.totals.bytes += object.size_bytes;
    if (is_manifest_key(object.key)) {
      found.manifests.push_back(object.key);
    } else if (found.others.size() < kMostKeys) {
      found.others.push_back(object.key);
    } else {
      found.is_whole = false;
    }
    return {};
  }));
  std::ranges::sort(found.manifests);  // a pattern may match several folders, each with its own order
  if (!removal.forget) HEADRACE_CHECK(leave_out_tombstones(removal.place, call, found));
  return found;
}

// Much may happen between question and answer: what was published since would lose parts.
Status check_not_published_since(const Removal& removal, const Survey& found, const CallOptions& call) {
  Status visited = removal.visit(call, [&](const ObjectInfo& object) -> Status {
    if (!is_manifest_key(object.key) || std::ranges::binary_search(found.manifests, object.key) ||
        std::ranges::binary_search(found.tombstones, object.key))
      return {};
    return Error{Code::kFailedPrecondition, concat(removal.place.store->describe(object.key),
                                                   " was published meanwhile; nothing was removed; look at "
                                                   "what is there, and run the same command again")};
  });
  if (!visited && visited.error().code == Code::kNotFound) return {};  // all is gone
  return visited;
}

// The output whose chain has ended and that holds the folder; null if there is none.
const FoundChain* ended_output(const Location& folder, std::span<const FoundChain> ended) {
  const auto found = std::ranges::find_if(ended, [&](const FoundChain& output) {
    return folder.key != output.folder.key && folder.key.starts_with(folder_prefix(output.folder.key));
  });
  return found == ended.end() ? nullptr : &*found;
}

// Whether the folder's chain belongs to an owner of the output from before its end. REQUIRES: it has an owner
bool is_of_earlier(const ChainState& chain, const FoundChain& output) {
  return chain.owner.output_entry > 0 && chain.owner.output_entry <= output.state.last;
}

// Ends a chain. A chain stays if its folder lies in an ended output, and an owner has taken the folder since.
Status end_one(const FoundChain& chain, std::span<const FoundChain> known, const Actor& actor,
               const CallOptions& call) {
  Status ended = end_chains({&chain, 1}, actor, call);
  const FoundChain* const output = ended_output(chain.folder, known);
  if (ended || ended.error().code != Code::kFailedPrecondition || output == nullptr) return ended;
  HEADRACE_TRY(const ChainState now, read_chain(chain.folder, call));
  return now.owner.output_entry > output->state.last ? Status{} : ended;
}

// Ends the chains that were found, and then the chains that their owners had begun in folders of an output
// just before it ended. Everything that others begin or write meanwhile stays.
Status end_all_chains(CommandContext& context, const Removal& removal, Survey& found) {
  const Actor actor = this_process("rm", "", context.environment.now());
  std::vector<FoundChain> ending = found.chains;
  while (!ending.empty()) {
    for (const FoundChain& chain : ending)
      HEADRACE_CHECK(end_one(chain, found.chains, actor, context.call()));
    HEADRACE_TRY(const Survey now, survey(removal, context.call()));
    ending.clear();
    for (const FoundChain& chain : now.chains) {
      const auto is_same = [&](const FoundChain& known) { return known.folder.key == chain.folder.key; };
      const FoundChain* const output = ended_output(chain.folder, found.chains);
      const bool is_later = std::ranges::none_of(found.chains, is_same) && !chain.state.has_ended() &&
                            output != nullptr && is_of_earlier(chain.state, *output);
      if (is_later) ending.push_back(chain);
    }
    for (const FoundChain& chain : ending) {
      const std::string prefix = chain.folder.at(kManifestPrefix).key;
      std::ranges::copy_if(now.manifests, std::back_inserter(found.manifests),
                           [&](const std::string& key) { return key.starts_with(prefix); });
      found.chains.push_back(chain);
    }
  }
  return {};
}

Status remove_all(CommandContext& context, const Removal& removal, Survey& found) {
  Store& store = *removal.place.store;
  HEADRACE_CHECK(check_not_published_since(removal, found, context.call()));
  if (!removal.forget) HEADRACE_CHECK(end_all_chains(context, removal, found));
  // Manifests are removed first: a reader then finds nothing published, rather than something that lacks
  // parts.
  HEADRACE_CHECK(store.remove_many(found.manifests, context.call()));
  const std::span others(found.others);
  for (std::size_t at = 0; at < others.size(); at += kKeysAtOnce) {
    HEADRACE_CHECK(check_stop(context.call().stop, concat("removing ", removal.place.describe())));
    const auto keys = others.subspan(at, std::min(kKeysAtOnce, others.size() - at));
    HEADRACE_CHECK(store.remove_many(keys, context.call()));
    context.console.progress("removing", found.manifests.size() + at + keys.size(), found.totals.objects,
                             "objects");
  }
  if (found.is_whole) return {};
  return Error{Code::kResourceExhausted, concat("removed the first ", found.manifests.size() + others.size(),
                                                " objects; run the same command again for the others")};
}

Status show_removed(Console& console, const Totals& totals, std::size_t tombstones, const std::string& what) {
  if (console.json()) {
    console.result(Json({{"removed_objects", totals.objects},
                         {"removed_bytes", totals.bytes},
                         {"tombstones", tombstones}})
                       .dump());
    return {};
  }
  console.note(concat("removed ", what));
  if (tombstones == 1) console.note("a tombstone stays there, so that no stalled process publishes again");
  if (tombstones > 1)
    console.note(concat(tombstones, " tombstones stay there, so that no stalled process publishes again"));
  return {};
}

Error only_tombstones(const Location& place) {
  return {Code::kNotFound, concat("nothing is left at ", place.describe(),
                                  " but tombstones of what was removed; --forget removes them, too")};
}

// Whether this is all of the machine, or what matches anywhere on it. A mistyped variable must not be enough
// for that.
bool names_no_folder_of_machine(const Removal& removal) {
  const Location& place = removal.place;
  if (!place.url.authority.empty()) return false;
  return place.key.empty() || (removal.by_pattern && literal_folder(place.key).empty());
}

Status remove_several(CommandContext& context, const Removal& removal, bool yes) {
  const Location& place = removal.place;
  if (names_no_folder_of_machine(removal)) {
    return Error{Code::kInvalidArgument,
                 "this would remove files from all of this machine; name a folder of it"};
  }
  HEADRACE_TRY(Survey found, survey(removal, context.call()));
  if (found.totals.objects == 0) return found.tombstones.empty() ? nothing_at(place) : only_tombstones(place);
  const std::string what = concat(found.totals.objects, " objects (", format_size(found.totals.bytes), ") ",
                                  removal.describe(context.console));
  if (!yes && !context.console.can_ask())
    return Error{Code::kFailedPrecondition, concat("rm would remove ", what, "; add --yes to do so")};
  if (!yes && !context.console.confirm(concat("Remove ", what, "?")))
    return Error{Code::kCancelled, "nothing was removed"};
  HEADRACE_CHECK(remove_all(context, removal, found));
  return show_removed(context.console, found.totals, removal.forget ? 0 : found.chains.size(), what);
}

Status remove_object(CommandContext& context, const Removal& removal, const ObjectInfo& object, bool yes) {
  const Location& place = removal.place;
  if (is_manifest_key(place.key) && !removal.forget) {
    return Error{Code::kFailedPrecondition,
                 concat(place.describe(), " records who owns ",
                        with_key(place, parent_key(parent_key(place.key))).describe(),
                        " and what is published there; remove that folder with -r, or give --forget")};
  }
  const std::string what =
      concat(context.console.name(place.describe()), " (", format_size(object.size_bytes), ")");
  if (!yes && context.console.can_ask() && !context.console.confirm(concat("Remove ", what, "?")))
    return Error{Code::kCancelled, "nothing was removed"};
  HEADRACE_CHECK(remove_object(*place.store, place.key, context.call()));
  return show_removed(context.console, {1, object.size_bytes}, 0, what);
}

// A name with a wildcard is a pattern. If something has exactly that name, the user may have meant only that.
Status check_is_no_name(const Location& place, const CallOptions& call) {
  HEADRACE_TRY(const auto object, find_object(place, call));
  HEADRACE_TRY(const bool folder, is_folder(place, call));
  if (!object && !folder) return {};
  return Error{
      Code::kFailedPrecondition,
      concat(place.describe(),
             " is a pattern, and something has exactly this name; nothing was removed. To "
             "remove that alone, write \\* for its * and \\? for its ?; then the pattern can be used")};
}

Error need_recursive(const Removal& removal) {
  return {Code::kFailedPrecondition,
          concat(removal.place.describe(), removal.by_pattern ? "/ matches folders" : " is a folder",
                 "; -r removes all objects below it")};
}

// Removes the object or folder that a URL without wildcards names.
Status remove_named(CommandContext& context, Removal removal, bool yes) {
  const Location& place = removal.place;
  std::optional<ObjectInfo> object;
  if (!removal.only_folders) {
    HEADRACE_TRY(object, find_object(place, context.call()));
  }
  if (object && !removal.recursive) return remove_object(context, removal, *object, yes);
  HEADRACE_TRY(const bool folder, is_folder(place, context.call()));
  if (object && !folder) return remove_object(context, removal, *object, yes);
  if (!folder && !place.key.empty() && removal.only_folders)
    return Error{Code::kNotFound, concat("there is no folder ", place.describe(), "/")};
  if (!folder && !place.key.empty()) return nothing_at(place);
  removal.has_object = object.has_value();
  return removal.recursive ? remove_several(context, removal, yes) : need_recursive(removal);
}

Status run_rm(CommandContext& context, const std::vector<std::string>& arguments,
              const OptionValues& options) {
  HEADRACE_TRY(const Location place, context.stores.open(arguments[0]));
  const bool yes = options.flag("yes");
  const Removal removal = {
      .place = has_wildcards(place.key) ? place : with_key(place, literal_name(place.key)),
      .by_pattern = has_wildcards(place.key),
      .recursive = options.flag("recursive"),
      .only_folders = asks_for_folder(arguments[0]),
      .forget = options.flag("forget")};
  if (!removal.by_pattern) return remove_named(context, removal, yes);
  if (removal.only_folders && !removal.recursive) return need_recursive(removal);
  HEADRACE_CHECK(check_is_no_name(place, context.call()));
  return remove_several(context, removal, yes);
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
        "Where something was published, a small object stays below _headrace/: a tombstone. It keeps "
        "processes that worked there, and were stalled, from publishing what was removed. --forget removes "
        "it, too.\n"
        "\n"
        "A URL with * or ? is a pattern, whatever the store holds; [a-c] is a set of characters in a "
        "pattern, and part of the name in any other URL: rm 'exp[1]' removes exp[1], never exp1. A "
        "backslash makes * or ? part of the name. * stays within a folder; ** reaches into folders. If "
        "something has the pattern itself as its name, nothing is removed. A URL that ends in '/' names a "
        "folder, never an object.\n"
        "\n"
        "  headrace rm s3://datasets/notes.txt\n"
        "  headrace rm 's3://datasets/reviews/*.tmp'\n"
        "  headrace rm -r --yes s3://datasets/runs/imdb-1",
    .positionals = kRmPositionals,
    .options = kRmOptions,
    .run = run_rm};

}  // namespace headrace
