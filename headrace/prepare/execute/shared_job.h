#pragma once

/// \file A plan that several processes execute, as one of them sees it.

#include <memory>
#include <stop_token>
#include <string>

#include "headrace/prepare/execute/plan_tasks.h"
#include "headrace/prepare/plan/planned_prepare.h"
#include "headrace/prepare/sort/spill_store.h"

namespace headrace {

/// Every spill becomes a work object, so that the other processes can open it.
struct SharedJob {
  Location output;
  PlannedPrepare planned;
  std::string digest;
  OwnedOutput owned;
  SpillStore spills;

  PlanTasks tasks(const RejectLimit& max_rejects, const Actor& actor, StoreRegistry& stores,
                  const std::stop_token& stop);
};

/// Opens the plan at `output` and loads its encoders, which must be those with which the plan was made. Makes
/// no pool for a map.
/// \error as read_shared_plan, make_encoders, check_encoders
Result<std::unique_ptr<SharedJob>> open_shared_job(const Location& output, const EncoderSources& encoders);

}  // namespace headrace
