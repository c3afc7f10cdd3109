#include "headrace/cli/curve_answers.h"
#include "headrace/cli/curve_report.h"
#include "headrace/cli/measure_curve.h"
#include "headrace/cli/record_run.h"
#include "tests/interleave/log_commands.h"
#include "tests/interleave/process.h"
#include "tests/interleave/tiny_engine.h"

namespace headrace::interleave {
namespace {

// `headrace learning-curve`, with an engine for tests. It takes over every lease at once: nobody waits for a
// command that stands still.
Status measure_and_report(const Surroundings& in, const std::string& more) {
  Process process(in);
  const std::string line =
      "learning-curve memory://data/many --model m:f --to memory://out/x --metric loss --sizes 3 --seeds 1 "
      "--replicates 100 --epochs 1 --batch-size 8 --validation 0 --at-once 1 --memory 1MiB" +
      more;
  return process.with(line, [&](CommandContext& context, const ParsedCommandLine& parsed) -> Status {
    HEADRACE_TRY(const Location data, context.stores.open(parsed.arguments[0]));
    HEADRACE_TRY(const Location folder, context.stores.open(parsed.options.text("to")));
    HEADRACE_TRY(SweepOptions options, sweep_options(data, parsed.options));
    options.leases = {.renewed_each = std::chrono::hours(1), .stale_after = std::chrono::milliseconds(0)};
    options.look_each = std::chrono::milliseconds(1);
    TinyEngine engine;
    const TraceOptions trace;
    const TrainEnvironment environment{.engine = engine,
                                       .trace = trace,
                                       .environment = context.environment,
                                       .temporary_folder = local_folder(),
                                       .tracer = tiny_tracer(local_folder())};
    return record_run(
        context, "learning-curve", folder, parsed.options,
        [&](RunRecorder& recorder, RunEnd& end) -> Status {
          HEADRACE_TRY(const MeasuredCurve measured,
                       measure_curve(context, data, folder, options, environment, "loss", recorder, end));
          HEADRACE_TRY(CurveStudy study, study_curve(measured.runs, curve_questions(parsed.options)));
          const auto written =
              write_curve_report(folder, measured.csv, {.study = std::move(study)}, recorder, {});
          return written ? Status{} : Status(written.error());
        },
        {.continues_earlier = false});
  });
}

}  // namespace

std::vector<TestCommand> curve_commands() {
  return {
      {"curve", [](const Surroundings& in) { return measure_and_report(in, ""); }},
      {"curve-stratify", [](const Surroundings& in) { return measure_and_report(in, " --stratify label"); }},
  };
}

}  // namespace headrace::interleave
