#pragma once

/// \file The questions about a learning curve that commands take as options, and how they show the answers.

#include <string_view>

#include "headrace/cli/command.h"
#include "headrace/study/curve_study.h"

namespace headrace {

inline constexpr Option kCurveMetricOption = {
    .name = "metric",
    .default_value = "error",
    .sentence = "The score: an error or a loss (smaller is better), or an accuracy from 0 to 1.",
    .choices = "error|accuracy|loss"};
inline constexpr Option kCurveTargetOption = {
    .name = "target",
    .type = OptionType::kNumber,
    .sentence = "The score to reach: how many records does it take?"};
inline constexpr Option kPricePerRecordOption = {.name = "price-per-record",
                                                 .type = OptionType::kNumber,
                                                 .sentence = "Price of one more record, in any currency.",
                                                 .minimum = 0};
inline constexpr Option kMoreRecordsOption = {.name = "more-records",
                                              .type = OptionType::kInteger,
                                              .default_value = "10000",
                                              .unit = "records",
                                              .sentence = "Say what this many more records would buy.",
                                              .minimum = 1,
                                              .maximum = 1e12};
inline constexpr Option kBootstrapSeedOption = {.name = "seed",
                                                .type = OptionType::kInteger,
                                                .default_value = "1",
                                                .sentence = "Seed of the bootstrap.",
                                                .minimum = 0};
inline constexpr Option kReplicatesOption = {.name = "replicates",
                                             .type = OptionType::kInteger,
                                             .default_value = "1000",
                                             .sentence = "Replicates of the bootstrap.",
                                             .minimum = 100,
                                             .maximum = 20'000};

/// The metric that --metric names, by which the scores of a file are read.
CurveMetric curve_metric(const OptionValues& values);

/// The questions that the options above ask; also --price-per-hour, if the command has it.
CurveQuestions curve_questions(const OptionValues& values);

/// Checks the options above. \error kInvalidArgument  the metric cannot have this target
Status check_curve_questions(const OptionValues& values);

/// Prints the answer as a sentence and a table, and the conclusions from both.
void show_study(Console& console, const CurveStudy& study, const OptionValues& values);

}  // namespace headrace
