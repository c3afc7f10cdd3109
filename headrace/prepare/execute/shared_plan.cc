#include "headrace/prepare/execute/shared_plan.h"

#include "headrace/base/text.h"
#include "headrace/prepare/extract/extract.h"
#include "headrace/prepare/write/publish.h"
#include "headrace/track/created_once.h"
#include "headrace/track/published_folder.h"

namespace headrace {
namespace {

constexpr std::string_view kSlices = "slices";
constexpr int kClaimAttempts = 20;
constexpr SizeLimit kSlicesLimit{
    .bytes = std::uint64_t{1} << 30,
    .what_to_do = "name fewer and larger files, for example by packing them into tars"};

std::string value_of(const Configuration& configuration, const std::string& key) {
  const auto found = configuration.find(key);
  return found == configuration.end() ? std::string() : found->second;
}

Status write_slices(const PreparePlan& plan, const Location& output, std::uint64_t generation) {
  const std::string digest = configuration_digest(plan_configuration(plan));
  const Location work = work_folder(output, name_tag(digest, generation));
  HEADRACE_CHECK(write_pasts(plan, work));  // before the slices: a process that finds those needs the pasts
  const Location slices = work.at(kSlices);
  const std::string text = slices_to_json(plan.input);
  HEADRACE_CHECK(check_size(slices, text.size(), kSlicesLimit));
  return write_unless_same(slices, as_bytes(text));
}

Result<std::vector<Slice>> read_slices(const Location& output, const Location& slices) {
  const auto read = read_object(*slices.store, slices.key, kSlicesLimit.bytes);
  if (!read && read.error().code == Code::kNotFound) {
    return Error{Code::kNotFound, concat("the plan at ", output.describe(),
                                         " is not shared; headrace plan FROM TO makes a shared plan")};
  }
  if (!read) return read.error();
  auto parsed = parse_slices(as_text(read->data));
  return parsed ? std::move(parsed) : std::move(parsed).error().in(slices.describe());
}

}  // namespace

Result<OwnedOutput> share_plan(const PreparePlan& plan, const Location& output, bool overwrite,
                               const Actor& actor) {
  for (int attempt = 1;; ++attempt) {
    HEADRACE_TRY(const PlanClaim claim, examine_plan_output(output, plan, overwrite));
    if (claim.published > 0) {
      return Error{Code::kAborted, concat(output.describe(),
                                          " was published meanwhile by another process with "
                                          "the same plan; run the same command again")};
    }
    auto owned = claim_output(output, plan, claim, actor);
    if (owned) {
      HEADRACE_CHECK(write_slices(plan, output, owned->generation()));
      return owned;
    }
    // If processes with the same plan begin at the same time, one claims the output, and the others join it.
    if (overwrite || owned.error().code != Code::kAborted || attempt == kClaimAttempts)
      return std::move(owned).error();
  }
}

Result<bool> was_appended(const Location& output, const PreparePlan& plan) {
  HEADRACE_TRY(const std::optional<Configuration> before,
               configuration_of(output, plan.base->manifest, kPlanKey));
  const bool made_the_base = before && configuration_digest(*before) == plan.base->manifest.plan;
  return made_the_base &&
         value_of(*before, kContinuesKey).starts_with(continuation_name(Continuation::kAppend)) &&
         value_of(*before, "input") == plan.input.url &&
         value_of(*before, "input version") == plan.input.version;
}

Status check_continuation(const Location& output, const PreparePlan& plan) {
  HEADRACE_TRY(const ChainState chain, read_chain(output));
  if (chain.owner.action != OwnershipAction::kContinue) return {};
  const Configuration& before = chain.owner.configuration;
  const Configuration now = plan_configuration(plan);
  if (value_of(before, kContinuesKey) != value_of(now, kContinuesKey)) return {};
  Status same = check_same(before, now, output.describe());
  if (same) return same;
  return Error{same.error().code,
               concat(same.error().message, ". Or start again with headrace plan --append")};
}

Result<SharedPlan> read_shared_plan(const Location& output) {
  HEADRACE_TRY(const ChainState chain, read_chain(output));
  if (chain.damage) return *chain.damage;
  if (chain.entry == 0 || chain.owner.action == OwnershipAction::kRemove) {
    return Error{Code::kNotFound,
                 concat("there is no plan at ", output.describe(), "; make one with headrace plan FROM TO")};
  }
  const Configuration& configuration = chain.owner.configuration;
  if (!value_of(configuration, "stage").starts_with("prepare")) {
    return Error{Code::kFailedPrecondition, concat(output.describe(), " is not a plan, but an output that ",
                                                   describe(chain.owner.actor), " began; name another URL")};
  }
  OwnedOutput owned = OwnedOutput::join(output, prepare_output(), {.chain = chain});
  std::vector<Slice> slices;
  if (chain.last == chain.entry) {
    const std::string tag = name_tag(configuration_digest(configuration), chain.generation());
    HEADRACE_TRY(slices, read_slices(output, work_folder(output, tag).at(kSlices)));
  }
  HEADRACE_TRY(PreparePlan plan, parse_plan(configuration, std::move(slices), output));
  return SharedPlan{std::move(plan), std::move(owned)};
}

}  // namespace headrace
