#include <algorithm>
#include <set>

#include "headrace/base/text.h"
#include "headrace/model/export_files.h"
#include "headrace/serve/version/version_finder.h"

namespace headrace {
namespace {

constexpr std::size_t kMostNumberedFolders = 1'000;
constexpr std::size_t kMostFolderEntries = 100'000;
/// Unfinished folders with higher numbers that a poll checks, in case their upload is now complete.
constexpr std::size_t kMostUnfinished = 16;
constexpr int kListingsToAgree = 2;
constexpr int kListingsToAgreeWithDoubt = 5;

constexpr std::string_view kVariables = "variables/";
constexpr std::string_view kIndexFile = "variables/variables.index";
constexpr std::string_view kDataFiles = "variables/variables.data-";

// Parses "00001-of-00003" into 1 and 3.
std::optional<std::pair<std::uint64_t, std::uint64_t>> parse_data_file(std::string_view text) {
  const std::size_t of = text.find("-of-");
  if (of == std::string_view::npos) return std::nullopt;
  const auto index = parse_number<std::uint64_t>(text.substr(0, of));
  const auto count = parse_number<std::uint64_t>(text.substr(of + 4));
  if (!index || !count || *index >= *count) return std::nullopt;
  return std::pair(*index, *count);
}

/// The files of a SavedModel in a listing.
struct ListedModel {
  std::vector<WantedFile> files;  // ascending by name
  std::string chain_end;          // key of the last object of Headrace's chain; empty: there is none

  bool has(std::string_view name) const {
    const auto found = std::ranges::lower_bound(files, name, {}, &WantedFile::name);
    return found != files.end() && found->name == name;
  }
  bool has_variables() const {
    return std::ranges::any_of(files, [](const auto& file) { return file.name.starts_with(kVariables); });
  }
  // Whether all files exist that the names announce.
  bool is_complete() const {
    if (!has(kSavedModelFile)) return false;
    if (!has_variables()) return true;
    std::map<std::uint64_t, std::set<std::uint64_t>> indexes_of_count;
    for (const WantedFile& file : files) {
      if (!file.name.starts_with(kDataFiles)) continue;
      const auto data = parse_data_file(std::string_view(file.name).substr(kDataFiles.size()));
      if (data) indexes_of_count[data->second].insert(data->first);
    }
    return has(kIndexFile) && std::ranges::any_of(indexes_of_count, [](const auto& of_count) {
             return of_count.second.size() == of_count.first;
           });
  }
  std::string digest(const Location& folder) const {
    return listing_digest("SavedModel", folder, chain_end, files);
  }
};

Result<ListedModel> list_model(const Location& folder, const CallOptions& call) {
  ListedModel listed;
  const std::string prefix = folder_prefix(folder.key);
  std::size_t entries = 0;
  HEADRACE_CHECK(folder.store->list(prefix, {.call = call}, [&](const ObjectInfo& object) {
    const std::string_view name = std::string_view(object.key).substr(prefix.size());
    if (name.starts_with(kManifestPrefix)) listed.chain_end = object.key;
    // Store consoles represent folders by empty objects whose names end in '/'.
    if (is_saved_model_file(name) && !object.is_folder())
      listed.files.push_back({.name = std::string(name),
                              .key = object.key,
                              .size_bytes = object.size_bytes,
                              .version = object.version});
    return ++entries <= kMostFolderEntries;
  }));
  if (entries > kMostFolderEntries) {
    return Error{Code::kResourceExhausted, concat(folder.describe(), " has more than ", kMostFolderEntries,
                                                  " objects: name a folder that holds only the model")};
  }
  std::ranges::sort(listed.files, {}, &WantedFile::name);
  return listed;
}

/// A SavedModel that is watched over several polls.
class WatchedFolder {
 public:
  WatchedFolder(Location folder, std::uint64_t number) : folder_(std::move(folder)), number_(number) {}

