#include "headrace/artifact/artifact.h"

#include <algorithm>
#include <atomic>
#include <map>

#include "headrace/artifact/fetch.h"
#include "headrace/artifact/verify_artifact.h"
#include "headrace/base/text.h"
#include "headrace/cli/command.h"
#include "headrace/cli/find_runs.h"
#include "headrace/cli/record_run.h"
#include "headrace/cli/run_views.h"
#include "headrace/model/named_model.h"
#include "headrace/track/recorder.h"

namespace headrace {
namespace {

constexpr std::size_t kNewestRuns = 1000;  // runs whose outputs are listed

constexpr Positional kLsArtifactsPositionals[] = {
    {.name = "URL",
     .sentence =
         "Lists the artifacts of the tracking root at or above this URL, and of all roots below it."}};

constexpr Positional kArtifactRoot = {
    .name = "URL", .sentence = "The folder that runs are recorded in, or anything below it."};
constexpr Positional kShowArtifactPositionals[] = {
    kArtifactRoot,
    {.name = "NAME",
     .sentence =
         "NAME shows its versions. NAME:latest, NAME:ALIAS and NAME:v3 show one version and its entries."}};
constexpr Positional kGetArtifactPositionals[] = {
    kArtifactRoot,
    {.name = "NAME", .sentence = "NAME, NAME:ALIAS or NAME:v3. NAME alone is NAME:latest."},
    {.name = "TO", .sentence = "The folder that gets the entries, each at its path."}};
constexpr Positional kAliasArtifactPositionals[] = {
    kArtifactRoot,
    {.name = "NAME", .sentence = "NAME:v3, or NAME:ALIAS to let another alias name the same version."},
    {.name = "ALIAS", .sentence = "Name of the alias, such as stable."}};
constexpr Positional kVerifyArtifactPositionals[] = {
    kArtifactRoot,
    {.name = "NAME",
     .sentence = "NAME:ALIAS or NAME:v3. Default: all versions of all artifacts; NAME: all its versions.",
     .required = false}};
constexpr Option kAliasArtifactOptions[] = {kTrackOption, kRunIdOption};

Result<Location> artifact_root(CommandContext& context, const std::string& url) {
  HEADRACE_TRY(const Location location, context.stores.open(url));
  return tracking_root(location.at("run"), context.call());  // the root may be the URL itself
}

std::string quantity(std::uint64_t count, std::string_view one, std::string_view many) {
  return concat(count, " ", count == 1 ? one : many);
}

using NumberByAlias = std::map<std::string, std::uint64_t, std::less<>>;

std::vector<std::string> aliases_for(const NumberByAlias& aliases, std::uint64_t number, bool is_latest) {
  std::vector<std::string> names;
  if (is_latest) names.emplace_back(kLatestAlias);
  for (const auto& [alias, version] : aliases) {
    if (version == number) names.push_back(alias);
  }
  return names;
}

Json version_to_json(const ArtifactVersion& version) {
  return {{"name", version.name},
          {"version", version.number},
          {"type", version.type},
          {"description", version.description},
          {"metadata", version.metadata},
          {"entries", version.count},
          {"size_bytes", version.size_bytes},
          {"sources", version.sources},
          {"run", version.run},
          {"created", version.created},
          {"digest", version.digest}};
}

Json entry_to_json(const ArtifactEntry& entry) {
  Json out = {{"path", entry.path}, {"size_bytes", entry.size_bytes}};
  if (entry.is_reference()) out["url"] = entry.url;
  if (!entry.version.empty()) out["version"] = entry.version;
  if (!entry.sha256.empty()) out["sha256"] = entry.sha256;
  if (entry.crc32c) out["crc32c"] = hex32(*entry.crc32c);
  return out;
}

// Lists the named artifacts. Warns of a name whose latest version cannot be read.
Status list_named(CommandContext& context, const Location& root, Json& out) {
  HEADRACE_TRY(const std::vector<std::string> names, list_artifacts(root, context.call()));
  for (const std::string& name : names) {
    const auto latest = find_artifact(root, name, context.call());
    const auto aliases = artifact_aliases(root, name, context.call());
    if (!latest || !aliases) {
      context.console.warn((latest ? aliases.error() : latest.error()).message);
      continue;
    }
    Json found = version_to_json(*latest);
    found["url"] = recorded_url(artifact_folder(root, name));
    found["aliases"] = *aliases;
    out.push_back(std::move(found));
    if (context.console.json()) continue;
    std::string line =
        concat(context.console.name(name), ":v", latest->number, "  ", context.console.name(latest->type),
               ", ", quantity(latest->count, "entry", "entries"), ", ", format_size(latest->size_bytes),
               "  in ", context.console.name(root.describe()));
    for (const auto& [alias, number] : *aliases)
      line += concat("  ", context.console.name(alias), " v", number);
    context.console.result(line);
  }
  return {};
}

// Lists the latest manifest of each folder that the newest runs have published.
Status list_published(CommandContext& context, const Location& root, Json& out) {
  HEADRACE_TRY(const RunList runs, list_runs(root, kNewestRuns, context.call()));
  std::map<std::string, Artifact> published;
  for (const RunRecord& run : runs.runs) {
    for (const Artifact& output : run.outputs()) {
      if (output.manifest == 0 || output.kind == kArtifactKind) continue;
      Artifact& latest = published[output.url];
      if (output.manifest >= latest.manifest) latest = output;
    }
  }
  for (const auto& [url, artifact] : published) {
    out.push_back({{"url", url},
                   {"kind", artifact.kind},
                   {"manifest", artifact.manifest},
                   {"digest", artifact.digest},
                   {"size_bytes", artifact.size_bytes}});
    if (!context.console.json()) context.console.result(artifact_line(artifact));
  }
  return {};
}

Status list_all_artifacts(CommandContext& context, const std::vector<std::string>& arguments,
                          const OptionValues&) {
  HEADRACE_TRY(const Location location, context.stores.open(arguments[0]));
  HEADRACE_TRY(const std::vector<Location> roots, roots_near(context, location));
  Json named = Json::array();
  Json published = Json::array();
  for (const Location& root : roots) {
    HEADRACE_CHECK(list_named(context, root, named));
    HEADRACE_CHECK(list_published(context, root, published));
  }
  if (named.values().empty() && published.values().empty())
    return Error{Code::kNotFound, concat("no artifacts lie at, above or below ", location.describe(),
                                         ": a run's log_artifact keeps one, and every stage publishes one")};
  if (context.console.json())
    context.console.result(Json{{"artifacts", std::move(named)}, {"published", std::move(published)}}.dump());
  return {};
}

Status show_versions(CommandContext& context, const Location& root, const std::string& name) {
  HEADRACE_TRY(const ArtifactVersion latest, find_artifact(root, name, context.call()));
  HEADRACE_TRY(const std::vector<std::uint64_t> numbers, artifact_numbers(root, name, context.call()));
  HEADRACE_TRY(const NumberByAlias aliases, artifact_aliases(root, name, context.call()));
  Json out = Json::array();
  for (const std::uint64_t number : numbers) {
    HEADRACE_TRY(const ArtifactVersion version, read_artifact_version(root, name, number, context.call()));
    const std::vector<std::string> names = aliases_for(aliases, number, number == numbers.back());
    Json shown = version_to_json(version);
    shown["aliases"] = names;
    out.push_back(std::move(shown));
    if (context.console.json()) continue;
    std::string line = concat("v", number, "  ", context.console.name(version.created), "  ",
                              quantity(version.count, "entry", "entries"), ", ",
                              format_size(version.size_bytes), "  run ", context.console.name(version.run));
    for (const std::string& alias : names) line += concat("  ", context.console.name(alias));
    context.console.result(line);
  }
  if (context.console.json())
    context.console.result(Json{
        {"name", name},
        {"type", latest.type},
        {"url", recorded_url(artifact_folder(root, name))},
        {"versions",
         std::move(out)}}.dump());
  return {};
}

Status show_version(CommandContext& context, const Location& root, const ArtifactVersion& version) {
  HEADRACE_TRY(const std::vector<ArtifactEntry> entries, read_entries(root, version, context.call()));
  Console& console = context.console;
  if (console.json()) {
    Json out = version_to_json(version);
    out["entries"] = Json::array();
    for (const ArtifactEntry& entry : entries) out["entries"].push_back(entry_to_json(entry));
    console.result(out.dump());
    return {};
  }
  console.result(concat(console.name(version.name), ":v", version.number, "  ", console.name(version.type),
                        ", ", quantity(version.count, "entry", "entries"), ", ",
                        format_size(version.size_bytes)));
  console.result(concat("logged ", console.name(version.created), " by run ", console.name(version.run)));
  if (!version.description.empty()) console.result(console.name(version.description));
  if (!version.metadata.members().empty()) console.result(console.name(version.metadata.dump()));
  for (const ArtifactEntry& entry : entries)
    console.result(concat("  ", console.name(entry.path), "  ", format_size(entry.size_bytes),
                          entry.is_reference() ? "  " : "", console.name(entry.url)));
  return {};
}

Status show_artifact(CommandContext& context, const std::vector<std::string>& arguments,
                     const OptionValues&) {
  HEADRACE_TRY(const Location root, artifact_root(context, arguments[0]));
  if (arguments[1].find(':') == std::string::npos) return show_versions(context, root, arguments[1]);
  HEADRACE_TRY(const ArtifactVersion version, find_artifact(root, arguments[1], context.call()));
  return show_version(context, root, version);
}

Status get_artifact(CommandContext& context, const std::vector<std::string>& arguments, const OptionValues&) {
  HEADRACE_TRY(const Location root, artifact_root(context, arguments[0]));
  HEADRACE_TRY(const Location to, context.stores.open(arguments[2]));
  HEADRACE_TRY(const ArtifactVersion version, find_artifact(root, arguments[1], context.call()));
  HEADRACE_TRY(const std::vector<ArtifactEntry> entries, read_entries(root, version, context.call()));
  std::atomic<std::uint64_t> done = 0;
  HEADRACE_CHECK(fetch_entries(context.stores, root, entries, to, context.call(), [&](std::uint64_t bytes) {
    context.console.progress("copying", done += bytes, version.size_bytes, "bytes");
  }));
  if (context.console.json()) {
    Json out = version_to_json(version);
    out["url"] = recorded_url(to);
    context.console.result(out.dump());
    return {};
  }
  context.console.result(concat(
      context.console.name(to.describe()), "  ", quantity(version.count, "entry", "entries"), ", ",
      format_size(version.size_bytes), ", of ", context.console.name(version.name), ":v", version.number));
  return {};
}

Status set_artifact_alias(CommandContext& context, const std::vector<std::string>& arguments,
                          const OptionValues& options) {
  HEADRACE_TRY(const Location root, artifact_root(context, arguments[0]));
  const std::string& alias = arguments[2];
  HEADRACE_CHECK(check_artifact_alias(alias));
  HEADRACE_TRY(const ArtifactVersion version, find_artifact(root, arguments[1], context.call()));
  return record_run(
      context, "artifacts alias", artifact_folder(root, version.name), options,
      [&](RunRecorder& recorder, RunEnd&) -> Status {
        HEADRACE_CHECK(recorder.add_input(recorded_artifact(root, version)));
        HEADRACE_CHECK(point_artifact_alias(root, version.name, alias, version.number, recorder.run_id()));
        if (context.console.json())
          context.console.result(
              Json{{"alias", alias}, {"name", version.name}, {"version", version.number}}.dump());
        context.console.note(concat(context.console.name(alias), " of ", context.console.name(version.name),
                                    " is v", version.number));
        return {};
      },
      {.continues_earlier = false, .has_output = false});
}

// Verifies all versions that the command line names.
Status verify_named(CommandContext& context, const Location& root, const std::string& reference,
                    ArtifactVerifier& verifier) {
  if (reference.find(':') != std::string::npos) {
    HEADRACE_TRY(const ArtifactVersion version, find_artifact(root, reference, context.call()));
    return verifier.verify(version.name, version.number);
  }
  std::vector<std::string> names = {reference};
  if (reference.empty()) {
    HEADRACE_TRY(names, list_artifacts(root, context.call()));
  }
  for (const std::string& name : names) HEADRACE_CHECK(verifier.verify_all(name));
  return {};
}

void show_verdict_on(Console& console, const ArtifactVerifier& verifier) {
  if (console.json()) {
    Json bad = Json::array();
    for (const BadEntry& entry : verifier.bad())
      bad.push_back({{"artifact", entry.artifact},
                     {"path", entry.path},
                     {"url", entry.url},
                     {"problem", entry.problem}});
    console.result(Json{{"ok", verifier.bad().empty()},
                        {"versions", verifier.versions()},
                        {"entries", verifier.entries()},
                        {"bad", std::move(bad)}}
                       .dump());
    return;
  }
  for (const BadEntry& entry : verifier.bad())
    console.result(concat("BAD  ", console.name(entry.artifact), "  ", console.name(entry.path),
                          entry.path.empty() ? "" : "  ", console.name(entry.url), "  ", entry.problem));
  if (verifier.bad().empty())
    console.result(concat(quantity(verifier.versions(), "version", "versions"), " with ",
                          quantity(verifier.entries(), "entry", "entries"), ": all as they were logged"));
}

Status verify_artifacts(CommandContext& context, const std::vector<std::string>& arguments,
                        const OptionValues&) {
  HEADRACE_TRY(const Location root, artifact_root(context, arguments[0]));
  std::atomic<std::uint64_t> done = 0;
  ArtifactVerifier verifier(context.stores, root, context.call(), [&](std::uint64_t bytes) {
    context.console.progress("reading", done += bytes, 0, "bytes");
  });
  HEADRACE_CHECK(verify_named(context, root, arguments.size() > 1 ? arguments[1] : "", verifier));
  if (verifier.versions() == 0)
    return Error{Code::kNotFound, concat("no such artifact lies below ", root.describe(),
                                         ": headrace artifacts ls ", arguments[0], " lists them")};
  show_verdict_on(context.console, verifier);
  if (verifier.bad().empty()) return {};
  return Error{Code::kDataLoss, concat(verifier.bad().size(), " of ", verifier.entries(), " entries below ",
                                       root.describe(), " are not as they were logged")};
}

}  // namespace

extern const Command kArtifactsLsCommand;
const Command kArtifactsLsCommand = {
    .name = "artifacts ls",
    .summary = "List artifacts, and what runs have published",
    .details =
        "Shows the latest version of each artifact that a program has logged, with its aliases. Then come\n"
        "the datasets, models and other folders that the newest 1,000 runs have published.\n"
        "\n"
        "  headrace artifacts ls s3://datasets",
    .positionals = kLsArtifactsPositionals,
    .options = {},
    .run = list_all_artifacts};

extern const Command kArtifactsShowCommand;
const Command kArtifactsShowCommand = {
    .name = "artifacts show",
    .summary = "Show the versions of an artifact, or the entries of one version",
    .details =
        "  headrace artifacts show s3://datasets cats-and-dogs             its versions\n"
        "  headrace artifacts show s3://datasets cats-and-dogs:latest      the entries of one",
    .positionals = kShowArtifactPositionals,
    .options = {},
    .run = show_artifact};

extern const Command kArtifactsGetCommand;
const Command kArtifactsGetCommand = {
    .name = "artifacts get",
    .summary = "Copy the entries of an artifact to a folder",
    .details =
        "Compares each entry with its size and checksum. A reference that has changed since it was logged\n"
        "is an error. Objects that exist in TO are kept if they are the same, and are an error otherwise.\n"
        "\n"
        "  headrace artifacts get s3://datasets cats-and-dogs:stable ./cats-and-dogs",
    .positionals = kGetArtifactPositionals,
    .options = {},
    .run = get_artifact};

extern const Command kArtifactsAliasCommand;
const Command kArtifactsAliasCommand = {
    .name = "artifacts alias",
    .summary = "Point an alias of an artifact at a version",
    .details =
        "The alias is created if it does not exist. If somebody else sets the alias while the command is "
        "stalled, the command changes nothing and says so. latest cannot be set: it always names the newest "
        "version.\n"
        "\n"
        "  headrace artifacts alias s3://datasets cats-and-dogs:v3 stable",
    .positionals = kAliasArtifactPositionals,
    .options = kAliasArtifactOptions,
    .run = set_artifact_alias};

extern const Command kArtifactsVerifyCommand;
const Command kArtifactsVerifyCommand = {
    .name = "artifacts verify",
    .summary = "Compare artifacts with what is there now",
    .details =
        "Shows which references have changed since they were logged, or are gone; references are not read. "
        "Reads\n"
        "the bytes that are kept with artifacts, and compares them with their SHA-256. The exit code is 1 "
        "if\n"
        "anything is not as it was logged.\n"
        "\n"
        "  headrace artifacts verify s3://datasets\n"
        "  headrace artifacts verify s3://datasets cats-and-dogs:latest",
    .positionals = kVerifyArtifactPositionals,
    .options = {},
    .run = verify_artifacts};

}  // namespace headrace
