#include "headrace/prepare/plan/repeated_plan.h"

#include <utility>
#include <vector>

#include "headrace/base/text.h"
#include "headrace/prepare/plan/plan_request.h"
#include "headrace/prepare/table/staged_rows.h"
#include "headrace/store/layers/stoppable.h"
#include "headrace/track/stage_output.h"

namespace headrace {
namespace {

constexpr std::size_t kNamedInputs = 3;  // in a message

// The first few of some inputs, and how many there are.
class NamedInputs {
 public:
  void add(std::string_view url) {
    if (++count_ <= kNamedInputs) names_.emplace_back(url);
  }
  bool is_empty() const { return count_ == 0; }
  std::string text() const {
    const std::uint64_t more = count_ - names_.size();
    return concat(join(names_, ", "), more > 0 ? concat(" and ", more, " more") : "");
  }

 private:
  std::uint64_t count_ = 0;
  std::vector<std::string> names_;
};

Error lost_input(std::string_view what, std::string_view how) {
  return {Code::kFailedPrecondition, concat("the input ", what, " ", how, " since it was read: restore it")};
}

Error missing_input(const Location& input) {
  if (!is_staged_folder(input.key)) return lost_input(input.describe(), "is gone");
  return {Code::kFailedPrecondition,
          "its rows came from a Python program, and are not kept: only that program can make it again, with overwrite"};
}

struct PresentInputs {
  KnownInputs sizes;  // instead of versions
  KnownInputs versions;
};

PresentInputs inputs_of_files(const Input& input) {
  PresentInputs present;
  for (const Slice& slice : input.slices) {
    for (const InputFile& file : slice.files) {
      present.sizes.add(file.url, concat(file.size_bytes));
      present.versions.add(file.url, file.version);
    }
  }
  return present;
}

Result<PresentInputs> find_present(const Location& location, const Input& input) {
  PresentInputs present = inputs_of_files(input);
  if (input.slices.front().is_range_of_folder()) {
    const std::string prefix = folder_prefix(location.key);
    HEADRACE_CHECK(location.store->list(prefix, {}, [&](const ObjectInfo& object) {
      const std::string url =
          concat(location.url.text(), '/', std::string_view(object.key).substr(prefix.size()));
      present.sizes.add(url, concat(object.size_bytes));
      present.versions.add(url, object.version.token);
      return true;
    }));
  }
  present.sizes.settle();
  present.versions.settle();
  return present;
}

// The record of what this version has read, without that of the versions that it continues.
Manifest own_inputs(const Manifest& manifest, const std::string& tag) {
  Manifest own;
  for (const ManifestPart& part : manifest.parts) {
    if (part.role == kInputsRole && part.key.find(tag) != std::string::npos) own.parts.push_back(part);
  }
  return own;
}

// Names what the version has read and what is not there as it was; of equal size, `rewritten` names it.
Status compare_inputs(const PublishedFolder& version, const std::string& tag, const PresentInputs& present,
                      std::string& rewritten) {
  NamedInputs gone, resized, touched;
  HEADRACE_CHECK(read_inputs(version.folder, own_inputs(version.manifest, tag), [&](const ReadInput& input) {
    const KnownInputs::Match size = present.sizes.look(input.url, concat(input.size_bytes));
    if (size == KnownInputs::Match::kNew) {
      gone.add(input.url);
    } else if (size == KnownInputs::Match::kChanged) {
      resized.add(input.url);
    } else if (present.versions.look(input.url, input.version) != KnownInputs::Match::kSame) {
      touched.add(input.url);
    }
  }));
  if (!gone.is_empty()) return lost_input(gone.text(), "is gone");
  if (!resized.is_empty()) return lost_input(resized.text(), "has changed");
  rewritten = touched.text();
  return {};
}

// The input as it was read, as far as that can be told; `plan` has the version that it had as a whole.
Result<Input> find_input_again(const PublishedFolder& version, const std::string& tag, const Location& location,
                               RepeatedPlan& repeated) {
  PreparePlan& plan = repeated.planned.plan;
  auto present = look_at_input(location, plan.input.format, plan);
  if (!present && present.error().code == Code::kNotFound) return missing_input(location);
  if (!present || present->version == plan.input.version) return present;
  const auto only = std::make_shared<KnownInputs>();
  const auto compare = [&]() -> Status {
    HEADRACE_CHECK(read_inputs(version.folder, version.manifest,
                               [&](const ReadInput& input) { only->add(input.url, input.version); }));
    only->settle();
    HEADRACE_TRY(const PresentInputs inputs, find_present(location, *present));
    return compare_inputs(version, tag, inputs, repeated.rewritten_inputs);
  };
  if (Status compared = compare(); !compared)
    return std::move(compared).error().in(concat(location.describe(), " is not as it was read"));
  plan.only = only;
  return look_at_input(location, plan.input.format, plan, only.get());
}

}  // namespace

Result<VersionOrigin> read_origin(const PublishedFolder& version) {
  VersionOrigin origin{.plan_digest = version.manifest.plan};
  HEADRACE_TRY(std::optional<Configuration> configuration,
               configuration_of(version.folder, version.manifest, kPlanKey));
  if (!configuration || configuration_digest(*configuration) != origin.plan_digest) {
    return Error{Code::kFailedPrecondition,
                 concat("the plan of version ", version.number, " of ", version.folder.describe(), " is gone")};
  }
  origin.configuration = *std::move(configuration);
  if (version.manifest.entry > 0) {
    HEADRACE_TRY(const OwnershipEntry entry, read_entry(version.folder, version.manifest.entry));
    origin.generation = entry.generation;
  }
  return origin;
}

Result<RepeatedPlan> repeat_plan(const PublishedFolder& version, const VersionOrigin& origin,
                                 const PlanningContext& context) {
  RepeatedPlan repeated;
  PreparePlan& plan = repeated.planned.plan;
  HEADRACE_TRY(plan, parse_plan(origin.configuration, {}, version.folder));
  HEADRACE_TRY(Location input, context.stores.open(plan.input.url));
  input = make_stoppable(std::move(input), context.stop);
  HEADRACE_TRY(plan.input, find_input_again(version, origin.tag(), input, repeated));
  HEADRACE_CHECK(check_staged_rows(plan.input, version.folder));
  if (plan.base != nullptr) {
    HEADRACE_TRY(plan.pasts,
                 leave_what_continues(plan.input, *plan.base, version.folder, plan.continuation));
  }
  HEADRACE_TRY(repeated.planned.map, make_map_pool(plan, context));
  HEADRACE_TRY(repeated.planned.encoders, make_encoders(plan.schema, context.encoders));
  HEADRACE_CHECK(check_encoders(plan, repeated.planned.encoders));
  return repeated;
}

}  // namespace headrace
