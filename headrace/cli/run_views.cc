#include "headrace/cli/run_views.h"

#include <cstdio>

#include "headrace/artifact/artifact.h"
#include "headrace/base/json.h"
#include "headrace/base/text.h"
#include "headrace/cli/quoted_name.h"
#include "headrace/store/url.h"

namespace headrace {
namespace {

std::string padded(std::string text, std::size_t width) {
  if (text.size() < width) text.append(width - text.size(), ' ');
  return text;
}

// Others may have written the records, so each text is kept on its line.
std::string in_line(std::string_view text) { return quoted_name(text, Quoting::kUnsafe); }

std::string format_seconds(double seconds) {
  char out[32];
  std::snprintf(out, sizeof out, seconds < 100 ? "%.1f s" : "%.0f s", seconds);
  return out;
}

Json record_to_json(const std::string& object) {
  Json out = parse_json(object).value_or(Json());
  for (const char* key : {"format", "version", "run", "zz_crc32c"}) out.members().erase(key);
  return out;
}

// Without an end, adds what was recorded before the end.
void add_end(Json& to, const std::string& run, const std::optional<RunEnd>& end, const RunSoFar& so_far) {
  if (end) {
    to["end"] = record_to_json(serialize_run_end(run, *end));
    return;
  }
  const auto add_all = [&](const char* name, const auto& items, const auto& serialize, const char* member) {
    Json list = Json::array();
    for (const auto& item : items) list.push_back(record_to_json(serialize(run, item))[member]);
    to["so_far"][name] = std::move(list);
  };
  add_all("inputs", so_far.inputs, serialize_run_input, "artifact");
  add_all("outputs", so_far.outputs, serialize_run_output, "artifact");
  add_all("series", so_far.series, serialize_run_series, "series");
}

void add_fact(std::string& page, std::string_view name, std::string_view value) {
  if (!value.empty()) page += concat("\n", padded(std::string(name), 14), value);
}

template <typename Facts, typename Show>
void add_facts(std::string& page, std::string_view name, const Facts& facts, const Show& show) {
  for (const auto& fact : facts) {
    add_fact(page, name, show(fact));
    name = "";
  }
}

}  // namespace

std::string format_metric(double number) {
  char out[32];
  std::snprintf(out, sizeof out, "%.4g", number);
  return out;
}

std::string run_line(const RunRecord& run, std::string_view status) {
  std::string line = concat(in_line(run.id), "  ", padded(in_line(run.start.command), 8), "  ",
                            padded(std::string(status), 10), "  ",
                            padded(run.end ? format_seconds(run.end->seconds) : "", 8));
  if (!run.start.output.empty()) line += "  " + in_line(run.start.output);
  if (run.end) {
    for (const auto& [name, number] : run.end->metrics)
      line += concat("  ", in_line(name), " ", format_metric(number));
  }
  return line;
}

std::string artifact_line(const Artifact& artifact) {
  const bool is_named = artifact.kind == kArtifactKind;
  const std::string_view name = last_segment(artifact.url);
  const std::string version = artifact.version.empty() ? "" : concat(":", artifact.version);
  std::string line = is_named ? in_line(concat(name, version)) : in_line(artifact.url);
  if (!artifact.kind.empty()) line += concat("  ", in_line(artifact.kind));
  if (is_named) line += concat(" at ", in_line(artifact.url));
  if (artifact.manifest > 0 && !is_named) line += concat(", manifest ", artifact.manifest);
  if (artifact.size_bytes > 0) line += concat(", ", format_size(artifact.size_bytes));
  return line;
}

std::string run_page(const RunRecord& run) {
  std::string page = concat(padded("run", 14), in_line(run.id));
  add_fact(page, "command", in_line(join(run.start.command_line, " ")));
  add_fact(page, "status", run_status_name(run.status()));
  if (run.end) add_fact(page, "error", run.end->error);
  add_fact(page, "resumed from", run.start.resumed_from);
  add_fact(page, "started", run.start.started);
  if (run.end) add_fact(page, "ended", concat(run.end->ended, "  (", format_seconds(run.end->seconds), ")"));
  add_fact(page, "output", in_line(run.start.output));
  const auto pair_of_texts = [](const auto& fact) { return concat(fact.first, " = ", fact.second); };
  const auto line_of_part = [](const RunPart& part) {
    return concat("rank ", part.start.rank, "  ", part.start.started, "  ",
                  run_status_name(part.end ? part.end->status : RunStatus::kUnfinished));
  };
  if (run.parts.size() > 1) add_facts(page, "parts", run.parts, line_of_part);
  add_facts(page, "remarks", run.start.remarks, [](const std::string& remark) { return remark; });
  add_facts(page, "inputs", run.inputs(), artifact_line);
  add_facts(page, "outputs", run.outputs(), artifact_line);
  add_facts(page, "series", run.end ? run.end->series : run.so_far.series,
            [](const RunSeries& series) { return concat(in_line(series.name), " = ", in_line(series.url)); });
  if (run.end) {
    add_facts(page, "metrics", run.end->metrics, pair_of_texts);
    add_facts(page, "counts", run.end->counts, pair_of_texts);
  }
  add_facts(page, "parameters", run.parameters(), pair_of_texts);
  add_facts(page, "versions", run.versions(), pair_of_texts);
  add_facts(page, "host", run.start.host, pair_of_texts);
  return printable_text(page);
}

Json run_to_json(const RunRecord& run) {
  Json out = {{"id", run.id},
              {"status", run_status_name(run.status())},
              {"start", record_to_json(serialize_run_start(run.id, run.start))},
              {"end", nullptr}};
  add_end(out, run.id, run.end, run.so_far);
  for (const RunPart& part : run.parts) {
    if (run.parts.size() == 1) break;
    Json shown = {{"part", part.name},
                  {"start", record_to_json(serialize_run_start(run.id, part.start))},
                  {"end", nullptr}};
    add_end(shown, run.id, part.end, part.so_far);
    out["parts"].push_back(std::move(shown));
  }
  return out;
}

}  // namespace headrace
