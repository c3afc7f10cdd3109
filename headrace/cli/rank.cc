#include "headrace/cli/rank.h"

#include "headrace/base/text.h"

namespace headrace {
namespace {

struct RankVariables {
  const char* rank;
  const char* world_size;
};

constexpr RankVariables kArray{"SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_COUNT"};

// The more specific variables come first: every task of an array has a SLURM_PROCID too.
constexpr RankVariables kSchedulers[] = {{"RANK", "WORLD_SIZE"},
                                         {"JOB_COMPLETION_INDEX", "WORLD_SIZE"},
                                         kArray,
                                         {"SLURM_PROCID", "SLURM_NTASKS"},
                                         {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"}};

Result<std::uint64_t> number_of(const Environment& environment, std::string_view name,
                                std::string_view needed_by) {
  const auto text = environment.get(name);
  if (!text)
    return Error{Code::kFailedPrecondition,
                 concat(needed_by, " is set, but not ", name, ", which gives the number of processes")};
  if (const auto number = parse_number<std::uint64_t>(*text)) return *number;
  return Error{Code::kInvalidArgument,
               concat(name, " is \"", printable_line(*text, 40), "\", which is not a number")};
}

// Arrays may start at any number, and count in steps: --array=3-11:4.
Result<std::uint64_t> place_in_array(const Environment& environment, std::uint64_t number) {
  std::uint64_t first = 0, step = 1;
  if (environment.get("SLURM_ARRAY_TASK_MIN")) {
    HEADRACE_TRY(first, number_of(environment, "SLURM_ARRAY_TASK_MIN", kArray.rank));
  }
  if (environment.get("SLURM_ARRAY_TASK_STEP")) {
    HEADRACE_TRY(step, number_of(environment, "SLURM_ARRAY_TASK_STEP", kArray.rank));
  }
  if (step == 0 || number < first || (number - first) % step != 0) {
    return Error{Code::kInvalidArgument, concat("SLURM_ARRAY_TASK_ID is ", number,
                                                ", which does not belong to an array that starts at ", first,
                                                " with step ", step, ": give the array as --array=0-N")};
  }
  return (number - first) / step;
}

}  // namespace

Result<Rank> find_rank(const Environment& environment) {
  for (const RankVariables& variables : kSchedulers) {
    if (!environment.get(variables.rank)) continue;
    Rank out;
    HEADRACE_TRY(out.rank, number_of(environment, variables.rank, ""));
    HEADRACE_TRY(out.world_size, number_of(environment, variables.world_size, variables.rank));
    if (variables.rank == kArray.rank) {
      HEADRACE_TRY(out.rank, place_in_array(environment, out.rank));
    }
    if (out.rank < out.world_size) return out;
    return Error{Code::kInvalidArgument,
                 concat(variables.rank, " gives rank ", out.rank, ", but ", variables.world_size,
                        " says that there are ", out.world_size, ", counted from 0")};
  }
  std::string names;
  for (const RankVariables& variables : kSchedulers)
    names += concat(names.empty() ? "" : "; ", variables.rank, ", ", variables.world_size);
  return Error{Code::kFailedPrecondition,
               concat("no scheduler says which rank this is: set one of the pairs ", names,
                      ", or use --runner store, which needs none")};
}

}  // namespace headrace
