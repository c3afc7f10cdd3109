#include <algorithm>
#include <atomic>

#include "headrace/base/json.h"
#include "headrace/base/text.h"
#include "headrace/cli/command.h"
#include "headrace/cli/published.h"
#include "headrace/cli/verify_record.h"

namespace headrace {
namespace {

constexpr Positional kVerifyPositionals[] = {
    {.name = "URL",
     .sentence = "A published folder, a folder with published folders, such as a training run, or the folder "
                 "that runs are recorded in."}};

constexpr Option kVerifyOptions[] = {
    {.name = "jobs",
     .type = OptionType::kInteger,
     .default_value = "4",
     .unit = "parts",
     .sentence = "Parts to read at a time; each takes 8 MiB of memory.",
     .minimum = 1,
     .maximum = 64},
    {.name = "latest",
     .type = OptionType::kFlag,
     .sentence = "Check only the newest manifest, which readers use, not former versions of a dataset or "
                 "earlier checkpoints."},
};

void show_json(Console& console, const PublishedVersions& verdict, const VerifiedObjects& record) {
  Json out = {{"ok", verdict.bad.empty() && record.bad.empty()},
              {"parts", verdict.parts},
              {"size_bytes", verdict.bytes},
              {"recorded", record.objects},
              {"published", Json::array()},
              {"bad", Json::array()}};
  for (const PublishedVersion& version : verdict.versions) {
    const PublishedFolder& published = version.published;
    out["published"].push_back({{"url", published.folder.url.text()},
                                {"kind", published.manifest.kind},
                                {"manifest", published.number},
                                {"digest", published.digest},
                                {"parts", version.parts.size()}});
  }
  for (const BadPart& part : verdict.bad)
    out["bad"].push_back({{"url", part.url}, {"problem", part.problem}});
  for (const BadObject& object : record.bad)
    out["bad"].push_back({{"url", object.url}, {"problem", object.problem}});
  console.result(out.dump());
}

void show_verdict(Console& console, const PublishedVersions& verdict, const VerifiedObjects& record) {
  if (console.json()) return show_json(console, verdict, record);
  for (const PublishedVersion& version : verdict.versions) {
    const PublishedFolder& published = version.published;
    console.result(concat(console.name(published.folder.describe()), "  ", published.manifest.kind,
                          ", manifest ", published.number, ", ", version.parts.size(), " parts"));
  }
  for (const BadPart& part : verdict.bad)
    console.result(concat("BAD  ", console.name(part.url), "  ", part.problem));
  for (const BadObject& object : record.bad)
    console.result(concat("BAD  ", console.name(object.url), "  ", object.problem));
  if (verdict.bad.empty() && !verdict.versions.empty())
    console.result(
        concat("all ", verdict.parts, " parts (", format_size(verdict.bytes), ") are as published"));
  if (record.bad.empty() && record.objects > 0)
    console.result(concat("all ", record.objects, " recorded objects are as written"));
}

Error bad_parts(const PublishedVersions& verdict, const Location& location, const std::string& url) {
  const bool is_chain_bad =
      std::ranges::any_of(verdict.bad, [](const BadPart& bad) { return !bad.part.has_value(); });
  return {Code::kDataLoss, concat(verdict.bad.size(), " bad parts or manifests below ", location.describe(),
                                  ", of ", verdict.parts, " parts that could be compared: headrace repair ",
                                  url, " makes those of datasets again; headrace lineage ", url,
                                  " shows the command that made the others", is_chain_bad ? "; " : "",
                                  is_chain_bad ? kRestoreChain : "")};
}

Status run_verify(CommandContext& context, const std::vector<std::string>& arguments,
                  const OptionValues& options) {
  HEADRACE_TRY(const Location location, context.stores.open(arguments[0]));
  auto published = read_published_versions(location, options.flag("latest"), context.call());
  if (!published && published.error().code != Code::kNotFound) return std::move(published).error();
  HEADRACE_TRY(const VerifiedObjects record, verify_record(context, location));
  if (!published && record.objects == 0) return std::move(published).error();
  PublishedVersions verdict = published ? *std::move(published) : PublishedVersions();
  std::atomic<std::uint64_t> done = 0;
  for (const PublishedVersion& version : verdict.versions) {
    HEADRACE_TRY(
        const auto bad,
        verify_parts(version.published.folder, version.parts, static_cast<int>(options.integer("jobs")),
                     context.call(), [&](std::uint64_t bytes) {
                       context.console.progress("verifying", done += bytes, verdict.bytes, "bytes");
                     }));
    verdict.bad.insert(verdict.bad.end(), bad.begin(), bad.end());
  }
  show_verdict(context.console, verdict, record);
  if (!verdict.bad.empty()) return bad_parts(verdict, location, arguments[0]);
  if (record.bad.empty()) return {};
  return Error{Code::kDataLoss, concat(record.bad.size(), " of ", record.objects, " recorded objects below ",
                                       location.describe(),
                                       " are damaged: they cannot be made again; restore them from a copy")};
}

}  // namespace

extern const Command kVerifyCommand;
const Command kVerifyCommand = {
    .name = "verify",
    .summary = "Compare published parts with the sizes and checksums in their manifest",
    .details =
        "Reads all parts that any manifest names, in the folder and in every published folder below it, for "
        "example a training run's checkpoints and export. Manifests that --overwrite has replaced do not "
        "count, "
        "although some may be left. Names each part that is missing, has another size, "
        "or was altered, and each manifest or entry of ownership that cannot be read; the exit code is then "
        "1.\n"
        "\n"
        "In the folder that runs are recorded in, every object of the records, metrics, consoles, "
        "states of MLflow's client, and "
        "artifacts "
        "is\n"
        "read as well. headrace artifacts verify shows which references of artifacts have changed.\n"
        "\n"
        "  headrace verify s3://datasets/preprocessed-data\n"
        "  headrace verify s3://datasets/runs/imdb-1",
    .positionals = kVerifyPositionals,
    .options = kVerifyOptions,
    .run = run_verify};

}  // namespace headrace
