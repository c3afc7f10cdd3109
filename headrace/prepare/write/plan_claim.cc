#include "headrace/prepare/write/plan_claim.h"

#include "headrace/base/text.h"
#include "headrace/prepare/write/part_keys.h"

namespace headrace {
namespace {

// Returns patterns for the shards and other parts whose names have `tag`. Splits can have any name. Until
// version 4 of plans, all parts lay beside the shards.
std::vector<std::string> names_with(std::string_view tag) {
  std::vector<std::string> names;
  for (const char* ending : {".tfrecord", ".tfrecord.gz"}) {
    const std::string shard = concat("*-", tag, "-#####-of-#####", ending);
    names.insert(names.end(), {shard, index_key(shard), shard + ".index"});
  }
  for (const char* role : {"inputs", "report"}) {
    names.push_back(lines_key(role, tag, "*.jsonl.gz"));
    names.push_back(concat(role, "-", tag, "-*.jsonl.gz"));
  }
  return names;
}

std::vector<std::string> names_of(std::uint64_t, const OwnershipEntry& entry) {
  if (entry.configuration.empty()) return {};
  const std::string tag = name_tag(configuration_digest(entry.configuration), entry.generation);
  std::vector<std::string> names = names_with(tag);
  names.push_back(concat(kWorkFolder, tag, "/"));
  return names;
}

// Whether the owner has not published yet.
bool is_unfinished(const ChainState& chain) { return chain.entry > 0 && chain.last == chain.entry; }

Result<PlanClaim> examine_continuation(const Location& output, const PreparePlan& plan) {
  PlanClaim claim{.action = OwnershipAction::kContinue};
  HEADRACE_TRY(claim.seen.chain, read_chain(output));
  const ChainState& chain = claim.seen.chain;
  if (chain.damage) return *chain.damage;
  claim.generation = chain.generation();
  const bool is_continued = chain.owner.action == OwnershipAction::kContinue;
  const bool is_of_plan = is_continued && chain.owner.configuration == plan_configuration(plan);
  if (is_of_plan && !is_unfinished(chain)) {
    claim.published = chain.entry + 1;
  } else if (chain.published != plan.base->number) {
    return Error{Code::kAborted, concat(output.describe(),
                                        " was published again or removed before it could be "
                                        "continued; run the same command again")};
  } else if (is_unfinished(chain) && !is_continued) {
    return Error{
        Code::kFailedPrecondition,
        concat(output.describe(), " is being overwritten by ", describe(chain.owner.actor),
               ": let that end, or start it again, and then continue the dataset that it publishes")};
  }
  claim.joins = is_of_plan;
  claim.seen.is_own = is_of_plan;
  return claim;
}

}  // namespace

StageOutput prepare_output() {
  return {.stage = "prepare",
          .former_claim = kPlanKey,
          .folders = {{"", kDatasetKind}},
          .names = names_with("%%%%%%%%"),
          .names_of = names_of};
}

Result<PlanClaim> examine_plan_output(const Location& output, const PreparePlan& plan, bool overwrite) {
  if (plan.base != nullptr) return examine_continuation(output, plan);
  PlanClaim claim;
  HEADRACE_TRY(claim.seen, examine_output(output, prepare_output(), plan_configuration(plan), overwrite));
  const ChainState& chain = claim.seen.chain;
  claim.action = OwnedOutput::action_for(claim.seen, overwrite);
  claim.generation = claim.seen.is_own ? chain.generation() : chain.last + 1;
  claim.joins = claim.seen.is_own && chain.entry > 0;
  if (!claim.seen.is_own) return claim;
  if (chain.entry == 0) claim.published = chain.published;
  if (chain.entry > 0 && !is_unfinished(chain)) claim.published = chain.entry + 1;
  return claim;
}

Result<OwnedOutput> claim_output(const Location& output, const PreparePlan& plan, const PlanClaim& claim,
                                 const Actor& actor) {
  if (claim.joins) return OwnedOutput::join(output, prepare_output(), claim.seen);
  return OwnedOutput::take(
      output, prepare_output(), claim.seen,
      {.configuration = plan_configuration(plan), .actor = actor, .action = claim.action});
}

}  // namespace headrace
