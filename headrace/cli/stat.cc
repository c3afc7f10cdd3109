#include <nlohmann/json.hpp>

#include "headrace/base/text.h"
#include "headrace/cli/command.h"
#include "headrace/cli/objects.h"
#include "headrace/track/recorder.h"

namespace headrace {
namespace {

constexpr Positional kPositionals[] = {{.name = "URL", .sentence = "An object or a folder."}};

Status show_object(CommandContext& context, const Location& location, const ObjectInfo& object) {
  if (context.console.json()) {
    nlohmann::json out = {{"url", location.url.text()},
                          {"kind", "object"},
                          {"size_bytes", object.size_bytes},
                          {"version", object.version.token}};
    if (object.modified) out["modified"] = format_time(*object.modified);
    context.console.result(out.dump());
    return {};
  }
  context.console.result(location.describe());
  context.console.result(
      concat("  object    ", object.size_bytes, " bytes (", format_size(object.size_bytes), ")"));
  if (object.modified) context.console.result(concat("  modified  ", format_time(*object.modified)));
  context.console.result(concat("  version   ", object.version.token));
  return {};
}

Status run(CommandContext& context, const std::vector<std::string>& arguments, const OptionValues&) {
  HEADRACE_TRY(const Location location, context.stores.open(arguments[0]));
  HEADRACE_TRY(const auto object, find_object(location, context.call()));
  if (object) return show_object(context, location, *object);
  HEADRACE_TRY(const Totals totals, total_below(location, context.call()));
  if (totals.objects == 0) return nothing_at(location);
  HEADRACE_TRY(const Artifact artifact, describe_artifact(location, context.call()));
  if (context.console.json()) {
    context.console.result(nlohmann::json({{"url", artifact.url},
                                           {"kind", artifact.kind},
                                           {"objects", totals.objects},
                                           {"size_bytes", totals.bytes},
                                           {"manifest", artifact.manifest},
                                           {"digest", artifact.digest}})
                               .dump());
    return {};
  }
  context.console.result(location.describe());
  context.console.result(concat("  folder    ", totals.objects, " objects, ", format_size(totals.bytes)));
  if (artifact.manifest > 0) {
    context.console.result(concat("  published ", artifact.kind, ", manifest ", artifact.manifest,
                                  ", its parts ", format_size(artifact.size_bytes)));
    context.console.result(concat("  digest    ", artifact.digest));
  }
  return {};
}

}  // namespace

extern const Command kStatCommand;
const Command kStatCommand = {.name = "stat",
                              .summary = "Show size, time and version of an object, or what a folder holds",
                              .details =
                                  "  headrace stat s3://datasets/aclImdb_v1.tar.gz\n"
                                  "  headrace stat s3://datasets/preprocessed-data --json",
                              .positionals = kPositionals,
                              .options = {},
                              .run = run};

}  // namespace headrace
