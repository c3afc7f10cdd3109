#pragma once

/// \file Finds the rank of this process among those that a scheduler started, from the scheduler's variables.

#include <cstdint>

#include "headrace/base/environment.h"
#include "headrace/base/result.h"

namespace headrace {

struct Rank {
  std::uint64_t rank = 0;
  std::uint64_t world_size = 1;
};

/// Uses the first of these whose rank is set:
///   RANK, WORLD_SIZE                                 torchrun and similar programs
///   JOB_COMPLETION_INDEX, WORLD_SIZE                 an Indexed Job, which must set WORLD_SIZE itself
///   SLURM_ARRAY_TASK_ID, with _MIN, _STEP, _COUNT    an array of Slurm
///   SLURM_PROCID, SLURM_NTASKS                       srun
///   OMPI_COMM_WORLD_RANK, OMPI_COMM_WORLD_SIZE       mpirun
/// \error kFailedPrecondition  none of them is set, or only one of a pair: the message names what is missing
/// \error kInvalidArgument     a value is not a number, or the rank is not below the world size
Result<Rank> find_rank(const Environment& environment);

}  // namespace headrace
