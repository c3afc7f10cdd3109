#include "headrace/serve/version/wanted_version.h"

#include <algorithm>

#include "headrace/base/digest.h"
#include "headrace/base/text.h"
#include "headrace/model/export_files.h"

namespace headrace {
namespace {

constexpr std::size_t kDigestDigits = 64;

// REQUIRES: the names ascend. "a-b" may lie between "a" and "a/b".
Status check_names(const std::vector<WantedFile>& files) {
  for (std::size_t i = 0; i < files.size(); ++i) {
    const std::string& name = files[i].name;
    Status valid = check_key(name);
    if (!valid) return std::move(valid).error().in("the name of a file");
    if (i > 0 && name == files[i - 1].name)
      return Error{Code::kInvalidArgument, concat("the file ", name, " is named twice")};
    for (std::size_t slash = name.find('/'); slash != std::string::npos; slash = name.find('/', slash + 1)) {
      const std::string_view folder = std::string_view(name).substr(0, slash);
      const auto found = std::ranges::lower_bound(files, folder, {}, &WantedFile::name);
      if (found != files.end() && found->name == folder)
        return Error{Code::kInvalidArgument, concat(folder, " is both a file and the folder of ", name)};
    }
  }
  return {};
}

Status check_files(WantedVersion& version) {
  if (version.files.size() > kMostVersionFiles) {
    return Error{Code::kResourceExhausted, concat("the version has ", version.files.size(),
                                                  " files; at most ", kMostVersionFiles, " are served")};
  }
  std::ranges::sort(version.files, {}, &WantedFile::name);
  HEADRACE_CHECK(check_names(version.files));
  version.size_bytes = 0;
  for (const WantedFile& file : version.files) {
    if (file.size_bytes > kMostVersionBytes - version.size_bytes) {
      return Error{Code::kResourceExhausted,
                   concat("its files have more than ", format_size(kMostVersionBytes))};
    }
    version.size_bytes += file.size_bytes;
  }
  const auto graph = std::ranges::lower_bound(version.files, kSavedModelFile, {}, &WantedFile::name);
  if (graph == version.files.end() || graph->name != kSavedModelFile)
    return Error{Code::kInvalidArgument, concat("there is no ", kSavedModelFile)};
  if (!is_digest(version.digest))
    return Error{Code::kInvalidArgument, "the digest of its files is not a SHA-256"};
  return {};
}

}  // namespace

bool is_digest(std::string_view text) {
  return text.size() == kDigestDigits && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

bool is_same(const WantedVersions& a, const WantedVersions& b) {
  return a.labels == b.labels && std::equal(a.versions.begin(), a.versions.end(), b.versions.begin(),
                                            b.versions.end(), [](const auto& one, const auto& other) {
                                              return one->number == other->number &&
                                                     one->digest == other->digest;
                                            });
}

std::shared_ptr<const WantedVersion> find_version(const WantedVersions& wanted, std::uint64_t number) {
  for (const auto& version : wanted.versions) {
    if (version->number == number) return version;
  }
  return nullptr;
}

std::string listing_digest(std::string_view kind, const Location& folder, std::string_view detail,
                           const std::vector<WantedFile>& files) {
  Sha256 digest;
  const auto add = [&](std::string_view text) { digest.update(as_bytes(concat(text.size(), ":", text))); };
  add(kind);
  add(folder.describe());
  add(detail);
  for (const WantedFile& file : files) {
    add(file.name);
    add(concat(file.size_bytes));
    add(file.version ? file.version->token : "");
  }
  return hex(digest.finish());
}

Result<std::shared_ptr<const WantedVersion>> checked_version(WantedVersion version) {
  Status checked = check_files(version);
  if (!checked) {
    return std::move(checked).error().in(
        concat("version ", version.number, " in ", version.folder.describe(), " cannot be served"));
  }
  return std::shared_ptr<const WantedVersion>(std::make_shared<WantedVersion>(std::move(version)));
}

Status check_policy(const VersionPolicy& policy) {
  using Choice = VersionPolicy::Choice;
  const std::size_t count = policy.choice == Choice::kLatest    ? policy.latest
                            : policy.choice == Choice::kNumbers ? policy.numbers.size()
                                                                : 1;
  if (count > 0 && count <= kMostWantedVersions) return {};
  return Error{
      Code::kInvalidArgument,
      concat("the policy wants ", count, " versions of a model; it can want 1 to ", kMostWantedVersions)};
}

Status check_version_count(std::size_t count, const Location& place) {
  if (count <= kMostWantedVersions) return {};
  return Error{Code::kResourceExhausted,
               concat(count, " versions of ", place.describe(), " are wanted, and at most ",
                      kMostWantedVersions, " are served at once: let aliases name fewer, or choose numbers")};
}

}  // namespace headrace
