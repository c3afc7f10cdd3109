#include "headrace/engine/tensorflow/trace.h"

#include <filesystem>
#include <fstream>

#include "headrace/base/digest.h"
#include "headrace/base/json.h"
#include "headrace/base/text.h"
#include "headrace/engine/tensorflow/python_child.h"
#include "headrace/os/child_process.h"
#include "headrace/store/staging.h"

namespace headrace {

namespace {

namespace fs = std::filesystem;

constexpr int kOldestFormat = 2, kFormat = 3;     // docs/formats/traced-model
constexpr std::uint64_t kSeedMask = 0xffff'ffff;  // the range that keras.utils.set_random_seed accepts

std::string text_of(const Json& from, const char* name, const char* otherwise) {
  return from[name].is_string() ? from[name].text() : otherwise;
}

/// Runs the tracer and returns the one line that it answers.
Result<Json> run_tracer(const TraceRequest& request, std::vector<std::string> arguments,
                        const TraceOptions& options, const Environment& environment) {
  std::vector<std::string> all = {options.interpreter, "-m", "headrace._src.trace", "--model", request.model};
  all.insert(all.end(), arguments.begin(), arguments.end());
  auto variables = python_variables(options, environment);
  variables["CUDA_VISIBLE_DEVICES"] = "-1";
  auto child = run_child(all, variables, {.deadline = options.deadline, .stop = options.stop});
  const std::string doing = concat("tracing the model ", request.model);
  if (!child) return std::move(child).error().in(doing);
  const Json answer = parse_json(child->output).value_or(Json());
  if (!answer.is_object()) {
    return Error{Code::kFailedPrecondition, concat(doing, ": ", options.interpreter, " ended with status ",
                                                   child->exit_status, ":\n", trim(child->error_tail))};
  }
  if (const Json& error = answer["error"]; error.is_object())
    return python_error(text_of(error, "kind", ""), text_of(error, "message", "no reason given")).in(doing);
  return answer;
}

Json features_to_json(const std::vector<ModelFeature>& features) {
  Json out = Json::array();
  for (const ModelFeature& feature : features) out.push_back(to_json(feature));
  return out;
}

Status check_versions(const Json& probe, const TraceOptions& options) {
  const Json& versions = probe["versions"];
  const std::string found = text_of(versions, "tensorflow", "");
  if (found.empty() || text_of(versions, "keras", "").empty()) {
    return Error{
        Code::kFailedPrecondition,
        concat("TensorFlow is not installed in ", options.interpreter,
               ": run pip install tensorflow-cpu there, or set HEADRACE_PYTHON to the Python that has it")};
  }
  if (!options.tensorflow_version.empty() && found != options.tensorflow_version) {
    return Error{Code::kFailedPrecondition, concat(options.interpreter, " has TensorFlow ", found,
                                                   ", but the engine runs ", options.tensorflow_version,
                                                   ": set HEADRACE_PYTHON to the Python that belongs to it")};
  }
  return {};
}

Error cannot_write(const fs::path& path) {
  return Error{Code::kPermissionDenied, concat("writing ", path.string(), " in the cache of traced models")};
}

fs::path trace_in(const StagedFolder& work) { return fs::path(work.path()) / "trace"; }

/// Runs Python, which writes into a folder of its own.
Result<StagedFolder> run_trace(const TraceRequest& request, const Json& spec, const TraceOptions& options,
                               const Environment& environment) {
  HEADRACE_TRY(StagedFolder work, StagedFolder::create(options.cache_folder));
  const fs::path spec_file = fs::path(work.path()) / "spec.json";
  const fs::path output = trace_in(work);
  if (!(std::ofstream(spec_file) << spec.dump() << std::endl)) return cannot_write(spec_file);
  HEADRACE_CHECK(run_tracer(
      request,
      {"--spec", spec_file.string(), "--seed", concat(request.seed & kSeedMask), "--output", output.string()},
      options, environment));
  return work;
}

/// Moves a trace to `entry`, unless another process was faster.
Status keep(const StagedFolder& work, const fs::path& entry) {
  std::error_code failure;
  fs::rename(trace_in(work), entry, failure);
  if (failure && !fs::exists(entry / "model.json", failure)) return cannot_write(entry);
  return {};
}

std::optional<Shape> shape_in(const Json& json) {
  if (!json.is_array() || json.values().size() > Shape::kRankMax) return std::nullopt;
  std::vector<std::int64_t> sizes;
  for (const Json& size : json.values()) {
    if (!size.is_integer()) return std::nullopt;
    sizes.push_back(size.as<std::int64_t>("a size"));
  }
  return Shape(sizes);
}

/// \throws JsonError  a member is missing or has another type
void read_description(const Json& json, TracedModel& model) {
  json.get_to("model", model.model);
  json.get_to("seed", model.seed);
  json.get_to("versions", model.versions);
  model.binding = binding_from_json(json);
  json.get_to("metrics", model.metric_names);
  json.get_to("ignored_metrics", model.ignored_metrics);
  json.get_to("gradients", model.gradients);
  const Json& spec = json.at("spec");
  if (spec.contains("class_weights")) {
    for (const auto& [number, weight] : spec.at("class_weights").members())
      model.class_weights[parse_number<std::uint64_t>(number).value_or(0)] = weight.as<double>("a weight");
  }
  if (const Json& rate = json.at("learning_rate"); rate.is_string()) model.learning_rate = rate.text();
  json.get_to("optimizer", model.optimizer);
  json.get_to("loss", model.loss);
  json.get_to("parameters", model.parameters);
  for (const Json& variable : json.at("variables").values()) {
    model.variables.push_back({variable.get<std::string>("name"), variable.get<std::string>("role"),
                               variable.get<std::string>("dtype"),
                               shape_in(variable.at("shape")).value_or(Shape()),
                               variable.get<std::string>("checkpoint_key")});
  }
  for (const Json& layer : json.at("layers").values()) {
    model.layers.push_back({layer.get<std::string>("name"), layer.get<std::string>("type"),
                            shape_in(layer.at("output")), layer.get<std::uint64_t>("parameters")});
  }
}

}  // namespace

Result<Json> trace_spec(const TraceRequest& request) {
  Json arguments = Json::object();
  for (const auto& [name, text] : request.arguments) {
    auto value = parse_json(text);
    if (!value) {
      return Error{Code::kInvalidArgument,
                   concat("model argument ", name, "=", text, " is not a JSON value; a text needs quotes")};
    }
    arguments[name] = *std::move(value);
  }
  Json out{{"features", features_to_json(request.features)},
           {"labels", features_to_json(request.labels)},
           {"inputs", request.inputs},
           {"outputs", request.outputs},
           {"arguments", std::move(arguments)}};
  if (request.weights) out["weights"] = to_json(*request.weights);
  for (const auto& [number, weight] : request.class_weights) out["class_weights"][concat(number)] = weight;
  return out;
}

Result<TracedModel> read_traced_model(const std::string& folder) {
  TracedModel model;
  model.folder = folder;
  model.saved_model_folder = folder + "/saved_model";
  model.graph_file = folder + "/graph.pb";
  model.description_file = folder + "/model.json";
  std::ifstream file(model.description_file);
  if (!file) return Error{Code::kNotFound, concat("there is no traced model in ", folder)};
  const std::string text(std::istreambuf_iterator<char>(file), {});
  HEADRACE_CHECK(read_json(text, model.description_file, [&](const Json& json) -> Status {
    const Json& format = json["format"];
    if (!format.is_integer() || format.as<int>("format") < kOldestFormat ||
        format.as<int>("format") > kFormat) {
      return Error{Code::kUnimplemented,
                   concat(model.description_file, " has format ", json["format"].dump(), ", not ", kFormat,
                          ": another version of Headrace wrote it. Train the model again with "
                          "this version")};
    }
    read_description(json, model);
    return {};
  }));
  return model;
}

Result<TracedModel> trace_model(const TraceRequest& request, const TraceOptions& options,
                                const Environment& environment) {
  HEADRACE_TRY(const Json spec, trace_spec(request));
  HEADRACE_TRY(const Json probe, run_tracer(request, {"--probe"}, options, environment));
  HEADRACE_CHECK(check_versions(probe, options));
  const Json depends{
      {"model", request.model}, {"seed", request.seed & kSeedMask}, {"spec", spec}, {"probe", probe}};
  const std::string digest = sha256_hex(as_bytes(depends.dump()));
  const fs::path entry = fs::path(options.cache_folder) / digest.substr(0, 32);
  std::error_code ignored;
  if (probe.get_or("reads_files", false)) {
    HEADRACE_TRY(StagedFolder work, run_trace(request, spec, options, environment));
    HEADRACE_TRY(TracedModel model, read_traced_model(trace_in(work).string()));
    model.staged = std::make_shared<const StagedFolder>(std::move(work));
    return model;
  }
  if (!fs::exists(entry / "model.json", ignored)) {
    HEADRACE_TRY(const StagedFolder work, run_trace(request, spec, options, environment));
    HEADRACE_CHECK(keep(work, entry));
  }
  HEADRACE_TRY(TracedModel model, read_traced_model(entry.string()));
  model.digest = digest;
  return model;
}

}  // namespace headrace
