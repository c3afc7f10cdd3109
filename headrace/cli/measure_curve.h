#pragma once

/// \file The measurements of a learning curve: trains and evaluates a model for each size and seed, and
/// shows how far that is.

#include <string>
#include <vector>

#include "headrace/cli/command.h"
#include "headrace/study/measured_curve.h"
#include "headrace/track/recorder.h"

namespace headrace {

/// Rows of the option table that says what to measure, besides those of train_options.h.
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
  /// The same as a table, with the scores as --metric names them: docs/formats/learning-curve.md.
  std::string csv;
};

/// Measures into `folder`, as measure_sweep does. Adds the data to the record, and versions and counts to
/// `end`.
/// \error kInvalidArgument  the model has no such metric, or an error of 0; or as measure_sweep
/// \error those of measure_sweep
Result<MeasuredCurve> measure_curve(CommandContext& context, const Location& data, const Location& folder,
                                    const OptionValues& values, RunRecorder& recorder, RunEnd& end);

}  // namespace headrace
