
#include "headrace/base/json.h"
#include "headrace/base/text.h"
#include "headrace/cli/command.h"
#include "headrace/cli/objects.h"
#include "headrace/track/recorder.h"

namespace headrace {
namespace {

constexpr Positional kStatPositionals[] = {
    {.name = "URL", .sentence = "An object, a folder, or a quoted pattern of objects and folders."}};

Json describe_object(const Location& place, const ObjectInfo& object) {
  Json out = {{"url", place.url.text()},
              {"kind", "object"},
              {"size_bytes", object.size_bytes},
              {"version", object.version.token}};
  if (object.modified) out["modified"] = format_time(*object.modified);
  return out;
}

void show_object(Console& console, const Location& place, const ObjectInfo& object) {
  console.result(console.name(place.describe()));
  console.result(concat("  object    ", object.size_bytes, " bytes (", format_size(object.size_bytes), ")"));
  if (object.modified) console.result(concat("  modified  ", format_time(*object.modified)));
  console.result(concat("  version   ", console.name(object.version.token)));
}

struct FolderFacts {
  Totals totals;
  Artifact artifact;
};

Json describe_folder(const FolderFacts& folder) {
  return {{"url", folder.artifact.url},           {"kind", folder.artifact.kind},
          {"objects", folder.totals.objects},     {"size_bytes", folder.totals.bytes},
          {"manifest", folder.artifact.manifest}, {"digest", folder.artifact.digest}};
}

void show_folder(Console& console, const Location& place, const FolderFacts& folder) {
  const auto& [totals, artifact] = folder;
  console.result(console.name(place.describe()));
  console.result(concat("  folder    ", totals.objects, " objects, ", format_size(totals.bytes)));
  if (artifact.manifest == 0) return;
  console.result(concat("  published ", artifact.kind, ", manifest ", artifact.manifest, ", its parts ",
                        format_size(artifact.size_bytes)));
  console.result(concat("  digest    ", artifact.digest));
}

// Describes one object or folder: shows it, or, for --json, returns it.
Result<Json> stat_one(CommandContext& context, const Location& place,
                      const std::optional<ObjectInfo>& object) {
  if (object) {
    if (!context.console.json()) show_object(context.console, place, *object);
    return describe_object(place, *object);
  }
  HEADRACE_TRY(const Totals totals, total_below(place, context.call()));
  HEADRACE_TRY(const Artifact artifact, describe_artifact(place, {.call = context.call()}));
  const FolderFacts folder{totals, artifact};
  if (!context.console.json()) show_folder(context.console, place, folder);
  return describe_folder(folder);
}

Status run_stat(CommandContext& context, const std::vector<std::string>& arguments, const OptionValues&) {
  HEADRACE_TRY(const Location place, context.stores.open(arguments[0]));
  HEADRACE_TRY(const Named named, look_up(place, arguments[0], context.call()));
  Json out;
  if (named.kind == Named::Kind::kPattern) {
    out = {{"matches", Json::array()}};
    const Matched matched = asks_for_folder(arguments[0]) ? Matched::kFolders : Matched::kBoth;
    HEADRACE_CHECK(visit_matches(place, matched, context.call(), [&](const ObjectInfo& entry) -> Status {
      const auto object = entry.is_folder() ? std::nullopt : std::optional(entry);
      HEADRACE_TRY(Json match, stat_one(context, with_key(place, entry.key), object));
      if (context.console.json()) out["matches"].push_back(std::move(match));
      return {};
    }));
  } else if (named.kind == Named::Kind::kObject) {
    HEADRACE_TRY(out, stat_one(context, place, named.object));
  } else {
    HEADRACE_TRY(const bool folder, is_folder(place, context.call()));
    if (!folder) return nothing_at(place);
    HEADRACE_TRY(out, stat_one(context, place, std::nullopt));
  }
  if (context.console.json()) context.console.result(out.dump());
  return {};
}

}  // namespace

extern const Command kStatCommand;
const Command kStatCommand = {
    .name = "stat",
    .summary = "Show size, time and version of an object, or the contents of a folder",
    .details =
        "  headrace stat s3://datasets/aclImdb_v1.tar.gz\n"
        "  headrace stat s3://datasets/preprocessed-data --json\n"
        "  headrace stat 's3://runs/imdb-1/checkpoints/step-*'",
    .positionals = kStatPositionals,
    .options = {},
    .run = run_stat};

}  // namespace headrace
