#include <algorithm>
#include <atomic>

#include "headrace/base/json.h"
#include "headrace/base/text.h"
#include "headrace/cli/command.h"
#include "headrace/cli/published.h"

namespace headrace {
namespace {

constexpr Positional kVerifyPositionals[] = {
    {.name = "URL",
     .sentence = "A published folder, or a folder with published folders, such as a training run."}};

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
     .sentence = "Look only at the manifest that readers take, not at earlier ones: former versions of a "
                 "dataset, and earlier checkpoints."},
};

void show_verdict(Console& console, const PublishedVersions& verdict) {
  if (console.json()) {
    Json out = {{"ok", verdict.bad.empty()},
                {"parts", verdict.parts},
                {"size_bytes", verdict.bytes},
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
    console.result(out.dump());
    return;
  }
  for (const PublishedVersion& version : verdict.versions) {
    const PublishedFolder& published = version.published;
    console.result(concat(console.name(published.folder.describe()), "  ", published.manifest.kind,
                          ", manifest ", published.number, ", ", version.parts.size(), " parts"));
  }
  for (const BadPart& part : verdict.bad)
    console.result(concat("BAD  ", console.name(part.url), "  ", part.problem));
  if (verdict.bad.empty())
    console.result(
        concat("all ", verdict.parts, " parts (", format_size(verdict.bytes), ") are as published"));
}

Status run_verify(CommandContext& context, const std::vector<std::string>& arguments,
                  const OptionValues& options) {
  HEADRACE_TRY(const Location location, context.stores.open(arguments[0]));
  HEADRACE_TRY(PublishedVersions verdict,
               read_published_versions(location, options.flag("latest"), context.call()));
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
  show_verdict(context.console, verdict);
  if (verdict.bad.empty()) return {};
  const bool is_chain_bad =
      std::ranges::any_of(verdict.bad, [](const BadPart& bad) { return !bad.part.has_value(); });
  return Error{Code::kDataLoss,
               concat(verdict.bad.size(), " bad parts or manifests below ", location.describe(), ", of ",
                      verdict.parts, " parts that could be compared: headrace repair ", arguments[0],
                      " makes those of datasets again; headrace lineage ", arguments[0],
                      " shows the command that made the others", is_chain_bad ? "; " : "",
                      is_chain_bad ? kRestoreChain : "")};
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
        "  headrace verify s3://datasets/preprocessed-data\n"
        "  headrace verify s3://datasets/runs/imdb-1",
    .positionals = kVerifyPositionals,
    .options = kVerifyOptions,
    .run = run_verify};

}  // namespace headrace
