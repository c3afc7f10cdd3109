#pragma once

/// \file Which of the processes that a scheduler started this one is, as the scheduler's variables tell.

#include <cstdint>

#include "headrace/base/environment.h"
#include "headrace/base/result.h"

namespace headrace {

struct Rank {
  std::uint64_t rank = 0;
  std::uint64_t world_size = 1;
};

/// Looks, in this order, for
///   RANK, WORLD_SIZE                                 torchrun and its like
///   JOB_COMPLETION_INDEX, WORLD_SIZE                 an Indexed Job; it must set the second itself
///   SLURM_ARRAY_TASK_ID, with _MIN, _STEP, _COUNT    an array of Slurm
///   SLURM_PROCID, SLURM_NTASKS                       srun
///   OMPI_COMM_WORLD_RANK, OMPI_COMM_WORLD_SIZE       mpirun
/// \error kFailedPrecondition  none of them is set, or only one of a pair: names what is missing
/// \error kInvalidArgument     not a number, or a rank that is not below the world size
Result<Rank> find_rank(const Environment& environment);

}  // namespace headrace