  /// Lists the folder. An export that Headrace has published or copied is accepted at once.
  Status look(const CallOptions& call) {
    HEADRACE_TRY(ListedModel listed, list_model(folder_, call));
    std::string digest = listed.digest(folder_);
    agreed_ = digest == digest_ ? agreed_ + 1 : 1;
    digest_ = std::move(digest);
    if (accepted_ && digest_ == accepted_listing_) return {};
    if (!listed.chain_end.empty()) {
      HEADRACE_TRY(const auto published, read_published(folder_, kExportKind, {.call = call}));
      if (published) {
        HEADRACE_TRY(accepted_, version_of_export(*published, number_));
        accepted_listing_ = digest_;
        return {};
      }
    }
    const bool is_doubtful = accepted_ || !listed.has_variables();
    is_settled_ = agreed_ >= (is_doubtful ? kListingsToAgreeWithDoubt : kListingsToAgree);
    if (!is_settled_) return {};
    if (!listed.is_complete()) {
      accepted_.reset();
      return {};
    }
    HEADRACE_TRY(
        accepted_,
        checked_version(
            {.number = number_, .folder = folder_, .digest = digest_, .files = std::move(listed.files)}));
    accepted_listing_ = digest_;
    return {};
  }

  /// The version that was accepted last; null if there is none.
  const std::shared_ptr<const WantedVersion>& accepted() const { return accepted_; }
  std::string remark() const {
    return concat("Version ", number_, " in ", folder_.describe(),
                  is_settled_ ? " has no saved_model.pb, or lacks files in variables/: upload it again."
                              : " may still be being uploaded: it is served once further listings agree.");
  }

 private:
  const Location folder_;
  const std::uint64_t number_;
  std::string digest_;  // of the last listing
  int agreed_ = 0;      // consecutive listings with that digest
  bool is_settled_ = false;
  std::string accepted_listing_;  // digest of the listing that was accepted last
  std::shared_ptr<const WantedVersion> accepted_;
};

// Adds a remark if the folder has no accepted version.
void add_remark(const WatchedFolder& folder, const Status& looked, WantedVersions& found) {
  if (!looked) {
    found.remarks.push_back(concat(looked.error().message, "."));
  } else if (!folder.accepted()) {
    found.remarks.push_back(folder.remark());
  }
}

/// Finds a single SavedModel that another program has made.
class SavedModelFinder final : public VersionFinder {
 public:
  SavedModelFinder(const Location& folder, VersionPolicy policy)
      : folder_(folder), policy_(std::move(policy)), watched_(folder, 1) {}

  Result<WantedVersions> find(const WantedVersions& before, const CallOptions& call) override {
    WantedVersions found;
    if (policy_.choice == VersionPolicy::Choice::kNumbers &&
        std::ranges::find(policy_.numbers, std::uint64_t{1}) == policy_.numbers.end()) {
      found.remarks.push_back(concat(describe(), " is version 1 only, and the policy names others."));
      return found;
    }
    const Status looked = watched_.look(call);
    if (!looked && !is_about_version(looked.error())) return looked.error();
    add_remark(watched_, looked, found);
    if (watched_.accepted()) found.versions.push_back(watched_.accepted());
    if (watched_.accepted()) found.labels["latest"] = 1;
    if (found.versions.empty() && !before.versions.empty())
      found.remarks.push_back("The previous version stays in service.");
    return found;
  }
  std::string describe() const override { return concat("the SavedModel ", folder_.describe()); }

 private:
  const Location folder_;
  const VersionPolicy policy_;
  WatchedFolder watched_;
};

/// Finds versions in folders <integer>/, as TensorFlow Serving does.
class NumberedFolderFinder final : public VersionFinder {
 public:
  NumberedFolderFinder(Location folder, VersionPolicy policy, bool has_others)
      : folder_(std::move(folder)), policy_(std::move(policy)), has_others_(has_others) {}

