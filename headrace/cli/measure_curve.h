#pragma once

/// \file Measures a learning curve: trains and evaluates a model for each size and seed, and shows progress.

#include <string>
#include <vector>

#include "headrace/cli/command.h"
#include "headrace/study/measured_curve.h"
#include "headrace/sweep/sweep.h"
#include "headrace/track/recorder.h"

namespace headrace {

/// Rows of the option table that say what to measure; train_options.h has further rows.
inline constexpr Option kTestSplitOption = {
    .name = "test-split", .default_value = "test", .sentence = "Split that every model is evaluated on."};
inline constexpr Option kSizesOption = {
    .name = "sizes",
    .type = OptionType::kInteger,
    .default_value = "5",
    .sentence =
        "Number of sizes: all records, half of them, a quarter … Training all costs less than twice as "
        "much as training on all records.",
    .minimum = 3,
    .maximum = 20};
inline constexpr Option kSeedsOption = {.name = "seeds",
                                        .type = OptionType::kInteger,
                                        .default_value = "3",
                                        .sentence = "Number of runs for each size.",
                                        .minimum = 1,
                                        .maximum = 100};
inline constexpr Option kStratifyOption = {
    .name = "stratify",
    .unit = "LABEL",
    .sentence =
        "In each size, give each class of this label the share that it has in all records, rounded, and at "
        "least one record; many rare classes make sizes larger. Default: the class does not matter."};
inline constexpr Option kAtOnceOption = {
    .name = "at-once",
    .type = OptionType::kInteger,
    .default_value = "0",
    .unit = "runs",
    .sentence = "How many runs train at once; 0: as many as processors and free memory allow.",
    .minimum = 0,
    .maximum = 256};

struct MeasuredCurve {
  std::vector<MeasuredError> runs;
  /// The runs as a table, with the scores that --metric names: docs/formats/learning-curve.md.
  std::string csv;
};

/// The values of these options and of train_options.h, for the version of the data that they name, or else
/// the latest.
/// \error as shared_train_options and choose_data_version
Result<SweepOptions> sweep_options(const Location& data, const OptionValues& values);

/// Measures the curve and keeps its results in `folder`, as measure_sweep does. Adds the data to the record,
/// and versions and counts to `end`. `metric`: error, accuracy or loss.
/// \error kInvalidArgument  the model has no such metric, or an error of 0
/// \error as measure_sweep
Result<MeasuredCurve> measure_curve(CommandContext& context, const Location& data, const Location& folder,
                                    const SweepOptions& options, const TrainEnvironment& environment,
                                    const std::string& metric, RunRecorder& recorder, RunEnd& end);

}  // namespace headrace
