#pragma once

/// \file The options of `headrace prepare --runner`. docs/prepare.md, "Runners".

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "headrace/cli/prepare_options.h"

namespace headrace {

inline constexpr Option kRunnerOptions[] = {
    {.name = "runner",
     .default_value = "local",
     .unit = "runner",
     .sentence = "What runs the tasks: local or local:THREADS; store: any processes started with this same "
                 "command; ranks: processes that a scheduler started and numbered; ray or ray://HOST:PORT; "
                 "beam or beam:RUNNER."},
    {.name = "runner-option",
     .type = OptionType::kTextList,
     .unit = "key=value",
     .sentence = "For ray: num_cpus, max_retries, runtime_env.KEY; for beam: any of its pipeline options."},
    kMaxRejectsOption,
    {.name = "memory",
     .type = OptionType::kSize,
     .default_value = "256MiB",
     .unit = "bytes",
     .sentence = "Memory for sorted rows; further rows go to work objects below TO.",
     .minimum = 0},
    kLeaseOption,
    kPatienceOption,
    kTrackOption,
    kRunIdOption,
    {.name = "print-manifest",
     .sentence = "Print a manifest that starts this command on many machines, and do nothing else.",
     .choices = "kubernetes|slurm|dockerfile"},
    {.name = "world-size",
     .type = OptionType::kInteger,
     .default_value = "8",
     .unit = "processes",
     .sentence = "In a manifest: the number of processes.",
     .minimum = 1,
     .maximum = 100'000},
    {.name = "image",
     .default_value = "headrace:latest",
     .unit = "image",
     .sentence = "In a manifest for Kubernetes: the image that the Dockerfile builds."},
};

template <std::size_t M, std::size_t N>
constexpr std::array<Option, M + N> joined(const Option (&first)[M], const Option (&second)[N]) {
  std::array<Option, M + N> out{};
  std::copy(std::begin(first), std::end(first), out.begin());
  std::copy(std::begin(second), std::end(second), out.begin() + M);
  return out;
}

/// The runner that `values` name. For --print-manifest without --runner: "ranks".
std::string runner_text(const OptionValues& values);

/// Checks the options of runners.
/// \error kInvalidArgument  options exclude one another, or a value is wrong
Status check_runner_options(const OptionValues& values);

/// The options for executing a plan, from `values` of kPrepareOptions and kRunnerOptions. The result refers
/// to `context`.
/// \error as find_rank, with --runner ranks
Result<PrepareOptions> prepare_options_from(CommandContext& context, const OptionValues& values);

}  // namespace headrace
