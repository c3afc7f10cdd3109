#include <algorithm>

#include "headrace/base/json.h"
#include "headrace/base/text.h"
#include "headrace/cli/command.h"
#include "headrace/cli/objects.h"
#include "headrace/store/glob.h"

namespace headrace {
namespace {

constexpr Positional kLsPositionals[] = {
    {.name = "URL",
     .sentence = "An object, a folder, a whole store, or a quoted pattern of objects and folders."}};

constexpr Option kLsOptions[] = {
    {.name = "recursive",
     .type = OptionType::kFlag,
     .sentence = "List all objects below URL, without folders.",
     .letter = 'r'},
    {.name = "du",
     .type = OptionType::kFlag,
     .sentence = "Count objects and bytes in each folder, and in total."},
    {.name = "null",
     .type = OptionType::kFlag,
     .sentence = "For programs: only URLs, as they are, each followed by a zero byte instead of a newline.",
     .letter = '0'},
};

Status check_ls(const OptionValues& options) {
  if (!options.flag("null") || !options.flag("du")) return {};
  return Error{Code::kInvalidArgument,
               "--null and --du exclude each other; programs get both URLs and counts from --json"};
}

// Prints entries as they come: a listing may be longer than memory.
class ListingPrinter {
 public:
  // Names are shown as they are below `root`.
  ListingPrinter(CommandContext& context, const Location& root, const OptionValues& options)
      : context_(context),
        root_(root),
        counts_folders_(options.flag("du")),
        shows_urls_(options.flag("null")),
        prefix_size_(folder_prefix(root.key).size()) {}

  Status start() {
    if (context_.console.json()) return write(R"({"entries":[)");
    return {};
  }

  Status add(const ObjectInfo& entry) {
    if (shows_urls_ && !context_.console.json()) return write(url_of(entry) + '\0');
    Totals totals = {1, entry.size_bytes};
    if (entry.is_folder() && counts_folders_) {
      HEADRACE_TRY(totals, total_below(with_key(root_, entry.key), context_.call()));
    }
    const bool counted = !entry.is_folder() || counts_folders_;
    if (counted) all_.objects += totals.objects, all_.bytes += totals.bytes;
    if (context_.console.json()) return write_json(entry, totals, counted);
    const std::string size = counted ? format_size(totals.bytes) : "";
    const std::string_view name =
        entry.key.size() > prefix_size_ ? std::string_view(entry.key).substr(prefix_size_) : entry.key;
    return write(
        concat(std::string(10 - std::min<std::size_t>(10, size.size()), ' '), size, "  ",
               format_modified(entry), "  ", context_.console.name(name),
               entry.is_folder() && counts_folders_ ? concat("  (", totals.objects, " objects)") : "", "\n"));
  }

  Status finish() {
    if (context_.console.json())
      return write(concat(R"(],"objects":)", all_.objects, R"(,"size_bytes":)", all_.bytes, "}\n"));
    if (counts_folders_) return write(concat(format_size(all_.bytes), " in ", all_.objects, " objects\n"));
    return {};
  }

 private:
  std::string url_of(const ObjectInfo& entry) const {
    Url url = root_.url;
    url.path = entry.key;
    return url.text();
  }
  Status write_json(const ObjectInfo& entry, const Totals& totals, bool counted) {
    Json out = {{"url", url_of(entry)}, {"folder", entry.is_folder()}};
    if (counted) out["size_bytes"] = totals.bytes;
    if (entry.is_folder() && counted) out["objects"] = totals.objects;
    if (!entry.is_folder()) out["version"] = entry.version.token;
    if (entry.modified) out["modified"] = format_time(*entry.modified);
    const char* separator = std::exchange(first_, false) ? "" : ",";
    return write(concat(separator, out.dump()));
  }
  Status write(const std::string& text) { return context_.console.result_bytes(as_bytes(text)); }

  CommandContext& context_;
  const Location root_;
  const bool counts_folders_;
  const bool shows_urls_;
  const std::size_t prefix_size_;
  bool first_ = true;
  Totals all_;
};

Status list_below(CommandContext& context, const Location& folder, bool recursive, ListingPrinter& printer) {
  Status added;
  const ListOptions list = {.collapse_folders = !recursive, .call = context.call()};
  HEADRACE_CHECK(folder.store->list(folder_prefix(folder.key), list, [&](const ObjectInfo& entry) {
    added = printer.add(entry);
    return added.has_value() && !context.stop.stop_requested();
  }));
  HEADRACE_CHECK(added);
  return check_stop(context.stop, "listing");
}

Status list_matches(CommandContext& context, const Location& pattern, Matched matched, bool recursive,
                    ListingPrinter& printer) {
  return visit_matches(pattern, matched, context.call(), [&](const ObjectInfo& entry) {
    if (!recursive || !entry.is_folder()) return printer.add(entry);
    return list_below(context, with_key(pattern, entry.key), true, printer);
  });
}

Status run_ls(CommandContext& context, const std::vector<std::string>& arguments,
              const OptionValues& options) {
  HEADRACE_TRY(const Location place, context.stores.open(arguments[0]));
  HEADRACE_TRY(const Named named, look_up(place, arguments[0], context.call()));
  const bool recursive = options.flag("recursive"), by_pattern = named.kind == Named::Kind::kPattern;
  if (named.kind == Named::Kind::kNothing) return nothing_at(place);
  ListingPrinter printer(context, by_pattern ? with_key(place, literal_folder(place.key)) : place, options);
  HEADRACE_CHECK(printer.start());
  if (by_pattern) {
    HEADRACE_CHECK(list_matches(context, place,
                                asks_for_folder(arguments[0]) ? Matched::kFolders : Matched::kBoth, recursive,
                                printer));
  } else if (named.kind == Named::Kind::kObject) {
    HEADRACE_CHECK(printer.add(named.object));
  } else {
    HEADRACE_CHECK(list_below(context, place, recursive, printer));
  }
  return printer.finish();
}

}  // namespace

extern const Command kLsCommand;
const Command kLsCommand = {
    .name = "ls",
    .summary = "List objects and folders",
    .details =
        "Shows size, time of the last write (UTC) and name of the objects and folders directly below URL. "
        "Names that hold control characters are shown as a shell reads them, as in $'a\\012b'; on a "
        "terminal, "
        "names with spaces and special characters are quoted, too. Programs that read names take --null or "
        "--json.\n"
        "\n"
        "  headrace ls s3://datasets/preprocessed-data\n"
        "  headrace ls --du s3://datasets            the size of each folder\n"
        "  headrace ls -r --du 's3://runs/imdb-*'    every object of those folders, and their sizes\n"
        "  headrace ls -r -0 s3://datasets/texts | xargs -0 headrace cat",
    .positionals = kLsPositionals,
    .options = kLsOptions,
    .run = run_ls,
    .check = check_ls};

}  // namespace headrace
