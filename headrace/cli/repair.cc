#include "headrace/prepare/execute/repair.h"
#include "headrace/cli/worker_count.h"

#include <atomic>
#include <map>

#include "headrace/base/json.h"
#include "headrace/base/text.h"
#include "headrace/cli/command.h"
#include "headrace/cli/prepare_options.h"
#include "headrace/cli/published.h"
#include "headrace/store/layers/stoppable.h"
#include "headrace/store/staging.h"

namespace headrace {
namespace {

constexpr Positional kRepairDatasetPositionals[] = {
    {.name = "URL",
     .sentence = "A dataset that headrace prepare published, or a folder with published folders."}};

constexpr Option kRepairDatasetOptions[] = {
    {.name = "dry-run",
     .type = OptionType::kFlag,
     .sentence = "Write nothing: show what is missing or damaged, and whether its input is unchanged."},
    {.name = "jobs",
     .type = OptionType::kInteger,
     .default_value = "4",
     .unit = "parts",
     .sentence = "Parts to compare at a time; each takes 8 MiB of memory.",
     .minimum = 1,
     .maximum = 64},
    {.name = "workers",
     .type = OptionType::kInteger,
     .default_value = "0",
     .unit = "threads",
     .sentence = "Threads that read the input and make parts; 0: one per core.",
     .minimum = 0,
     .maximum = 1024},
    kEncoderWeightsOption,
    kMapTimeoutOption,
};

/// One folder: what it publishes, and what is bad there.
struct RepairedFolder {
  std::vector<PublishedFolder> versions;  // at least one
  std::vector<BadPart> bad;
  std::vector<PartRepair> repairs;
};

// The command that makes the contents of a folder again that is not a dataset.
std::string maker_of(const PublishedFolder& published) {
  const std::string& kind = published.manifest.kind;
  const std::string_view command = kind == "predictions" ? "headrace predict" : "headrace train";
  return concat("only datasets are repaired; this is a ", kind, ": ", command,
                " makes it again, with --overwrite or in another folder; headrace lineage ",
                published.folder.url.text(), " shows what it was made from");
}

Result<std::vector<RepairedFolder>> find_damage(CommandContext& context, const PublishedVersions& found,
                                                int jobs) {
  std::vector<RepairedFolder> folders;
  std::atomic<std::uint64_t> done = 0;
  for (const PublishedVersion& version : found.versions) {
    const Location& folder = version.published.folder;
    if (folders.empty() || folders.back().versions.back().folder.key != folder.key) folders.emplace_back();
    HEADRACE_TRY(const auto bad,
                 verify_parts(folder, version.parts, jobs, context.call(), [&](std::uint64_t bytes) {
                   context.console.progress("verifying", done += bytes, found.bytes, "bytes");
                 }));
    folders.back().versions.push_back(version.published);
    folders.back().bad.insert(folders.back().bad.end(), bad.begin(), bad.end());
  }
  return folders;
}

Status repair_folder(CommandContext& context, const OptionValues& values, RepairedFolder& folder) {
  std::vector<DamagedPart> damaged;
  for (const BadPart& bad : folder.bad) damaged.push_back({*bad.part, bad.problem});
  if (damaged.empty()) return {};
  if (folder.versions.front().manifest.kind != kDatasetKind) {
    for (DamagedPart& part : damaged)
      folder.repairs.push_back({.damaged = std::move(part), .why = maker_of(folder.versions.front())});
    return {};
  }
  const RepairOptions options{.workers = workers_from(values),
                              .temporary_folder = temporary_folder(context.environment),
                              .is_dry_run = values.flag("dry-run")};
  HEADRACE_TRY(folder.repairs,
               repair_dataset(folder.versions, std::move(damaged), planning_context(context, values), options,
                              progress_on(context.console)));
  return {};
}

Json to_json(const RepairedFolder& folder, const PartRepair& repair) {
  Json out = {{"url", folder.versions.front().folder.at(repair.damaged.part.key).url.text()},
              {"role", repair.damaged.part.role},
              {"problem", repair.damaged.problem}};
  if (!repair.is_repaired) out["why"] = repair.why;
  return out;
}

void show_as_json(Console& console, const PublishedVersions& found,
                  const std::vector<RepairedFolder>& folders, bool is_dry_run) {
  Json repaired = Json::array(), lost = Json::array();
  for (const RepairedFolder& folder : folders) {
    for (const PartRepair& repair : folder.repairs)
      (repair.is_repaired ? repaired : lost).push_back(to_json(folder, repair));
  }
  for (const BadPart& bad : found.bad)
    lost.push_back({{"url", bad.url}, {"role", "manifest"}, {"problem", bad.problem}});
  Json out = {{"ok", lost.values().empty()}, {"parts", found.parts}, {"size_bytes", found.bytes}};
  out[is_dry_run ? "repairable" : "repaired"] = std::move(repaired);
  out["lost"] = std::move(lost);
  console.result(out.dump());
}

void show(Console& console, const PublishedVersions& found, const std::vector<RepairedFolder>& folders,
          bool is_dry_run) {
  std::size_t damaged = found.bad.size();
  for (const RepairedFolder& folder : folders) {
    damaged += folder.repairs.size();
    for (const PartRepair& repair : folder.repairs) {
      const std::string url =
          console.name(folder.versions.front().folder.at(repair.damaged.part.key).describe());
      const std::string_view outcome = !repair.is_repaired ? "LOST"
                                       : is_dry_run        ? "can be repaired"
                                                           : "repaired";
      console.result(concat(outcome, "  ", url, "  ", repair.damaged.problem,
                            repair.why.empty() ? "" : "\n      ", repair.why));
    }
  }
  for (const BadPart& bad : found.bad)
    console.result(concat("LOST  ", console.name(bad.url), "  ", bad.problem, "\n      ", kRestoreChain));
  if (damaged == 0)
    console.result(concat("all ", found.parts, " parts (", format_size(found.bytes), ") are as published"));
}

Status run_repair_dataset(CommandContext& context, const std::vector<std::string>& arguments,
                          const OptionValues& values) {
  HEADRACE_TRY(Location location, context.stores.open(arguments[0]));
  location = make_stoppable(std::move(location), context.stop);
  HEADRACE_TRY(const PublishedVersions found, read_published_versions(location, false, context.call()));
  HEADRACE_TRY(std::vector<RepairedFolder> folders,
               find_damage(context, found, static_cast<int>(values.integer("jobs"))));
  std::size_t lost = found.bad.size();
  for (RepairedFolder& folder : folders) {
    HEADRACE_CHECK(repair_folder(context, values, folder));
    for (const PartRepair& repair : folder.repairs) lost += repair.is_repaired ? 0 : 1;
  }
  const bool is_dry_run = values.flag("dry-run");
  if (context.console.json()) {
    show_as_json(context.console, found, folders, is_dry_run);
  } else {
    show(context.console, found, folders, is_dry_run);
  }
  if (lost == 0) return {};
  return Error{Code::kDataLoss, concat(lost, " parts or manifests below ", location.describe(),
                                       " cannot be repaired; they are named above")};
}

}  // namespace

extern const Command kRepairCommand;
const Command kRepairCommand = {
    .name = "repair",
    .summary = "Make missing and damaged parts of a dataset again",
    .details =
        "Compares all parts of a dataset, former versions included, with their manifests, as headrace verify "
        "does. "
        "Makes missing and damaged parts again: an index from its shard, everything else from the "
        "input, by "
        "the plan that made it. A part is written only if it has exactly the bytes that were published, so "
        "it may run "
        "at any time, and beside other commands; manifests are never changed. The exit code is 1 if "
        "something cannot "
        "be repaired, for example because its input is gone; then it says what, and why.\n"
        "\n"
        "  headrace repair s3://datasets/reviews --dry-run\n"
        "  headrace repair s3://datasets/reviews\n"
        "  headrace verify s3://datasets/reviews",
    .positionals = kRepairDatasetPositionals,
    .options = kRepairDatasetOptions,
    .run = run_repair_dataset};

}  // namespace headrace
