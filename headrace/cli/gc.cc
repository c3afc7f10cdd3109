#include <algorithm>
#include <chrono>

#include "headrace/artifact/collect_content.h"
#include "headrace/base/duration.h"
#include "headrace/base/json.h"
#include "headrace/base/text.h"
#include "headrace/cli/command.h"
#include "headrace/cli/objects.h"
#include "headrace/metrics/compact_logs.h"
#include "headrace/prepare/write/leftovers.h"

namespace headrace {
namespace {

using std::chrono::seconds;

constexpr Positional kGcPositionals[] = {
    {.name = "URL", .sentence = "A folder, an object with an unfinished write, or a whole store."}};

constexpr Option kGcOptions[] = {
    {.name = "older-than",
     .default_value = "1d",
     .unit = "DURATION",
     .sentence = "Keep what was written within this time: 90s, 15m, 12h, 7d."},
    {.name = "dry-run",
     .type = OptionType::kFlag,
     .sentence = "Show what would be removed, and remove nothing."},
};

Result<seconds> older_than(const OptionValues& options) {
  if (const auto age = parse_duration(options.text("older-than"))) return std::chrono::ceil<seconds>(*age);
  return Error{Code::kInvalidArgument,
               concat("--older-than ", options.text("older-than"), ": it is written as 90s, 15m, 12h or 7d")};
}

Status check_gc(const OptionValues& options) {
  HEADRACE_CHECK(older_than(options));
  return {};
}

// The unfinished writes that were found, and what was done about them.
struct Collection {
  std::vector<UnfinishedWrite> old;
  std::uint64_t too_young = 0;
  std::uint64_t without_time = 0;
  std::uint64_t removed = 0;
  std::uint64_t removed_bytes = 0;
  std::uint64_t of_unknown_size = 0;
  std::uint64_t removed_objects = 0;
  std::uint64_t removed_object_bytes = 0;
  CollectedContent contents{};
  CompactedLogs metrics{};
  std::vector<std::string> failures;
};

// Whether the key is that object, or lies in that folder. A longer name with the same beginning does not
// count.
bool lies_at(const Location& place, std::string_view key) {
  return key == place.key || key.starts_with(folder_prefix(place.key));
}

// REQUIRES: an object, or an unfinished write. If the store's clock is ahead, an age of 0 still includes
// everything.
bool is_old(const auto& written, seconds age) {
  return written.modified &&
         (age == seconds(0) || std::chrono::system_clock::now() - *written.modified >= age);
}

Result<Collection> find_old(const Location& place, seconds age, const CallOptions& call) {
  Collection found;
  HEADRACE_CHECK(place.store->list_unfinished(place.key, call, [&](const UnfinishedWrite& write) {
    if (!lies_at(place, write.key)) return true;
    if (is_old(write, age)) {
      found.old.push_back(write);
    } else {
      ++(write.modified ? found.too_young : found.without_time);
    }
    return !call.stop.stop_requested();
  }));
  HEADRACE_CHECK(check_stop(call.stop, "listing"));
  return found;
}

std::string described(const Console& console, const Location& place, const UnfinishedWrite& write) {
  return concat(console.name(place.store->describe(write.key)),
                write.size_bytes ? concat(" (", format_size(*write.size_bytes), ")") : "",
                write.modified ? concat(", last written to ", format_time(*write.modified)) : "");
}

// Returns false and keeps the write if it has grown since it was listed: listing a large store takes time.
Result<bool> remove_if_still_old(const Location& place, const UnfinishedWrite& write, seconds age,
                                 bool is_dry_run, const CallOptions& call) {
  bool has_grown = false;
  HEADRACE_CHECK(place.store->list_unfinished(write.key, call, [&](const UnfinishedWrite& now) {
    if (now.key != write.key || now.id != write.id) return true;
    has_grown = !is_old(now, age);
    return false;
  }));
  if (has_grown) return false;
  if (!is_dry_run) HEADRACE_CHECK(place.store->remove_unfinished(write, call));
  return true;
}

Status remove_old(CommandContext& context, const Location& place, seconds age, bool is_dry_run,
                  Collection& found) {
  for (const UnfinishedWrite& write : found.old) {
    HEADRACE_CHECK(check_stop(context.stop, concat("removing unfinished writes of ", place.describe())));
    const Result<bool> removed = remove_if_still_old(place, write, age, is_dry_run, context.call());
    if (!removed) {
      found.failures.push_back(removed.error().message);
      context.console.warn(removed.error().message);
      continue;
    }
    if (!*removed) {
      ++found.too_young;
      continue;
    }
    ++found.removed;
    found.removed_bytes += write.size_bytes.value_or(0);
    if (!write.size_bytes) ++found.of_unknown_size;
    if (!context.console.json())
      context.console.result(
          concat(is_dry_run ? "would remove " : "removed ", described(context.console, place, write)));
  }
  return {};
}

// Removes objects that `prepare` left at an output.
Status remove_leftovers(CommandContext& context, const Location& place, seconds age, bool is_dry_run,
                        Collection& found) {
  HEADRACE_TRY(const std::vector<ObjectInfo> leftovers, find_leftovers(place, context.call()));
  std::vector<std::string> keys;
  std::uint64_t size_bytes = 0;
  for (const ObjectInfo& object : leftovers) {
    if (!is_old(object, age)) {
      ++(object.modified ? found.too_young : found.without_time);
      continue;
    }
    keys.push_back(object.key);
    size_bytes += object.size_bytes;
    if (!context.console.json())
      context.console.result(concat(is_dry_run ? "would remove " : "removes ",
                                    context.console.name(place.store->describe(object.key)), " (",
                                    format_size(object.size_bytes), ")"));
  }
  if (!keys.empty() && !is_dry_run) HEADRACE_CHECK(place.store->remove_many(keys, context.call()));
  found.removed_objects = keys.size();
  found.removed_object_bytes = size_bytes;
  return {};
}

// Removes bytes that artifacts of this tracking root kept, and that no version names.
Status remove_contents(CommandContext& context, const Location& place, seconds age, bool is_dry_run,
                       Collection& found) {
  const auto tell = [&](const ObjectInfo& object) {
    if (!context.console.json())
      context.console.result(concat(is_dry_run ? "would remove " : "removes ",
                                    context.console.name(place.store->describe(object.key)), " (",
                                    format_size(object.size_bytes), ")"));
  };
  HEADRACE_TRY(found.contents,
               collect_content(
                   place, is_dry_run, [&](const ObjectInfo& object) { return is_old(object, age); }, tell,
                   context.call()));
  found.too_young += found.contents.too_young;
  return {};
}

// Compacts the metrics of this tracking root's runs that lie in many small segments.
Status compact_metrics(CommandContext& context, const Location& place, seconds age, bool is_dry_run,
                       Collection& found) {
  HEADRACE_TRY(
      found.metrics,
      compact_logs(
          place, is_dry_run, [&](const ObjectInfo& object) { return is_old(object, age); }, context.call()));
  for (const BadMetricLog& bad : found.metrics.bad)
    context.console.warn(concat(bad.url, " is left as it is: ", bad.problem));
  return {};
}

void show_collection(Console& console, const Location& place, bool is_dry_run, const Collection& found) {
  if (console.json()) {
    console.result(Json({{"url", place.url.text()},
                         {"dry_run", is_dry_run},
                         {"removed", found.removed},
                         {"removed_bytes", found.removed_bytes},
                         {"of_unknown_size", found.of_unknown_size},
                         {"removed_objects", found.removed_objects},
                         {"removed_object_bytes", found.removed_object_bytes},
                         {"removed_contents", found.contents.removed},
                         {"removed_content_bytes", found.contents.removed_bytes},
                         {"compacted_logs", found.metrics.logs},
                         {"removed_segments", found.metrics.segments},
                         {"kept_too_young", found.too_young},
                         {"kept_without_time", found.without_time},
                         {"failures", found.failures}})
                       .dump());
    return;
  }
  const std::string unknown =
      found.of_unknown_size > 0 ? concat(" and ", found.of_unknown_size, " of unknown size") : "";
  console.note(concat(is_dry_run ? "would remove " : "removed ", found.removed, " unfinished writes (",
                      format_size(found.removed_bytes), unknown, ") below ", console.name(place.describe())));
  if (found.removed_objects > 0)
    console.note(concat(is_dry_run ? "would remove " : "removed ", found.removed_objects,
                        " objects that headrace prepare left behind and nobody needs (",
                        format_size(found.removed_object_bytes), ")"));
  if (found.contents.removed > 0)
    console.note(concat(is_dry_run ? "would remove " : "removed ", found.contents.removed,
                        " contents that no artifact names (", format_size(found.contents.removed_bytes),
                        ")"));
  if (found.metrics.logs > 0)
    console.note(concat(is_dry_run ? "would compact " : "compacted ", found.metrics.logs, " metric logs of ",
                        found.metrics.segments, " segments"));
  if (found.too_young > 0)
    console.note(
        concat("kept ", found.too_young, " that were written too recently; --older-than sets the age"));
  if (found.without_time > 0)
    console.note(concat("kept ", found.without_time, " whose age the store does not report"));
}

Status run_gc(CommandContext& context, const std::vector<std::string>& arguments,
              const OptionValues& options) {
  HEADRACE_TRY(const Location place, context.stores.open(arguments[0]));
  if (place.key.empty() && place.url.scheme == "file")
    return Error{Code::kInvalidArgument, "this would look through all files of this machine; name a folder"};
  HEADRACE_TRY(const seconds age, older_than(options));
  const bool is_dry_run = options.flag("dry-run");
  HEADRACE_TRY(Collection found, find_old(place, age, context.call()));
  Status removed = remove_old(context, place, age, is_dry_run, found);
  if (removed && !place.key.empty()) removed = remove_leftovers(context, place, age, is_dry_run, found);
  if (removed) removed = remove_contents(context, place, age, is_dry_run, found);
  if (removed) removed = compact_metrics(context, place, age, is_dry_run, found);
  show_collection(context.console, place, is_dry_run, found);
  HEADRACE_CHECK(removed);
  if (found.failures.empty()) return {};
  return Error{Code::kUnavailable, concat(found.failures.size(), " unfinished writes of ", found.old.size(),
                                          " below ", place.describe(), " could not be removed")};
}

}  // namespace

extern const Command kGcCommand;
const Command kGcCommand = {
    .name = "gc",
    .summary = "Remove what killed and stalled processes have left",
    .details =
        "Unfinished writes are not objects, so listings do not show them, but they take up space: multipart "
        "uploads in S3, chunks in Ignite, hidden .headrace-write-… files in folders. If a write that is "
        "still going on is removed, it fails; so only writes that have not grown for a while are removed.\n"
        "\n"
        "If URL is the output of headrace prepare, leftovers of plans that were given up or overtaken are "
        "removed, too: work objects, and parts that no manifest names. Everything published stays, and so "
        "does everything that the last plan needs to continue.\n"
        "\n"
        "If URL is the folder that runs are recorded in, bytes that were kept for an artifact are removed, "
        "too, unless a version names them. Metrics of runs that lie in many small segments are put into "
        "few.\n"
        "\n"
        "For a folder or a store, MinIO lists only uploads begun since its process started. For the exact "
        "key of an object it lists all. MinIO itself removes uploads after a day.\n"
        "\n"
        "  headrace gc s3://datasets/preprocessed-data\n"
        "  headrace gc --older-than 15m --dry-run s3://datasets",
    .positionals = kGcPositionals,
    .options = kGcOptions,
    .run = run_gc,
    .check = check_gc};

}  // namespace headrace
