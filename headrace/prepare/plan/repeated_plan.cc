#include "headrace/prepare/plan/repeated_plan.h"

#include <functional>
#include <set>
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

// Collects the names of the first few inputs, and counts all of them.
class NamedInputs {
 public:
  void add(std::string_view url) {
    if (++count_ <= kNamedInputs) names_.emplace_back(url);
  }
  bool is_empty() const { return count_ == 0; }
  bool is_one() const { return count_ == 1; }
  std::string text() const {
    const std::uint64_t more = count_ - names_.size();
    return concat(join(names_, ", "), more > 0 ? concat(" and ", more, " more") : "");
  }

 private:
  std::uint64_t count_ = 0;
  std::vector<std::string> names_;
};

// `how` is a participle: "been removed".
Error lost_inputs(const NamedInputs& inputs, std::string_view how) {
  const bool is_one = inputs.is_one();
  return {Code::kFailedPrecondition,
          concat(is_one ? "the input " : "the inputs ", inputs.text(), is_one ? " has " : " have ", how,
                 " since ", is_one ? "it was read: restore it" : "they were read: restore them")};
}

Error missing_input(const InputPlace& input) {
  if (!input.location || !is_staged_folder(input.location->key)) {
    NamedInputs gone;
    gone.add(input.describe());
    return lost_inputs(gone, "been removed");
  }
  return {Code::kFailedPrecondition,
          "its rows came from a Python program, and were not kept: only that program can make it again, with "
          "overwrite"};
}

// Calls `take` with everything at an input's place now, which is all that `input` lists.
Status list_present(const InputPlace& place, const Input& input,
                    const std::function<void(const ReadInput&)>& take) {
  for (const Slice& slice : input.slices) {
    for (const InputFile& file : slice.files) take({file.url, file.size_bytes, file.version});
    if (!slice.name.empty()) take({slice.name, slice.size_bytes, slice.digest});
  }
  if (input.slices.empty() || !input.slices.front().is_range_of_folder()) return {};
  const Location& location = *place.location;
  const std::string prefix = folder_prefix(location.key);
  return location.store->list(prefix, {}, [&](const ObjectInfo& object) {
    const std::string url =
        concat(location.url.text(), '/', std::string_view(object.key).substr(prefix.size()));
    take({url, object.size_bytes, object.version.token});
    return true;
  });
}

// Returns a manifest with the parts that record inputs and have `tag` in their names.
Manifest own_inputs(const Manifest& manifest, const std::string& tag) {
  Manifest own;
  for (const ManifestPart& part : manifest.parts) {
    if (part.role == kInputsRole && part.key.find(tag) != std::string::npos) own.parts.push_back(part);
  }
  return own;
}

/// Finds the input that a version has read among the input that is there now.
class EarlierInput {
 public:
  EarlierInput(const PublishedFolder& version, const std::string& tag, const InputPlace& place,
               RepeatedPlan& repeated)
      : version_(version), tag_(tag), place_(place), repeated_(repeated), plan_(repeated.planned.plan) {}

  Result<Input> find(const Versions& later) {
    auto present = look_at_input(place_, plan_.input.format, plan_);
    if (!present && present.error().code == Code::kNotFound) return missing_input(place_);
    if (!present || present->version == plan_.input.version) return present;
    const Status compared = compare(*present);
    if (compared) return look();
    const bool is_unreadable = compared.error().code != Code::kFailedPrecondition;
    if (is_unreadable) {
      HEADRACE_CHECK(leave_out(later, *present));
      HEADRACE_TRY(Input input, look());
      if (input.version == plan_.input.version) return input;
    }
    return Error(compared.error()).in(concat(place_.describe(), " has changed since it was read"));
  }

 private:
  Result<Input> look() {
    plan_.only->settle();
    auto found = look_at_input(place_, plan_.input.format, plan_, plan_.only.get());
    return !found && found.error().code == Code::kNotFound ? missing_input(place_) : std::move(found);
  }

