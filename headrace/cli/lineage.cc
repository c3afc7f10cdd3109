#include "headrace/track/lineage.h"

#include "headrace/artifact/artifact.h"
#include "headrace/base/json.h"
#include "headrace/base/text.h"
#include "headrace/cli/command.h"
#include "headrace/cli/run_views.h"
#include "headrace/track/openlineage.h"
#include "headrace/track/recorder.h"

namespace headrace {
namespace {

constexpr Positional kLineagePositionals[] = {
    {.name = "URL", .sentence = "An object or folder that a run read or made."},
    {.name = "NAME",
     .sentence = "An artifact that runs have logged at or above URL: NAME, NAME:ALIAS or NAME:v3.",
     .required = false}};

constexpr Option kLineageOptions[] = {
    {.name = "track",
     .type = OptionType::kTextList,
     .unit = "URL",
     .sentence = "Also read the runs recorded below this folder. Runs near URL, and near the inputs of the "
                 "runs that made it, are found without this option."},
    {.name = "format",
     .default_value = "tree",
     .sentence =
         "tree, or openlineage: the runs of the tree as OpenLineage events, one JSON object in each line.",
     .choices = "tree|openlineage"},
};

Json node_to_json(const LineageNode& node, const char* inner_name) {
  Json out = {{"url", node.artifact.url},
              {"kind", node.artifact.kind},
              {"manifest", node.artifact.manifest},
              {"digest", node.artifact.digest},
              {"runs", Json::array()}};
  if (node.repeated) out["repeated"] = true;
  for (const LineageStep& step : node.steps) {
    Json inner = Json::array();
    for (const LineageNode& other : step.nodes) inner.push_back(node_to_json(other, inner_name));
    Json run = run_to_json(step.run);
    run[inner_name] = std::move(inner);
    out["runs"].push_back(std::move(run));
  }
  return out;
}

struct TreeWords {
  std::string_view made;  // printed between an artifact and a run
  std::string_view from;  // printed between a run and an artifact
};

void print_tree(Console& console, const LineageNode& node, const TreeWords& words,
                const std::string& indent) {
  for (const LineageStep& step : node.steps) {
    console.result(concat(indent, words.made, " ", console.name(step.run.start.command), "  ",
                          console.name(step.run.id), "  ", run_status_name(step.run.status())));
    const std::string deeper = indent + "  ";
    for (const LineageNode& other : step.nodes) {
      console.result(concat(deeper, words.from, " ", artifact_line(other.artifact),
                            other.repeated ? "  (see above)" : ""));
      print_tree(console, other, words, deeper + "  ");
    }
  }
}

// The place that the command line asks about, and its version if the command line names one.
struct Asked {
  Location location;
  std::string digest{};
};

Result<Asked> asked_about(CommandContext& context, const std::vector<std::string>& arguments) {
  HEADRACE_TRY(Location location, context.stores.open(arguments[0]));
  if (arguments.size() == 1) return Asked{std::move(location)};
  HEADRACE_TRY(const Location root, tracking_root(location.at("run"), context.call()));
  HEADRACE_TRY(const ArtifactVersion version, find_artifact(root, arguments[1], context.call()));
  return Asked{artifact_folder(root, version.name), version.digest};
}

Status show_lineage(CommandContext& context, const Lineage& lineage, const OptionValues& options) {
  if (options.text("format") == "openlineage") {
    context.console.begin_stream();
    for (const RunRecord& run : runs_in(lineage)) {
      for (const std::string& event : openlineage_events(run)) context.console.result(event);
    }
    return {};
  }
  if (context.console.json()) {
    context.console.result(Json({{"url", lineage.upstream.artifact.url},
                                 {"upstream", node_to_json(lineage.upstream, "inputs")},
                                 {"downstream", node_to_json(lineage.downstream, "outputs")}})
                               .dump());
    return {};
  }
  context.console.result(artifact_line(lineage.upstream.artifact));
  print_tree(context.console, lineage.upstream, {"made by", "from"}, "  ");
  print_tree(context.console, lineage.downstream, {"used by", "made"}, "  ");
  return {};
}

Status run_lineage(CommandContext& context, const std::vector<std::string>& arguments,
                   const OptionValues& options) {
  HEADRACE_TRY(const Asked asked, asked_about(context, arguments));
  RunPool runs(context.stores, context.call());
  HEADRACE_TRY(const Location root, tracking_root(asked.location, context.call()));
  HEADRACE_CHECK(runs.add(root));
  for (const std::string& url : options.list("track")) {
    HEADRACE_TRY(const Location other, context.stores.open(url));
    HEADRACE_CHECK(runs.add(other));
  }
  HEADRACE_TRY(const Lineage lineage, lineage_of(recorded_url(asked.location), runs, asked.digest));
  for (const std::string& remark : runs.remarks()) context.console.warn(remark);
  if (!lineage.upstream.steps.empty() || !lineage.downstream.steps.empty())
    return show_lineage(context, lineage, options);
  return Error{Code::kNotFound,
               concat("no run recorded below ", root.describe(), " read or made ", asked.location.describe(),
                      "; --track names another folder with records")};
}

}  // namespace

extern const Command kLineageCommand;
const Command kLineageCommand = {
    .name = "lineage",
    .summary = "Show what an object or folder was made from, and what was made from it",
    .details =
        "Reads run records only, and follows them as far back and as far forward as they reach.\n"
        "\n"
        "  headrace lineage s3://datasets/runs/imdb-1\n"
        "  headrace lineage s3://datasets/aclImdb_v1.tar.gz --json\n"
        "  headrace lineage s3://datasets cats-and-dogs:v3\n"
        "  headrace lineage s3://datasets/runs/imdb-1 --format openlineage",
    .positionals = kLineagePositionals,
    .options = kLineageOptions,
    .run = run_lineage};

}  // namespace headrace
