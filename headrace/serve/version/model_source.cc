#include "headrace/serve/version/model_source.h"

#include "headrace/base/text.h"
#include "headrace/model/export_files.h"
#include "headrace/serve/version/version_finder.h"
#include "headrace/store/numbered.h"
#include "headrace/track/stage_output.h"

namespace headrace {
namespace {

constexpr std::size_t kMostEntries = 100'000;  // entries to read to find out what a place is

// The kinds of entries that lie directly in a place.
struct PlaceContent {
  bool is_named_model = false;
  bool is_headraces = false;  // objects lie below _headrace/
  bool has_saved_model = false;
  bool has_numbered_folder = false;
};

Result<PlaceContent> look_at(const Location& place, const CallOptions& call) {
  PlaceContent content;
  const std::string prefix = folder_prefix(place.key);
  std::size_t entries = 0;
  HEADRACE_CHECK(
      place.store->list(prefix, {.collapse_folders = true, .call = call}, [&](const ObjectInfo& object) {
        std::string_view name = std::string_view(object.key).substr(prefix.size());
        if (name == kSavedModelFile) content.has_saved_model = true;
        if (name == "_headrace/") content.is_headraces = true;
        if (object.is_folder()) {
          name.remove_suffix(1);
          content.has_numbered_folder |= parse_number<std::uint64_t>(name).has_value();
        }
        return ++entries < kMostEntries;
      }));
  if (!content.is_headraces) return content;
  // A named model's version number is reserved before its first alias is set, and no chain lies beside them.
  HEADRACE_CHECK(place.store->list(place.at("_headrace/").key, {.call = call}, [&](const ObjectInfo& object) {
    const std::string_view name = std::string_view(object.key).substr(prefix.size());
    content.is_named_model = name.starts_with("_headrace/aliases-") || name.starts_with("_headrace/version-");
    return !content.is_named_model && !name.starts_with(kManifestPrefix);
  }));
  return content;
}

// The location of an export's chain, if the place is a run or an export; nullopt if it is neither.
Result<std::optional<Location>> find_chain(const Location& place, const CallOptions& call) {
  HEADRACE_TRY(const ChainState inner, read_chain(place.at("export"), call));
  if (!inner.is_free()) return std::optional(place.at("export"));
  HEADRACE_TRY(const ChainState own, read_chain(place, call));
  if (own.damage) return *own.damage;
  if (own.published > 0) {
    HEADRACE_TRY(const auto published, read_published(place, kExportKind, {.call = call}));
    return std::optional(place);
  }
  // This is the export of a run that has not finished.
  if (own.entry > 0 && own.owner.output_entry > 0) return std::optional(place);
  const auto stage = own.owner.configuration.find("stage");
  if (!own.is_free() && stage != own.owner.configuration.end() && !stage->second.starts_with("train")) {
    return Error{Code::kInvalidArgument, concat(place.describe(), " is not a training run: it was begun by ",
                                                own.owner.actor.command)};
  }
  HEADRACE_TRY(const bool is_run, is_begun(place));
  return is_run ? std::optional(place.at("export")) : std::nullopt;
}

// Finds out what the place is; null if nothing is there yet.
Result<std::unique_ptr<VersionFinder>> detect(const Location& place, const VersionPolicy& policy,
                                              const CallOptions& call) {
  HEADRACE_TRY(const PlaceContent content, look_at(place, call));
  if (content.is_named_model) return make_named_model_finder(place, policy);
  HEADRACE_TRY(const std::optional<Location> exported, find_chain(place, call));
  if (exported) return make_export_finder(place, *exported, policy);
  if (content.has_saved_model) return make_saved_model_finder(place, policy);
  if (content.has_numbered_folder) return make_numbered_folder_finder(place, policy, content.is_headraces);
  return std::unique_ptr<VersionFinder>();
}

class DetectedSource final : public ModelSource {
 public:
  DetectedSource(Location place, VersionPolicy policy)
      : place_(std::move(place)), policy_(std::move(policy)) {}

  Result<bool> poll(const CallOptions& call) override {
    auto found = find(call);
    if (!found && found.error().code == Code::kAborted) {
      finder_.reset();
      found = find(call);
    }
    if (!found) return std::move(found).error();
    if (found->versions.empty()) {
      found->versions = wanted_.versions;
      found->labels = wanted_.labels;
    }
    const bool has_changed = !is_same(wanted_, *found);
    wanted_ = *std::move(found);
    return has_changed;
  }
  const WantedVersions& wanted() const override { return wanted_; }
  std::string describe() const override {
    return finder_ ? finder_->describe() : concat("the model in ", place_.describe());
  }

 private:
  Result<WantedVersions> find(const CallOptions& call) {
    if (!finder_) {
      HEADRACE_TRY(finder_, detect(place_, policy_, call));
    }
    if (finder_) return finder_->find(wanted_, call);
    WantedVersions none;
    none.remarks.push_back(
        concat("There is no model in ", place_.describe(),
               " yet: neither a named model, nor a run, nor a SavedModel, nor folders with "
               "numbers that hold one."));
    return none;
  }

  const Location place_;
  const VersionPolicy policy_;
  std::unique_ptr<VersionFinder> finder_;  // null: nothing is there yet
  WantedVersions wanted_;
};

}  // namespace

Result<std::unique_ptr<ModelSource>> open_model_source(const Location& place, const VersionPolicy& policy,
                                                       const CallOptions& call) {
  HEADRACE_CHECK(check_policy(policy));
  std::unique_ptr<ModelSource> source = std::make_unique<DetectedSource>(place, policy);
  HEADRACE_CHECK(source->poll(call));
  return source;
}

}  // namespace headrace
