#include <algorithm>
#include <set>

#include "headrace/base/text.h"
#include "headrace/model/export_files.h"
#include "headrace/model/named_model.h"
#include "headrace/serve/version/version_finder.h"

namespace headrace {
namespace {

using Numbers = std::set<std::uint64_t>;

/// Reserved but unpublished numbers to check in search of the highest published ones.
constexpr std::size_t kMostUnpublished = 64;

class NamedModelFinder final : public VersionFinder {
 public:
  NamedModelFinder(Location model, VersionPolicy policy)
      : model_(std::move(model)), policy_(std::move(policy)), aliases_(model_) {}

  Result<WantedVersions> find(const WantedVersions& before, const CallOptions& call) override {
    HEADRACE_TRY(const bool has_moved, aliases_.refresh(call));
    is_due_ = is_due_ || has_moved;
    if (!is_due_) return before;
    WantedVersions found;
    is_complete_ = true;
    HEADRACE_TRY(const Numbers numbers, choose(before, call, found));
    HEADRACE_CHECK(check_version_count(numbers.size(), model_));
    for (const std::uint64_t number : numbers) {
      const auto known = known_.find(number);
      auto version = known != known_.end() ? known->second : find_version(before, number);
      if (version) found.versions.push_back(std::move(version));
    }
    forget(numbers);
    is_due_ = !is_complete_;
    return found;
  }

  std::string describe() const override { return concat("the named model ", model_.describe()); }

 private:
  using Choice = VersionPolicy::Choice;

  // Chooses the wanted numbers of published versions. Sets the labels and remarks of `found`.
  Result<Numbers> choose(const WantedVersions& before, const CallOptions& call, WantedVersions& found) {
    if (policy_.choice == Choice::kDefault) return choose_aliases(before, call, found);
    Numbers numbers;
    if (policy_.choice == Choice::kNumbers) {
      for (const std::uint64_t number : policy_.numbers) {
        HEADRACE_TRY(const bool is_published, look(number, call, found));
        if (is_published) numbers.insert(number);
      }
    } else {
      HEADRACE_TRY(numbers, choose_highest(call, found));
    }
    for (const auto& [alias, number] : aliases_.versions()) {
      if (numbers.contains(number)) found.labels[alias] = number;
    }
    return numbers;
  }

  // If an alias names an unpublished version, it keeps its former version.
  Result<Numbers> choose_aliases(const WantedVersions& before, const CallOptions& call,
                                 WantedVersions& found) {
    Numbers named;
    for (const auto& [alias, number] : aliases_.versions()) named.insert(number);
    HEADRACE_CHECK(check_version_count(named.size(), model_));
    Numbers numbers;
    for (const auto& [alias, number] : aliases_.versions()) {
      HEADRACE_TRY(const bool is_published, look(number, call, found));
      const auto former = before.labels.find(alias);
      if (!is_published && former == before.labels.end()) continue;
      found.labels[alias] = is_published ? number : former->second;
      numbers.insert(found.labels[alias]);
    }
    if (aliases_.versions().empty()) {
      found.remarks.push_back(concat(describe(),
                                     " has no published version yet: headrace train … --name "
                                     "publishes one."));
    }
    return numbers;
  }

  Result<Numbers> choose_highest(const CallOptions& call, WantedVersions& found) {
    HEADRACE_TRY(const std::vector<std::uint64_t> taken, taken_versions(model_, call));
    const std::size_t most = policy_.choice == Choice::kLatest ? policy_.latest : kMostWantedVersions + 1;
    Numbers numbers;
    std::size_t looked_at = 0;
    for (auto number = taken.rbegin(); number != taken.rend() && numbers.size() < most; ++number) {
      if (++looked_at > most + kMostUnpublished) break;
      HEADRACE_TRY(const bool is_published, look(*number, call, found));
      if (is_published) numbers.insert(*number);
    }
    return numbers;
  }

  // Whether the version is published and can be served. A version that can be served is read only once.
  Result<bool> look(std::uint64_t number, const CallOptions& call, WantedVersions& found) {
    if (known_.contains(number)) return true;
    auto version = read(number, call);
    if (!version && !is_about_version(version.error())) return std::move(version).error();
    if (version && *version) {
      known_.emplace(number, *std::move(version));
      return true;
    }
    is_complete_ = false;
    const std::string remark =
        version ? concat("Version ", number, " of ", model_.describe(), " is not published yet.")
                : concat("Version ", number, " of ", model_.describe(),
                         " cannot be served: ", version.error().message, ".");
    if (std::ranges::find(found.remarks, remark) == found.remarks.end()) found.remarks.push_back(remark);
    return false;
  }

  // Null if the version is not published.
  Result<std::shared_ptr<const WantedVersion>> read(std::uint64_t number, const CallOptions& call) const {
    HEADRACE_TRY(const auto published,
                 read_published(version_folder(model_, number), kExportKind, {.call = call}));
    if (!published) return std::shared_ptr<const WantedVersion>();
    return version_of_export(*published, number);
  }

  void forget(const Numbers& wanted) {
    if (known_.size() <= 2 * kMostWantedVersions) return;
    std::erase_if(known_, [&](const auto& known) { return !wanted.contains(known.first); });
  }

  const Location model_;
  const VersionPolicy policy_;
  Aliases aliases_;
  bool is_due_ = true;        // something may have changed since the last successful call
  bool is_complete_ = false;  // all versions that were checked are published
  std::map<std::uint64_t, std::shared_ptr<const WantedVersion>> known_;
};

}  // namespace

std::unique_ptr<VersionFinder> make_named_model_finder(const Location& model, const VersionPolicy& policy) {
  return std::make_unique<NamedModelFinder>(model, policy);
}

}  // namespace headrace