  // Selects the inputs that the version's record names. All inputs that the version itself has read must be
  // there, with the same sizes.
  Status compare(const Input& present) {
    KnownInputs sizes, versions;
    HEADRACE_CHECK(list_present(place_, present, [&](const ReadInput& input) {
      sizes.add(input.url, concat(input.size_bytes));
      versions.add(input.url, input.version);
    }));
    sizes.settle();
    versions.settle();
    NamedInputs gone, resized, rewritten;
    HEADRACE_CHECK(
        read_inputs(version_.folder, own_inputs(version_.manifest, tag_), [&](const ReadInput& input) {
          const KnownInputs::Match size = sizes.look(input.url, concat(input.size_bytes));
          const bool is_same = versions.look(input.url, input.version) == KnownInputs::Match::kSame;
          if (size == KnownInputs::Match::kNew) gone.add(input.url);
          if (size == KnownInputs::Match::kChanged) resized.add(input.url);
          if (size == KnownInputs::Match::kSame && !is_same) rewritten.add(input.url);
        }));
    if (!gone.is_empty()) return lost_inputs(gone, "been removed");
    if (!resized.is_empty()) return lost_inputs(resized, "changed");
    repeated_.rewritten_inputs = rewritten.text();
    plan_.only = std::make_shared<KnownInputs>();
    return read_inputs(version_.folder, version_.manifest,
                       [&](const ReadInput& input) { plan_.only->add(input.url, input.version); });
  }

  // Selects everything that is there now, except the inputs that later versions have added.
  Status leave_out(const Versions& later, const Input& present) {
    std::set<std::string_view> known;
    for (const ManifestPart& part : version_.manifest.parts) known.insert(part.key);
    KnownInputs added;
    for (const PublishedFolder* version : later) {
      Manifest more = own_inputs(version->manifest, "");
      std::erase_if(more.parts, [&](const ManifestPart& part) { return known.contains(part.key); });
      HEADRACE_CHECK(read_inputs(version->folder, more,
                                 [&](const ReadInput& input) { added.add(input.url, input.version); }));
    }
    added.settle();
    plan_.only = std::make_shared<KnownInputs>();
    return list_present(place_, present, [&](const ReadInput& input) {
      if (!added.has(input.url)) plan_.only->add(input.url, input.version);
    });
  }

  const PublishedFolder& version_;
  const std::string& tag_;
  const InputPlace& place_;
  RepeatedPlan& repeated_;
  PreparePlan& plan_;
};

}  // namespace

Result<VersionOrigin> read_origin(const PublishedFolder& version) {
  VersionOrigin origin{.plan_digest = version.manifest.plan};
  HEADRACE_TRY(std::optional<Configuration> configuration,
               configuration_of(version.folder, version.manifest, kPlanKey));
  if (!configuration || configuration_digest(*configuration) != origin.plan_digest) {
    return Error{Code::kFailedPrecondition, concat("the plan of version ", version.number, " of ",
                                                   version.folder.describe(), " is missing")};
  }
  origin.configuration = *std::move(configuration);
  if (version.manifest.entry > 0) {
    HEADRACE_TRY(const OwnershipEntry entry, read_entry(version.folder, version.manifest.entry));
    origin.generation = entry.generation;
  }
  return origin;
}

Result<RepeatedPlan> repeat_plan(const PublishedFolder& version, const VersionOrigin& origin,
                                 const Versions& later, const PlanningContext& context) {
  RepeatedPlan repeated;
  PreparePlan& plan = repeated.planned.plan;
  HEADRACE_TRY(plan, parse_plan(origin.configuration, {}, version.folder, context.kinds));
  HEADRACE_TRY(InputPlace input, open_input_place(plan.input.url, context.stores, context.kinds));
  if (input.location) input.location = make_stoppable(*std::move(input.location), context.stop);
  const std::string tag = origin.tag();
  HEADRACE_TRY(plan.input, EarlierInput(version, tag, input, repeated).find(later));
  HEADRACE_CHECK(check_staged_rows(plan.input, version.folder));
  if (plan.base != nullptr) {
    HEADRACE_TRY(plan.pasts, leave_what_continues(plan.input, *plan.base, version.folder, plan.continuation));
  }
  HEADRACE_TRY(repeated.planned.map, make_map_pool(plan, context));
  HEADRACE_TRY(repeated.planned.encoders, make_encoders(plan.schema, context.encoders));
  HEADRACE_CHECK(check_encoders(plan, repeated.planned.encoders));
  return repeated;
}

}  // namespace headrace
