#include "headrace/base/json.h"
#include "headrace/base/text.h"
#include "headrace/cli/command.h"
#include "headrace/cli/find_runs.h"
#include "headrace/cli/record_run.h"
#include "headrace/model/export_files.h"
#include "headrace/model/named_model.h"
#include "headrace/track/created_once.h"
#include "headrace/track/published_folder.h"

namespace headrace {
namespace {

constexpr Positional kModelsLsPositionals[] = {
    {.name = "URL",
     .sentence = "Shows the models of the tracking root at or above this URL, and of all roots below it."}};

constexpr Positional kModelPositional = {.name = "MODEL",
                                         .sentence = "The named model: a folder models/NAME."};
constexpr Positional kModelPositionals[] = {kModelPositional};

constexpr Positional kModelsAliasPositionals[] = {
    kModelPositional,
    {.name = "ALIAS", .sentence = "Name of the alias, such as stable."},
    {.name = "VERSION", .sentence = "The number of a published version."}};
constexpr Option kModelsAliasOptions[] = {kTrackOption, kRunIdOption};

constexpr Positional kModelsExportPositionals[] = {
    kModelPositional, {.name = "TO", .sentence = "The folder that gets NAME/VERSION/."}};
constexpr Option kModelsExportOptions[] = {
    {.name = "layout",
     .default_value = "tensorflow-serving",
     .sentence = "The folders that other servers expect: NAME/VERSION/saved_model.pb.",
     .choices = "tensorflow-serving"},
    {.name = "version",
     .type = OptionType::kInteger,
     .sentence = "The version. Default: that of the alias.",
     .minimum = 1},
    {.name = "alias", .default_value = kLatestAlias, .sentence = "The alias that names the version."},
    kTrackOption,
    kRunIdOption,
};

// An existing model: its folder, its name, and the numbers of its versions, ascending.
struct FoundModel {
  Location folder;
  std::string name;
  std::vector<std::uint64_t> versions;
  Aliases aliases;
};

Result<FoundModel> read_model(const Location& folder, const CallOptions& call) {
  HEADRACE_TRY(std::vector<std::uint64_t> versions, taken_versions(folder, call));
  if (versions.empty())
    return Error{Code::kNotFound,
                 concat("no version of a model is published in ", folder.describe(),
                        ": headrace models ls lists the models below a folder, and headrace train --name "
                        "publishes them")};
  FoundModel found{folder, std::string(last_segment(folder.key)), std::move(versions), Aliases(folder)};
  HEADRACE_TRY([[maybe_unused]] const bool has_changed, found.aliases.refresh(call));
  return found;
}

std::vector<std::string> aliases_of(const FoundModel& model, std::uint64_t version) {
  std::vector<std::string> names;
  for (const auto& [alias, number] : model.aliases.versions()) {
    if (number == version) names.push_back(alias);
  }
  return names;
}

Result<PublishedFolder> published_version(const FoundModel& model, std::uint64_t version,
                                          const CallOptions& call) {
  HEADRACE_TRY(std::optional<PublishedFolder> found,
               read_published(version_folder(model.folder, version), kExportKind, {.call = call}));
  if (found) return *std::move(found);
  return Error{Code::kNotFound, concat("version ", version, " of ", model.folder.describe(),
                                       " is not published; headrace models show ", model.folder.describe(),
                                       " lists the published versions")};
}

Json to_json(const FoundModel& model) {
  return Json{{"name", model.name},
              {"url", recorded_url(model.folder)},
              {"versions", model.versions.size()},
              {"aliases", model.aliases.versions()}};
}

std::string line_of(const FoundModel& model, const Console& console) {
  const std::size_t count = model.versions.size();
  std::string line =
      concat(console.name(recorded_url(model.folder)), "  ", count, count == 1 ? " version" : " versions");
  for (const auto& [alias, version] : model.aliases.versions())
    line += concat("  ", console.name(alias), " ", version);
  return line;
}

Status list_models(CommandContext& context, const std::vector<std::string>& arguments, const OptionValues&) {
  HEADRACE_TRY(const Location location, context.stores.open(arguments[0]));
  HEADRACE_TRY(const std::vector<Location> roots, roots_near(context, location));
  Json out = Json::array();
  for (const Location& root : roots) {
    HEADRACE_TRY(const std::vector<std::string> names, list_named_models(root, context.call()));
    for (const std::string& name : names) {
      const auto read = read_model(named_model_folder(root, name), context.call());
      if (!read && read.error().code == Code::kNotFound) continue;  // a folder of another program
      if (!read) {
        context.console.warn(read.error().message);
        continue;
      }
      const FoundModel& model = *read;
      if (!context.console.json()) context.console.result(line_of(model, context.console));
      out.push_back(to_json(model));
    }
  }
  if (out.values().empty())
    return Error{Code::kNotFound, concat("no named models lie at, above or below ", location.describe(),
                                         ": headrace train --name NAME publishes one")};
  if (context.console.json()) context.console.result(Json{{"models", std::move(out)}}.dump());
  return {};
}

Status show_model(CommandContext& context, const std::vector<std::string>& arguments, const OptionValues&) {
  HEADRACE_TRY(const Location folder, context.stores.open(arguments[0]));
  HEADRACE_TRY(const FoundModel model, read_model(folder, context.call()));
  Json versions = Json::array();
  for (const std::uint64_t version : model.versions) {
    HEADRACE_TRY(const VersionSource source, read_version_source(folder, version, context.call()));
    HEADRACE_TRY(const std::optional<PublishedFolder> published,
                 read_published(version_folder(folder, version), kExportKind, {.call = context.call()}));
    const std::vector<std::string> aliases = aliases_of(model, version);
    versions.push_back(Json{{"version", version},
                            {"published", published.has_value()},
                            {"export", source.export_url},
                            {"aliases", aliases}});
    if (context.console.json()) continue;
    std::string line = concat(version, "  ", context.console.name(source.export_url));
    if (!published)
      line += "  not published: its headrace train is still running, or was stopped; run that command again";
    for (const std::string& alias : aliases) line += concat("  ", context.console.name(alias));
    context.console.result(line);
  }
  if (context.console.json())
    context.console.result(
        Json{{"name", model.name}, {"url", recorded_url(folder)}, {"versions", std::move(versions)}}.dump());
  return {};
}

Status set_alias(CommandContext& context, const std::vector<std::string>& arguments,
                 const OptionValues& options) {
  HEADRACE_TRY(const Location folder, context.stores.open(arguments[0]));
  const auto version = parse_number<std::uint64_t>(arguments[2]);
  if (!version)
    return Error{Code::kInvalidArgument,
                 concat("VERSION is ", arguments[2], "; it must be the number of a version")};
  HEADRACE_CHECK(check_alias(arguments[1]));
  HEADRACE_TRY(const FoundModel model, read_model(folder, context.call()));
  HEADRACE_TRY(const PublishedFolder published, published_version(model, *version, context.call()));
  return record_run(
      context, "models alias", folder, options,
      [&](RunRecorder& recorder, RunEnd&) -> Status {
        HEADRACE_CHECK(recorder.add_input("version", published.folder));
        HEADRACE_CHECK(point_alias(folder, arguments[1], *version, recorder.run_id()));
        if (context.console.json())
          context.console.result(
              Json{{"alias", arguments[1]}, {"version", *version}, {"url", recorded_url(folder)}}.dump());
        context.console.note(concat(context.console.name(arguments[1]), " of ",
                                    context.console.name(folder.describe()), " is version ", *version));
        return {};
      },
      {.continues_earlier = false, .has_output = false});
}

Status copy_part(const Location& from, const Location& to, const ManifestPart& part,
                 const CallOptions& call) {
  HEADRACE_TRY(const ObjectInfo object, from.store->stat(from.key, call));
  HEADRACE_TRY(OnceUpload upload, OnceUpload::start(to, {.call = call}));
  HEADRACE_CHECK(
      read_in_pieces(*from.store, object, call, [&](BytesView piece) { return upload.append(piece); }));
  if (upload.size_bytes() != part.size_bytes || upload.crc32c() != part.crc32c)
    return Error{Code::kDataLoss, concat(from.describe(), " does not match its manifest: it was altered")};
  return upload.finish();
}

// saved_model.pb comes last: servers consider a folder complete once it has that file.
Status copy_version(const PublishedFolder& version, const Location& to, const CallOptions& call) {
  const std::string below = folder_of_part(version.manifest, kSavedModelFile);
  for (const ManifestPart& part : with_saved_model_last(version.manifest.parts)) {
    if (!part.key.starts_with(below)) continue;
    HEADRACE_CHECK(copy_part(version.folder.at(part.key), to.at(part.key.substr(below.size())), part, call));
  }
  return {};
}

Result<std::uint64_t> wanted_version(const FoundModel& model, const OptionValues& options) {
  if (options.has("version")) return static_cast<std::uint64_t>(options.integer("version"));
  const std::string& alias = options.text("alias");
  if (const auto version = model.aliases.version_of(alias)) return *version;
  std::vector<std::string> known;
  for (const auto& [name, number] : model.aliases.versions()) known.push_back(name);
  return Error{Code::kNotFound, concat(model.folder.describe(), " has no alias ", alias, "; it has ",
                                       known.empty() ? "none" : join(known, ", "))};
}

Status export_model_for_others(CommandContext& context, const std::vector<std::string>& arguments,
                               const OptionValues& options) {
  HEADRACE_TRY(const Location folder, context.stores.open(arguments[0]));
  HEADRACE_TRY(const Location target, context.stores.open(arguments[1]));
  HEADRACE_TRY(const FoundModel model, read_model(folder, context.call()));
  HEADRACE_TRY(const std::uint64_t number, wanted_version(model, options));
  HEADRACE_TRY(const PublishedFolder version, published_version(model, number, context.call()));
  const Location to = target.at(concat(model.name, "/", number));
  return record_run(context, "models export", to, options, [&](RunRecorder& recorder, RunEnd&) -> Status {
    HEADRACE_CHECK(recorder.add_input("version", version.folder));
    HEADRACE_CHECK(copy_version(version, to, context.call()));
    HEADRACE_CHECK(recorder.add_output("saved_model", to.at(kSavedModelFile)));
    context.console.result(context.console.json()
                               ? Json{{"url", recorded_url(to)}, {"version", number}}.dump()
                               : context.console.name(to.describe()));
    return {};
  });
}

Status check_export(const OptionValues& options) {
  if (!options.has("version") || !options.given("alias")) return {};
  return Error{Code::kInvalidArgument, "--version and --alias both say which version: give one of them"};
}

}  // namespace

extern const Command kModelsLsCommand;
const Command kModelsLsCommand = {
    .name = "models ls",
    .summary = "List the named models below a folder",
    .details =
        "Shows the URL of each, the number of its versions, and its aliases with their versions.\n"
        "\n"
        "  headrace models ls s3://datasets",
    .positionals = kModelsLsPositionals,
    .options = {},
    .run = list_models};

extern const Command kModelsShowCommand;
const Command kModelsShowCommand = {
    .name = "models show",
    .summary = "Show the versions of a named model",
    .details =
        "Shows the number of each version, the export that it is a copy of, and its aliases.\n"
        "\n"
        "  headrace models show s3://datasets/models/imdb",
    .positionals = kModelPositionals,
    .options = {},
    .run = show_model};

extern const Command kModelsAliasCommand;
const Command kModelsAliasCommand = {
    .name = "models alias",
    .summary = "Point an alias of a named model at a version",
    .details =
        "The alias is created if it does not exist. If somebody else sets the alias while the command is "
        "stalled, the command changes nothing and says so. The log of aliases keeps each change, with the "
        "run that made it.\n"
        "\n"
        "  headrace models alias s3://datasets/models/imdb stable 3\n"
        "  headrace models alias s3://datasets/models/imdb stable 2        back to the version before",
    .positionals = kModelsAliasPositionals,
    .options = kModelsAliasOptions,
    .run = set_alias};

extern const Command kModelsExportCommand;
const Command kModelsExportCommand = {
    .name = "models export",
    .summary = "Copy a version of a named model to where other servers load it",
    .details =
        "TensorFlow Serving, KServe and Vertex AI load NAME/VERSION/saved_model.pb. That file is written "
        "last. An existing copy is kept if it is the same, and is an error otherwise. After a stop, the "
        "same command completes the copy.\n"
        "\n"
        "  headrace models export s3://datasets/models/imdb s3://served --alias stable\n"
        "  tensorflow_model_server --model_name=imdb --model_base_path=/served/imdb",
    .positionals = kModelsExportPositionals,
    .options = kModelsExportOptions,
    .run = export_model_for_others,
    .check = check_export};

}  // namespace headrace