  Result<WantedVersions> find(const WantedVersions& before, const CallOptions& call) override {
    WantedVersions found;
    HEADRACE_TRY(const auto names, list_numbers(call));
    std::erase_if(watched_, [&](const auto& watched) { return !names.contains(watched.first); });
    const std::size_t most = policy_.choice == Choice::kAll       ? kMostWantedVersions + 1
                             : policy_.choice == Choice::kNumbers ? policy_.numbers.size()
                                                                  : policy_.latest;
    std::size_t looked_at = 0;
    for (auto name = names.rbegin(); name != names.rend() && found.versions.size() < most; ++name) {
      if (!is_chosen(name->first)) continue;
      if (++looked_at > most + kMostUnfinished) break;
      HEADRACE_CHECK(look(name->first, name->second, call, found));
    }
    HEADRACE_CHECK(check_version_count(found.versions.size(), folder_));
    std::ranges::reverse(found.versions);
    if (!found.versions.empty()) found.labels["latest"] = found.versions.back()->number;
    if (found.versions.empty() && !before.versions.empty())
      found.remarks.push_back(
          concat("No version is left in ", folder_.describe(), ": the previous versions stay in service."));
    return found;
  }
  std::string describe() const override { return concat("the numbered SavedModels in ", folder_.describe()); }

 private:
  using Choice = VersionPolicy::Choice;

  bool is_chosen(std::uint64_t number) const {
    return policy_.choice != Choice::kNumbers ||
           std::ranges::find(policy_.numbers, number) != policy_.numbers.end();
  }

  Status look(std::uint64_t number, const std::string& name, const CallOptions& call, WantedVersions& found) {
    WatchedFolder& watched = watched_.try_emplace(number, folder_.at(name), number).first->second;
    const Status looked = watched.look(call);
    if (!looked && !is_about_version(looked.error())) return looked.error();
    add_remark(watched, looked, found);
    if (watched.accepted()) found.versions.push_back(watched.accepted());
    return {};
  }

  // Maps each number to its folder's name. If both "1" and "01" exist, the one that is listed first counts.
  /// \error kAborted  Headrace has published there in the meantime: the place may be a named model now
  Result<std::map<std::uint64_t, std::string>> list_numbers(const CallOptions& call) const {
    std::map<std::uint64_t, std::string> names;
    const std::string prefix = folder_prefix(folder_.key);
    std::size_t entries = 0;
    bool was_published = false;
    HEADRACE_CHECK(
        folder_.store->list(prefix, {.collapse_folders = true, .call = call}, [&](const ObjectInfo& object) {
          std::string_view name = std::string_view(object.key).substr(prefix.size());
          was_published |= name == "_headrace/";
          if (object.is_folder() && !name.empty()) {
            name.remove_suffix(1);
            const auto number = parse_number<std::uint64_t>(name);
            if (number) names.try_emplace(*number, name);
          }
          return ++entries <= kMostFolderEntries && names.size() <= kMostNumberedFolders;
        }));
    if (was_published && !has_others_)
      return Error{Code::kAborted, concat(folder_.describe(), " was published by Headrace in the meantime")};
    if (entries <= kMostFolderEntries && names.size() <= kMostNumberedFolders) return names;
    return Error{Code::kResourceExhausted, concat(folder_.describe(), " has more than ", kMostNumberedFolders,
                                                  " numbered folders, or more than ", kMostFolderEntries,
                                                  " entries: remove old versions")};
  }

  const Location folder_;
  const VersionPolicy policy_;
  const bool has_others_;
  std::map<std::uint64_t, WatchedFolder> watched_;
};

}  // namespace

std::unique_ptr<VersionFinder> make_saved_model_finder(const Location& folder, const VersionPolicy& policy) {
  return std::make_unique<SavedModelFinder>(folder, policy);
}

std::unique_ptr<VersionFinder> make_numbered_folder_finder(const Location& folder,
                                                           const VersionPolicy& policy, bool has_others) {
  return std::make_unique<NumberedFolderFinder>(folder, policy, has_others);
}

}  // namespace headrace
