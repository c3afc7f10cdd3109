#pragma once

/// \file `headrace prepare --runner`: who executes the tasks of a plan. docs/prepare.md, "Runners".

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "headrace/cli/shared_job.h"

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
    kLeaseOption,
    kPatienceOption,
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

struct Runner {
  enum class Kind : std::uint8_t { kLocal, kStore, kRanks, kRay, kBeam };
  Kind kind = Kind::kLocal;
  int threads = 0;     // of kLocal; 0: as --workers says
  std::string target;  // Ray's address, Beam's runner; empty: its default
};
/// \error kInvalidArgument
Result<Runner> parse_runner(std::string_view text);

/// The runner that `values` name; of a job that is printed, "ranks" if they name none.
std::string runner_text(const OptionValues& values);

/// \error kInvalidArgument  options that do not go together
Status check_runner_options(const OptionValues& values);

/// Executes the plan by the runner that `values` name, and publishes. With any but kLocal, others may work at
/// the same plan, and whoever comes when it is done finds that.
Result<PrepareResult> prepare_by_runner(CommandContext& context, PlannedPrepare& planned,
                                        const Location& output, const OptionValues& values,
                                        std::string_view run_id);

}  // namespace headrace
