#include <algorithm>
#include <nlohmann/json.hpp>

#include "headrace/base/text.h"
#include "headrace/cli/command.h"
#include "headrace/cli/objects.h"

namespace headrace {
namespace {

constexpr Positional kPositionals[] = {{.name = "URL", .sentence = "An object, a folder or a whole store."}};

constexpr Option kOptions[] = {
    {.name = "recursive",
     .type = OptionType::kFlag,
     .sentence = "List all objects below, not folders.",
     .letter = 'r'},
    {.name = "du",
     .type = OptionType::kFlag,
     .sentence = "Count objects and bytes in each folder, and in all."},
};

// Prints entries as they come: a listing may be longer than memory.
class ListingPrinter {
 public:
  ListingPrinter(CommandContext& context, const Location& root, bool counts_folders)
      : context_(context),
        root_(root),
        counts_folders_(counts_folders),
        prefix_size_(folder_prefix(root.key).size()) {}

  Status start() {
    if (context_.console.json()) return write(R"({"entries":[)");
    return {};
  }

  Status add(const ObjectInfo& entry) {
    Totals totals = {1, entry.size_bytes};
    if (entry.is_folder() && counts_folders_) {
      Location folder = root_;
      folder.key = entry.key.substr(0, entry.key.size() - 1);
      HEADRACE_TRY(totals, total_below(folder, context_.call()));
    }
    const bool counted = !entry.is_folder() || counts_folders_;
    if (counted) all_.objects += totals.objects, all_.bytes += totals.bytes;
    if (context_.console.json()) return write_json(entry, totals, counted);
    const std::string size = counted ? format_size(totals.bytes) : "";
    const std::string_view name =
        entry.key.size() > prefix_size_ ? std::string_view(entry.key).substr(prefix_size_) : entry.key;
    return write(
        concat(std::string(10 - std::min<std::size_t>(10, size.size()), ' '), size, "  ",
               format_modified(entry), "  ", name,
               entry.is_folder() && counts_folders_ ? concat("  (", totals.objects, " objects)") : "", "\n"));
  }

  Status finish() {
    if (context_.console.json())
      return write(concat(R"(],"objects":)", all_.objects, R"(,"size_bytes":)", all_.bytes, "}\n"));
    if (counts_folders_) return write(concat(format_size(all_.bytes), " in ", all_.objects, " objects\n"));
    return {};
  }

 private:
  Status write_json(const ObjectInfo& entry, const Totals& totals, bool counted) {
    Url url = root_.url;
    url.path = entry.key;
    nlohmann::json out = {{"url", url.text()}, {"folder", entry.is_folder()}};
    if (counted) out["size_bytes"] = totals.bytes;
    if (entry.is_folder() && counted) out["objects"] = totals.objects;
    if (!entry.is_folder()) out["version"] = entry.version.token;
    if (entry.modified) out["modified"] = format_time(*entry.modified);
    const char* separator = std::exchange(first_, false) ? "" : ",";
    return write(concat(separator, out.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)));
  }
  Status write(const std::string& text) { return context_.console.result_bytes(as_bytes(text)); }

  CommandContext& context_;
  const Location& root_;
  const bool counts_folders_;
  const std::size_t prefix_size_;
  bool first_ = true;
  Totals all_;
};

Status run(CommandContext& context, const std::vector<std::string>& arguments, const OptionValues& options) {
  HEADRACE_TRY(const Location root, context.stores.open(arguments[0]));
  HEADRACE_TRY(const auto object, find_object(root, context.call()));
  if (!object) {
    HEADRACE_TRY(const bool found, is_folder(root, context.call()));
    if (!found && !root.key.empty()) return nothing_at(root);
  }
  ListingPrinter printer(context, root, options.flag("du"));
  HEADRACE_CHECK(printer.start());
  if (object) HEADRACE_CHECK(printer.add(*object));
  Status added;
  if (!object) {
    const ListOptions list = {.collapse_folders = !options.flag("recursive"), .call = context.call()};
    HEADRACE_CHECK(root.store->list(folder_prefix(root.key), list, [&](const ObjectInfo& entry) {
      added = printer.add(entry);
      return static_cast<bool>(added) && !context.stop.stop_requested();
    }));
  }
  HEADRACE_CHECK(added);
  HEADRACE_CHECK(check_stop(context.stop, "listing"));
  return printer.finish();
}

}  // namespace

extern const Command kLsCommand;
const Command kLsCommand = {
    .name = "ls",
    .summary = "List objects and folders",
    .details =
        "Shows size, time of the last write (UTC) and name of what lies directly below the URL.\n"
        "\n"
        "  headrace ls s3://datasets/preprocessed-data\n"
        "  headrace ls --du s3://datasets            how much lies in each folder",
    .positionals = kPositionals,
    .options = kOptions,
    .run = run};

}  // namespace headrace
