#pragma once

/// \file A plan that several processes execute, as one of them works on it.

#include <memory>
#include <stop_token>
#include <string>

#include "headrace/prepare/execute/plan_tasks.h"
#include "headrace/prepare/plan/planned_prepare.h"
#include "headrace/prepare/sort/spill_store.h"

namespace headrace {

/// Every spill of rows becomes a work object, for the others.
struct SharedJob {
  Location output;
  PlannedPrepare planned;
  std::string digest;
  SpillStore spills;

  PlanTasks tasks(const RejectLimit& max_rejects, StoreRegistry& stores, const std::stop_token& stop);
};

/// The plan that lies at `output`, and its encoders: what this machine has of them must be what the plan was
/// made with. It has no pool for a map yet.
/// \error as read_shared_plan, make_encoders, check_encoders
Result<std::unique_ptr<SharedJob>> open_shared_job(const Location& output, const EncoderSources& encoders);

}  // namespace headrace
