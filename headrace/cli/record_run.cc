#include "headrace/cli/record_run.h"

#include <algorithm>
#include <array>
#include <fstream>

#include "headrace/base/text.h"
#include "headrace/os/parallel.h"
#include "headrace/track/redact.h"

namespace headrace {
namespace {

// Instruction sets that select TensorFlow's kernels, by the names of the system, for x86-64 and AArch64.
// Sorted.
constexpr std::array<std::string_view, 23> kInstructionSets = {
    "amx_bf16", "amx_fp16",    "amx_int8",    "amx_tile",    "asimd",    "asimddp",  "asimdhp", "avx",
    "avx2",     "avx512_bf16", "avx512_fp16", "avx512_vnni", "avx512bw", "avx512dq", "avx512f", "avx512vl",
    "avx_vnni", "bf16",        "f16c",        "fma",         "i8mm",     "sve",      "sve2"};

// The value of the first line of /proc/cpuinfo that begins with one of the names; empty if there is none.
std::string processor_fact(std::initializer_list<std::string_view> names) {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const bool is_it =
        std::ranges::any_of(names, [&](std::string_view name) { return line.starts_with(name); });
    if (is_it) return std::string(trim(std::string_view(line).substr(line.find(':') + 1)));
  }
  return "";
}

std::string instruction_sets() {
  const std::vector<std::string> has = split(processor_fact({"flags", "Features"}), ' ');
  std::string text;
  for (const std::string_view name : kInstructionSets) {
    if (std::ranges::find(has, name) != has.end()) text += concat(text.empty() ? "" : " ", name);
  }
  return text.empty() ? "unknown" : text;
}

// The kernels of TensorFlow: set_tensorflow_environment lets it load those of oneDNN.
std::string tensorflow_kernels(const Environment& environment) {
  auto most = environment.get("ONEDNN_MAX_CPU_ISA");
  if (!most) most = environment.get("DNNL_MAX_CPU_ISA");
  return most ? concat("oneDNN, at most ", *most) : "oneDNN";
}

std::map<std::string, std::string> describe_host(const Environment& environment) {
  const std::string name = processor_fact({"model name"});
  return {{"cores", concat(available_cores())},
          {"processor", name.empty() ? "unknown" : name},
          {"instruction_sets", instruction_sets()},
          {"tensorflow_kernels", tensorflow_kernels(environment)}};
}

// Values of a list are redacted before they are joined, because a secret may contain the separator.
std::map<std::string, std::string> parameters_of(const OptionValues& values) {
  std::map<std::string, std::string> parameters;
  for (const Option& option : values.table()) {
    if (!values.has(option.name)) continue;
    parameters[std::string(option.name)] = option.type == OptionType::kTextList
                                               ? join(redact_command_line(values.list(option.name)), ", ")
                                               : values.shown(option.name);
  }
  return parameters;
}

}  // namespace

Status record_run(CommandContext& context, std::string_view command, const Location& output,
                  const OptionValues& values, const std::function<Status(RunRecorder&, RunEnd&)>& body,
                  RecorderOptions options) {
  RunStart start{.command = std::string(command),
                 .command_line = context.command_line,
                 .parameters = parameters_of(values)};
  start.versions["headrace"] = HEADRACE_VERSION;
  start.host = describe_host(context.environment);
  options.root_url = values.text("track");
  options.run_id = values.text("run-id");
  options.now = context.environment.now;
  options.call = context.call();
  if (options.run_id.empty() && options.ranks > 1) {
    options.rank = 0;
    options.ranks = 1;
    options.continues_earlier = false;
  }
  auto started = RunRecorder::start(context.stores, output, std::move(start), options);
  if (!started && !options.root_url.empty())
    return started.error().in(concat("recording the run at --track ", options.root_url));
  if (!started && started.error().code == Code::kPermissionDenied)
    return started.error().in("recording the run (--track names another place for it)");
  if (!started) return started.error();
  RunRecorder& recorder = *started;
  for (const std::string& remark : recorder.remarks()) context.console.warn(remark);
  RunEnd end;
  Status outcome = body(recorder, end);
  if (!outcome && outcome.error().code == Code::kCancelled) {
    outcome = Error{Code::kCancelled, concat(outcome.error().message, "; the same command continues")};
  }
  return recorder.finish(outcome, std::move(end));
}

Actor actor_of(const CommandContext& context, std::string_view command, const RunRecorder& recorder) {
  return this_process(command, recorder.run_id(), context.environment.now());
}

}  // namespace headrace
