#include "headrace/prepare/execute/shared_plan.h"

#include "headrace/base/text.h"
#include "headrace/prepare/extract/extract.h"
#include "headrace/prepare/write/publish.h"
#include "headrace/track/published_folder.h"

namespace headrace {
namespace {

constexpr std::string_view kSlices = "slices";
constexpr std::uint64_t kSlicesLimitBytes = 256 << 20;

std::string value_of(const Configuration& configuration, const std::string& key) {
  const auto found = configuration.find(key);
  return found == configuration.end() ? std::string() : found->second;
}

}  // namespace

Status share_plan(const PreparePlan& plan, const Location& output, bool overwrite) {
  const Configuration configuration = plan_configuration(plan);
  if (overwrite) HEADRACE_CHECK(remove_work(output));
  HEADRACE_CHECK(begin_output(output, plan, overwrite));
  const Location work = work_folder(output, configuration_digest(configuration));
  HEADRACE_CHECK(write_pasts(plan, work));  // whoever finds the slices finds these
  const Location slices = work.at(kSlices);
  HEADRACE_CHECK(write_text(*slices.store, slices.key, slices_to_json(plan.input)));
  return {};
}

Result<bool> was_appended(const Location& output, const PreparePlan& plan) {
  HEADRACE_TRY(const Configuration before, read_configuration(output.at(kPlanKey)));
  const bool made_the_base = configuration_digest(before) == plan.base->manifest.plan;
  return made_the_base &&
         value_of(before, kContinuesKey).starts_with(continuation_name(Continuation::kAppend)) &&
         value_of(before, "input") == plan.input.url &&
         value_of(before, "input version") == plan.input.version;
}

Status check_continuation(const Location& output, const PreparePlan& plan) {
  const Location claim = output.at(kPlanKey);
  HEADRACE_TRY(const Configuration before, read_configuration(claim));
  const Configuration now = plan_configuration(plan);
  if (value_of(before, kContinuesKey) != value_of(now, kContinuesKey)) return {};
  Status same = check_configuration(claim, now);
  if (same) return same;
  return Error{same.error().code,
               concat(same.error().message, ". Or start again with headrace plan --append")};
}

Result<PreparePlan> read_shared_plan(const Location& output) {
  const Location claim = output.at(kPlanKey);
  auto configuration = read_configuration(claim);
  if (!configuration && configuration.error().code == Code::kNotFound) {
    return Error{Code::kNotFound,
                 concat("no plan lies at ", output.describe(), "; make one with headrace plan FROM TO")};
  }
  if (!configuration) return std::move(configuration).error();
  const Location slices = work_folder(output, configuration_digest(*configuration)).at(kSlices);
  auto read = read_object(*slices.store, slices.key, kSlicesLimitBytes);
  if (!read && read.error().code == Code::kNotFound) {
    HEADRACE_TRY(const std::optional<PublishedFolder> latest, read_published(output));
    if (latest && latest->manifest.plan == configuration_digest(*configuration))
      return parse_plan(*configuration, {}, output);
    return Error{Code::kNotFound, concat("the plan at ", output.describe(),
                                         " was not made for others; headrace plan FROM TO does that")};
  }
  if (!read) return std::move(read).error();
  auto parsed = parse_slices(as_text(read->data));
  if (!parsed) return std::move(parsed).error().in(slices.describe());
  return parse_plan(*configuration, *std::move(parsed), output);
}

}  // namespace headrace
