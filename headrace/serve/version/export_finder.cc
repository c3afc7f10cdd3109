#include <algorithm>

#include "headrace/base/text.h"
#include "headrace/model/export_files.h"
#include "headrace/serve/version/version_finder.h"

namespace headrace {
namespace {

/// Finds the version of a run or an export.
class ExportFinder final : public VersionFinder {
 public:
  ExportFinder(Location place, Location exported, VersionPolicy policy)
      : place_(std::move(place)), exported_(std::move(exported)), policy_(std::move(policy)) {}

  Result<WantedVersions> find(const WantedVersions& before, const CallOptions& call) override {
    const std::string prefix = exported_.at(kManifestPrefix).key;
    if (last_) {
      HEADRACE_TRY(const bool goes_on, has_number_after(*exported_.store, prefix, *last_, call));
      if (!goes_on) return before;
    }
    // Reads the end of the chain first, so that the next call finds whatever is appended afterwards.
    HEADRACE_TRY(const std::optional<std::uint64_t> last, latest_number(*exported_.store, prefix, call));
    HEADRACE_TRY(const auto published, read_published(exported_, kExportKind, {.call = call}));
    HEADRACE_TRY(WantedVersions found, wanted_of(published, before));
    last_ = last.value_or(0);
    return found;
  }

  std::string describe() const override {
    return concat(place_.key == exported_.key ? "the export " : "the run ", place_.describe());
  }

 private:
  Result<WantedVersions> wanted_of(const std::optional<PublishedFolder>& published,
                                   const WantedVersions& before) const {
    WantedVersions found{before.versions, before.labels, {}};
    if (!published) {
      found.remarks.push_back(
          concat(describe(), before.versions.empty()
                                 ? " has published no model yet: its training has not "
                                   "finished. The headrace train command that began it "
                                   "continues it."
                                 : " was removed; the versions that it had published stay in service."));
      return found;
    }
    if (policy_.choice == VersionPolicy::Choice::kNumbers &&
        std::ranges::find(policy_.numbers, published->number) == policy_.numbers.end()) {
      found.remarks.push_back(
          concat(describe(), " has version ", published->number, " only, and the policy names others."));
      return found;
    }
    HEADRACE_TRY(const auto version, version_of_export(*published, published->number));
    return WantedVersions{{version}, {{"latest", version->number}}, {}};
  }

  const Location place_;
  const Location exported_;
  const VersionPolicy policy_;
  std::optional<std::uint64_t> last_;  // the end of the chain at the last read; 0: the chain was empty
};

}  // namespace

std::unique_ptr<VersionFinder> make_export_finder(const Location& place, const Location& exported,
                                                  const VersionPolicy& policy) {
  return std::make_unique<ExportFinder>(place, exported, policy);
}

Result<std::shared_ptr<const WantedVersion>> version_of_export(const PublishedFolder& exported,
                                                               std::uint64_t number) {
  const std::string below = folder_of_part(exported.manifest, kSavedModelFile);
  WantedVersion version{.number = number,
                        .folder = exported.folder,
                        .digest = exported.digest,
                        .files = {},
                        .attributes_json = exported.manifest.attributes_json};
  for (const ManifestPart& part : exported.manifest.parts) {
    if (!part.key.starts_with(below)) continue;
    version.files.push_back({.name = part.key.substr(below.size()),
                             .key = exported.folder.at(part.key).key,
                             .size_bytes = part.size_bytes,
                             .crc32c = part.crc32c});
  }
  return checked_version(std::move(version));
}

bool is_about_version(const Error& error) {
  return error.code == Code::kDataLoss || error.code == Code::kInvalidArgument ||
         error.code == Code::kUnimplemented || error.code == Code::kResourceExhausted;
}

}  // namespace headrace
