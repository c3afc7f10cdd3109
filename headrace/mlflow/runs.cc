#include "headrace/mlflow/runs.h"

#include <algorithm>

#include "headrace/base/environment.h"
#include "headrace/base/text.h"
#include "headrace/mlflow/names.h"

namespace headrace::mlflow {
namespace {

constexpr std::string_view kRunning = "RUNNING";

bool has_run_ended(std::string_view status) {
  return status == "FINISHED" || status == "FAILED" || status == "KILLED";
}

// Parses a status: its name, or its number in protobuf.
Result<std::string> parse_run_status(const std::string& given) {
  constexpr std::string_view kNames[] = {"", "RUNNING", "SCHEDULED", "FINISHED", "FAILED", "KILLED"};
  if (given.empty()) return std::string();
  const auto number = parse_number<std::size_t>(given);
  if (number && *number > 0 && *number < std::size(kNames)) return std::string(kNames[*number]);
  if (std::ranges::find(kNames, given) != std::end(kNames)) return given;
  return Error{Code::kInvalidArgument, concat("'", printable_line(given, 60), "' is not a run status")};
}

Error deleted_run(const std::string& run) {
  return {Code::kInvalidArgument, concat("The run ", run, " is deleted: restore it first")};
}

// Adds the part's last points to the state, and marks the part's points as complete.
void add_part_points(Json& state, const OpenPart& part) {
  LastPoints points = last_points_from_json(state["last_points"]);
  for (const auto& [key, point] : part.last_points()) keep_later(points, key, point);
  state["last_points"] = last_points_to_json(points);
  Json::Array parts;
  if (state["parts"].is_array()) parts = state["parts"].values();
  parts.push_back(part.part());
  std::ranges::sort(parts, {}, [](const Json& each) { return each.is_string() ? each.text() : ""; });
  parts.erase(std::unique(parts.begin(), parts.end()), parts.end());
  state["parts"] = std::move(parts);
}

Status outcome_of(const std::string& status) {
  if (status == "FINISHED") return {};
  return Error{status == "KILLED" ? Code::kCancelled : Code::kUnknown, concat("MLflow's status is ", status)};
}

}  // namespace

Runs::Runs(Location root, const PartSurroundings& parts, Experiments& experiments, LoggedModels& models,
           ClockMs now_ms, std::function<void(const std::string&)> warn, std::optional<std::string> cache)
    : root_(std::move(root)),
      surroundings_(parts),
      experiments_(experiments),
      models_(models),
      now_ms_(std::move(now_ms)),
      warn_(std::move(warn)),
      indexes_(std::move(cache), parts.stores.server_of(root_.url), warn_),
      records_(root_, parts.stores, warn_) {}

// REQUIRES: the run exists
std::shared_ptr<StateLog> Runs::log_named(const std::string& run) {
  const std::scoped_lock lock(mutex_);
  auto& log = states_[run];
  if (log == nullptr)
    log = std::make_shared<StateLog>(root_.at(concat(kStatesFolder, "/runs/", run)), "headrace.mlflow.run");
  return log;
}

Result<std::shared_ptr<StateLog>> Runs::log_of(const std::string& run, const CallOptions& call) {
  HEADRACE_CHECK(check_run_id(run));
  {
    const std::scoped_lock lock(mutex_);
    if (const auto found = states_.find(run); found != states_.end()) return found->second;
  }
  HEADRACE_CHECK(records_.one(run, call));
  return log_named(run);
}

Result<State> Runs::change(const std::string& run, const StateLog::Edit& edit, bool must_be_active,
                           const CallOptions& call) {
  HEADRACE_TRY(const auto log, log_of(run, call));
  std::map<std::string, std::string> own;  // the record's params, which cannot be changed either
  if (!is_of_mlflow(*log->known())) {
    HEADRACE_TRY(const RecordPointer record, records_.one(run, call));
    own = record->parameters();
  }
  const auto change = [&](Json& state) -> Status {
    if (must_be_active && is_run_deleted(state, experiments_.known())) return deleted_run(run);
    if (!is_of_mlflow(state)) {
      for (const auto& [key, value] : own) {
        if (!state["params"].contains(key)) state["params"][key] = value;
      }
    }
    return edit(state);
  };
  return log->change(change, call);
}

Result<Json> Runs::create(const RequestFields& fields, const CallOptions& call) {
  HEADRACE_TRY(std::string experiment, fields.text("experiment_id"));
  HEADRACE_TRY(const std::string user, fields.text("user_id"));
  HEADRACE_TRY(std::string name, fields.text("run_name"));
  HEADRACE_TRY(const auto started, fields.integer("start_time"));
  HEADRACE_TRY(const auto given_tags, fields.pairs("tags"));
  HEADRACE_CHECK(check_tags(given_tags));
  if (experiment.empty()) experiment = kDefaultExperiment;
  HEADRACE_CHECK(experiments_.require_active(experiment, call));
  Json tags = Json::object();
  for (const auto& [key, value] : given_tags) tags[key] = value;
  const std::string tagged = tags.get_or(kRunNameTag, "");
  if (!name.empty() && !tagged.empty() && name != tagged) {
    return Error{Code::kInvalidArgument, concat("run_name is '", printable_line(name, 60), "', but the tag ",
                                                kRunNameTag, " is '", printable_line(tagged, 60), "'")};
  }
  if (name.empty()) name = tagged;
  if (name.empty()) name = concat("run-", hex32(static_cast<std::uint32_t>(random_name_bits())));
  tags[kRunNameTag] = name;
  HEADRACE_TRY(const PartPointer part, OpenPart::start(surroundings_, "", {{"name", name}}, nullptr, call));
  open_.add(part);
  const auto begin = [&](Json& state) -> Status {
    state["is_mlflow"] = true;
    state["experiment"] = experiment;
    state["user"] = user;
    state["name"] = name;
    state["status"] = kRunning;
    state["started"] = started && *started > 0 ? *started : now_ms_();
    state["ended"] = nullptr;
    state["tags"] = tags;
    state["params"] = Json::object();
    return {};
  };
  HEADRACE_CHECK(log_named(part->run())->change(begin, call));
  end_surplus(call);
  HEADRACE_TRY(const RunView view, view_of(part->run(), call));
  return Json({{"run", run_to_json(view)}});
}

Result<RunView> Runs::view_of(const std::string& run, const CallOptions& call) {
  HEADRACE_CHECK(check_run_id(run));
  HEADRACE_TRY(const RecordPointer record, records_.one(run, call));
  HEADRACE_TRY(State state, log_named(run)->load(call));
  HEADRACE_TRY(const ExperimentList experiments, experiments_.load(call));
  return view(record, std::move(state), experiments, call);
}

RunView Runs::bare_view(const RecordPointer& record, State state, const ExperimentList& experiments) {
  RunView run{.record = record, .state = std::move(state)};
  run.is_deleted = is_run_deleted(*run.state, experiments);
  std::string location = experiments.artifact_location(experiment_of(*run.state));
  while (location.ends_with('/')) location.pop_back();
  run.artifact_uri = concat(location, "/", record->id, "/artifacts");
  return run;
}

Result<RunView> Runs::view(const RecordPointer& record, State state, const ExperimentList& experiments,
                           const CallOptions& call) {
  RunView run = bare_view(record, std::move(state), experiments);
  const Json& facts = *run.state;
  run.points = last_points_from_json(facts["last_points"]);
  const PartPointer part = open_.find(record->id);
  const auto is_known = [&](const RunPart& each) {
    return (part != nullptr && each.name == part->part()) || has_points_of(facts, each);
  };
  if (has_series(*record) && !std::ranges::all_of(record->parts, is_known))
    HEADRACE_CHECK(add_stored_points(run, call));
  add_end_metrics(facts, *record, run.points);
  if (part == nullptr) return run;
  for (const auto& [key, point] : part->last_points()) keep_later(run.points, key, point);
  return run;
}

// If several ranks have a metric with the same name, the lowest rank's metric gets the plain name.
Status Runs::add_stored_points(RunView& run, const CallOptions& call) {
  const RunRecord& record = *run.record;
  HEADRACE_TRY(const MetricsPointer metrics, records_.metrics(record, call));
  run.may_get_points = !has_ended(record) || !metrics->are_ended();
  HEADRACE_TRY(const std::vector<MetricSummary> summaries, metrics->summaries());
  const auto ended = record.end ? milliseconds_of(record.end->ended) : std::nullopt;
  const std::int64_t time_ms = ended.value_or(milliseconds_of(record.start.started).value_or(0));
  std::string_view before;
  for (const MetricSummary& each : summaries) {
    const bool is_first = each.name != before;
    before = each.name;
    keep_later(run.points, is_first ? each.name : concat(each.name, "/rank-", each.rank),
               {each.last_step, time_ms, each.last});
  }
  return {};
}

Result<Json> Runs::get(const RequestFields& fields, const CallOptions& call) {
  HEADRACE_TRY(const std::string run, fields.run_id());
  HEADRACE_TRY(const RunView view, view_of(run, call));
  return Json({{"run", run_to_json(view)}});
}

Result<Json> Runs::update(const RequestFields& fields, const CallOptions& call) {
  HEADRACE_TRY(const std::string run, fields.run_id());
  HEADRACE_TRY(const std::string given, fields.text("status"));
  HEADRACE_TRY(const std::string status, parse_run_status(given));
  HEADRACE_TRY(const auto ended, fields.integer("end_time"));
  HEADRACE_TRY(const std::string name, fields.text("run_name"));
  if (!name.empty()) HEADRACE_CHECK(check_tag_value(name));
  HEADRACE_CHECK(set_status(run, status, ended, name, call));
  HEADRACE_TRY(const RunView view, view_of(run, call));
  return Json({{"run_info", run_info_to_json(view)}});
}

Status Runs::set_status(const std::string& run, const std::string& status, std::optional<std::int64_t> ended,
                        const std::string& name, const CallOptions& call) {
  PartPointer part;
  const bool is_end = has_run_ended(status);
  if (!status.empty()) {  // the record must show that the run continues, or how it has ended
    HEADRACE_CHECK(change(
        run, [](Json&) -> Status { return {}; }, true, call));
    HEADRACE_TRY(part, is_end ? part_to_end(run, call) : part_of(run, call));
  }
  std::optional<PartSeal> seal;
  if (is_end) {
    seal.emplace(part);
    HEADRACE_CHECK(part->publish());
  }
  const auto update = [&](Json& state) -> Status {
    if (!status.empty()) {
      state["status"] = status;
      state["ended"] = ended && *ended > 0 ? Json(*ended) : Json();
    }
    if (!name.empty()) {
      state["name"] = name;
      state["tags"][kRunNameTag] = name;
    }
    if (is_end) add_part_points(state, *part);
    return {};
  };
  HEADRACE_TRY(const State state, change(run, update, true, call));
  if (!is_end) return {};
  seal->keep();
  HEADRACE_CHECK(end_part(part, status, *state, call));
  HEADRACE_TRY(const RecordPointer record, records_.one(run, call));
  if (record->parts.front().name == part->part()) return {};
  HEADRACE_TRY(const PartPointer last, start_part(run, call));  // this part records how the run has ended
  open_.add_ending(last);
  return end_part(last, status, *state, call);
}

Status Runs::end_part(const PartPointer& part, const std::string& status, const Json& state,
                      const CallOptions& call) {
  const std::string folder = artifact_folder(part->run(), state, experiments_.known());
  bool has_artifacts = false;
  if (!folder.empty()) {
    HEADRACE_CHECK(
        root_.store->list(root_.at(concat(folder, "/")).key, {.call = call}, [&](const ObjectInfo&) {
          has_artifacts = true;
          return false;
        }));
  }
  if (has_artifacts) HEADRACE_CHECK(part->add_artifacts(root_.at(folder)));
  HEADRACE_CHECK(part->finish(outcome_of(status), texts_of(state["params"])));
  open_.forget(part);
  return {};
}

std::string Runs::artifact_folder(const std::string& run, const Json& state,
                                  const ExperimentList& experiments) {
  const std::string folder = experiments.artifact_folder(experiment_of(state));
  return folder.empty() ? "" : concat(kStatesFolder, "/artifacts/", folder, "/", run, "/artifacts");
}

Result<Json> Runs::remove(const RequestFields& fields, const CallOptions& call) {
  HEADRACE_TRY(const std::string run, fields.run_id());
  const auto mark = [](Json& state) -> Status {
    state["is_deleted"] = true;
    return {};
  };
  HEADRACE_CHECK(change(run, mark, false, call));
  return Json::object();
}

Result<Json> Runs::restore(const RequestFields& fields, const CallOptions& call) {
  HEADRACE_TRY(const std::string run, fields.run_id());
  const auto unmark = [](Json& state) -> Status {
    state["is_deleted"] = false;
    return {};
  };
  HEADRACE_CHECK(change(run, unmark, false, call));
  return Json::object();
}

Result<PartPointer> Runs::part_of(const std::string& run, const CallOptions& call) {
  if (PartPointer part = open_.find(run); part != nullptr && !part->is_sealed()) return part;
  HEADRACE_CHECK(log_of(run, call));
  HEADRACE_TRY(PartPointer part, open_.open(run, [&] { return start_part(run, call); }));
  end_surplus(call);
  return part;
}

// Returns the part even if it is sealed because an earlier attempt to end it has failed, or is still running.
Result<PartPointer> Runs::part_to_end(const std::string& run, const CallOptions& call) {
  if (PartPointer part = open_.find(run); part != nullptr && !part->is_finished()) return part;
  return part_of(run, call);
}

// Starts a part of a run that another process, or an earlier part, has begun.
Result<PartPointer> Runs::start_part(const std::string& run, const CallOptions& call) {
  HEADRACE_TRY(const RecordPointer record, records_.one(run, call));
  if (record->start.command != "log") {
    return Error{Code::kInvalidArgument,
                 concat("The run ", run, " is of `headrace ", record->start.command,
                        "`: no other program logs into it. Its tags can be set; log into a run of your own")};
  }
  HEADRACE_TRY(const State state, log_named(run)->load(call));
  EarlierMetrics earlier;  // if the run continues: a client may repeat its last points
  const bool goes_on = !has_ended(*record) || !has_run_ended(state->get_or("status", ""));
  if (goes_on && has_series(*record)) {
    HEADRACE_TRY(earlier, records_.metrics(*record, call));
  }
  std::map<std::string, std::string> parameters = run_params(*state, *record);
  parameters.emplace("name", run_name(*state, *record));
  return OpenPart::start(surroundings_, run, std::move(parameters), std::move(earlier), call);
}

// Ends a part before a client has said how the run ended: the process ends, or has too many parts.
Status Runs::end_unfinished(const PartPointer& part, const CallOptions& call) {
  PartSeal seal(part);
  HEADRACE_CHECK(part->publish());
  const auto keep = [&](Json& state) -> Status {
    add_part_points(state, *part);
    return {};
  };
  HEADRACE_TRY(const State state, change(part->run(), keep, false, call));
  seal.keep();
  const std::string status = state->get_or("status", "");
  if (has_run_ended(status)) return end_part(part, status, *state, call);
  const Error stopped{Code::kCancelled, "the server ended this part before the run was ended"};
  HEADRACE_CHECK(part->finish(stopped, texts_of((*state)["params"])));
  open_.forget(part);
  return {};
}

void Runs::end_surplus(const CallOptions& call) {
  for (const PartPointer& part : open_.surplus()) {
    const Status ended = end_unfinished(part, call);
    if (!ended) warn_(concat("the run ", part->run(), ": ", ended.error().message));
  }
}

std::vector<std::string> Runs::end_parts() {
  std::vector<std::string> failed;
  for (const PartPointer& part : open_.all()) {
    const Status ended = end_unfinished(part, {});
    if (!ended) failed.push_back(concat("the run ", part->run(), ": ", ended.error().message));
  }
  return failed;
}

}  // namespace headrace::mlflow
