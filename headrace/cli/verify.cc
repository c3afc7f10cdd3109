#include <algorithm>
#include <atomic>
#include <set>

#include "headrace/base/json.h"
#include "headrace/base/text.h"
#include "headrace/cli/command.h"
#include "headrace/cli/objects.h"
#include "headrace/cli/published.h"
#include "headrace/store/numbered.h"

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

struct Verdict {
  std::vector<PublishedFolder> folders;
  std::vector<BadPart> bad;
  std::uint64_t parts = 0;
  std::uint64_t bytes = 0;
};

// Takes one manifest, and of its parts those that no manifest taken before names. One that cannot be read is bad
// itself; what it names is unknown.
Status take_manifest(const Location& folder, const ManifestChoice& choice, std::set<std::string>& known,
                     Verdict& verdict) {
  auto published = read_published(folder, choice);
  const bool is_entry = !published && published.error().code == Code::kInvalidArgument;
  if (is_entry) return {};
  if (!published && published.error().code != Code::kDataLoss) return std::move(published).error();
  if (!published) {
    verdict.bad.push_back({folder.describe(), published.error().message});
  } else if (*published) {
    std::vector<ManifestPart>& parts = (*published)->manifest.parts;
    std::erase_if(parts, [&](const ManifestPart& part) {
      return !known.insert(concat(part.key, "\n", part.size_bytes, " ", part.crc32c)).second;
    });
    verdict.parts += parts.size();
    for (const ManifestPart& part : parts) verdict.bytes += part.size_bytes;
    verdict.folders.push_back(std::move(**published));
  }
  return {};
}

Status read_manifests(const Location& location, bool only_latest, const CallOptions& call, Verdict& verdict) {
  HEADRACE_TRY(const std::vector<Location> folders, find_published(location, call));
  for (const Location& folder : folders) {
    std::set<std::string> known;
    if (only_latest) {
      HEADRACE_CHECK(take_manifest(folder, {.call = call}, known, verdict));
      continue;
    }
    HEADRACE_TRY(std::vector<std::uint64_t> numbers,
                 present_numbers(*folder.store, folder.at(kManifestPrefix).key, call));
    std::ranges::reverse(numbers);
    for (const std::uint64_t number : numbers)
      HEADRACE_CHECK(take_manifest(folder, {.number = number, .call = call}, known, verdict));
  }
  return {};
}

void show_verdict(Console& console, const Verdict& verdict) {
  if (console.json()) {
    Json out = {{"ok", verdict.bad.empty()},
                {"parts", verdict.parts},
                {"size_bytes", verdict.bytes},
                {"published", Json::array()},
                {"bad", Json::array()}};
    for (const PublishedFolder& folder : verdict.folders) {
      out["published"].push_back({{"url", folder.folder.url.text()},
                                  {"kind", folder.manifest.kind},
                                  {"manifest", folder.number},
                                  {"digest", folder.digest},
                                  {"parts", folder.manifest.parts.size()}});
    }
    for (const BadPart& part : verdict.bad)
      out["bad"].push_back({{"url", part.url}, {"problem", part.problem}});
    console.result(out.dump());
    return;
  }
  for (const PublishedFolder& folder : verdict.folders) {
    console.result(concat(console.name(folder.folder.describe()), "  ", folder.manifest.kind, ", manifest ",
                          folder.number, ", ", folder.manifest.parts.size(), " parts"));
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
  Verdict verdict;
  HEADRACE_CHECK(read_manifests(location, options.flag("latest"), context.call(), verdict));
  if (verdict.folders.empty() && verdict.bad.empty()) {
    HEADRACE_TRY(const auto object, find_object(location, context.call()));
    HEADRACE_TRY(const bool folder, is_folder(location, context.call()));
    if (!object && !folder) return nothing_at(location);
    return Error{Code::kNotFound, concat(location.describe(),
                                         " is not published: no manifest lies in it or below, so there is "
                                         "nothing to compare with")};
  }
  std::atomic<std::uint64_t> done = 0;
  for (const PublishedFolder& folder : verdict.folders) {
    HEADRACE_TRY(const auto bad, verify_parts(folder, static_cast<int>(options.integer("jobs")),
                                              context.call(), [&](std::uint64_t bytes) {
                                                context.console.progress("verifying", done += bytes,
                                                                         verdict.bytes, "bytes");
                                              }));
    verdict.bad.insert(verdict.bad.end(), bad.begin(), bad.end());
  }
  show_verdict(context.console, verdict);
  if (verdict.bad.empty()) return {};
  return Error{
      Code::kDataLoss,
      concat(
          verdict.bad.size(), " bad parts or manifests below ", location.describe(), ", of ", verdict.parts,
          " parts that could be compared: make them again with the command that made them (headrace lineage ",
          arguments[0], " shows it), or restore them from a copy")};
}

}  // namespace

extern const Command kVerifyCommand;
const Command kVerifyCommand = {
    .name = "verify",
    .summary = "Compare published parts with the sizes and checksums in their manifest",
    .details =
        "Reads all parts that any manifest names, in the folder and in every published folder below it, for "
        "example a training run's checkpoints and export. Names each part that is missing, has another size, "
        "or was altered; the exit code is then 1.\n"
        "\n"
        "  headrace verify s3://datasets/preprocessed-data\n"
        "  headrace verify s3://datasets/runs/imdb-1",
    .positionals = kVerifyPositionals,
    .options = kVerifyOptions,
    .run = run_verify};

}  // namespace headrace
