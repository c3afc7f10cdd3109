#include "headrace/track/stage_output.h"

#include <algorithm>

#include "headrace/base/text.h"
#include "headrace/track/published_folder.h"

namespace headrace {
namespace {

constexpr std::string_view kManifestPattern = "_headrace/manifest-########";

bool is_decimal(char character) { return character >= '0' && character <= '9'; }
bool is_hexadecimal(char character) {
  return is_decimal(character) || (character >= 'a' && character <= 'f');
}

// A key below `output`, without it.
std::string_view relative(const Location& output, std::string_view key) {
  return key.substr(output.key.empty() ? 0 : output.key.size() + 1);
}

Result<std::vector<std::string>> find_matching(const Location& output, std::string_view pattern) {
  const std::string_view begin = pattern.substr(0, pattern.find_first_of("#%*"));
  std::vector<std::string> keys;
  HEADRACE_CHECK(output.store->list(output.key.empty() ? begin : concat(output.key, "/", begin), {},
                                    [&](const ObjectInfo& object) {
                                      if (matches_name(pattern, relative(output, object.key)))
                                        keys.push_back(object.key);
                                      return true;
                                    }));
  return keys;
}

struct Manifests {
  std::vector<std::string> keys;
  std::vector<std::string> parts;  // their keys
};

Location folder_of(const Location& output, const StageOutput::Folder& folder) {
  return folder.key.empty() ? output : output.at(folder.key);
}

Status read_manifests(const Location& folder, const StageOutput::Folder& kinds, Manifests& manifests) {
  HEADRACE_TRY(std::vector<std::string> keys, find_matching(folder, kManifestPattern));
  for (std::string& key : keys) {
    const auto number =
        parse_number<std::uint64_t>(relative(folder, key).substr(kManifestPrefix.size())).value_or(0);
    auto published = read_published(folder, kinds.kind, {.number = number});
    if (!published && published.error().code == Code::kInvalidArgument && !kinds.other_kind.empty())
      published = read_published(folder, kinds.other_kind, {.number = number});
    if (!published && published.error().code != Code::kDataLoss) return published.error();
    if (published && *published) {
      for (const ManifestPart& part : (*published)->manifest.parts) {
        if (check_key(part.key) && !part.key.starts_with("_headrace/"))
          manifests.parts.push_back(folder.at(part.key).key);
      }
    }
    manifests.keys.push_back(std::move(key));
  }
  return {};
}

// An object that the stage may have left, or that lies in a folder which is the stage's alone; none if none.
Result<std::optional<std::string>> find_any(const Location& output, const StageOutput& stage) {
  std::vector<std::string> patterns = stage.names;
  for (const StageOutput::Folder& folder : stage.folders)
    patterns.push_back(folder.key.empty() ? std::string(kManifestPattern) : concat(folder.key, "/"));
  for (const std::string& pattern : patterns) {
    HEADRACE_TRY(const std::vector<std::string> keys, find_matching(output, pattern));
    if (!keys.empty()) return std::optional(keys.front());
  }
  return std::optional<std::string>();
}

// The error for an output that another stage began or published.
Error belongs_to_another(const Location& output, const StageOutput& stage, std::string_view what) {
  return {Code::kFailedPrecondition, concat(output.describe(), " holds ", what, ", not what headrace ",
                                            stage.stage, " makes; nothing was removed. Give another URL")};
}

// Whether a claim lies at `key`. \error kFailedPrecondition  it is another stage's
Result<bool> is_claimed(const Location& output, const StageOutput& stage, std::string_view key) {
  const Location claim = output.at(key);
  const auto configuration = read_configuration(claim);
  if (!configuration && configuration.error().code == Code::kNotFound) return false;
  if (!configuration && configuration.error().code != Code::kDataLoss) return configuration.error();
  std::string name;  // of the stage that began; empty: not to be known
  if (configuration) {
    if (const auto found = configuration->find("stage"); found != configuration->end())
      name = found->second.substr(0, found->second.find(' '));
  }
  if (key == stage.claim && (!configuration || name == stage.stage)) return true;
  return belongs_to_another(
      output, stage,
      name.empty() ? claim.describe() : concat("what headrace ", name, " began (", claim.describe(), ")"));
}

// Refuses what another stage began or published. Whether this one's claim is there.
Result<bool> check_owner(const Location& output, const StageOutput& stage) {
  bool claimed = false;
  for (const std::string_view key : {kPlanKey, kConfigurationKey}) {
    HEADRACE_TRY(const bool is_there, is_claimed(output, stage, key));
    claimed = claimed || is_there;
  }
  const auto published = read_published(output);
  if (!published && published.error().code == Code::kDataLoss) return claimed;
  if (!published) return published.error();
  const auto is_of = [&](const StageOutput::Folder& folder) {
    return folder.key.empty() && folder.kind == (*published)->manifest.kind;
  };
  if (*published && std::ranges::none_of(stage.folders, is_of))
    return belongs_to_another(output, stage, concat("a published ", (*published)->manifest.kind));
  return claimed;
}

// Whether a name is one character or more, and then what the pattern says.
bool matches_after_any(std::string_view pattern, std::string_view name) {
  const std::size_t end = std::min(name.find('/'), name.size());
  for (std::size_t at = 1; at <= end; ++at) {
    if (matches_name(pattern, name.substr(at))) return true;
  }
  return false;
}

// See claim_output. REQUIRES: check_output had nothing against it
Status remove_output(const Location& output, const StageOutput& stage) {
  Manifests manifests;
  for (const StageOutput::Folder& folder : stage.folders)
    HEADRACE_CHECK(read_manifests(folder_of(output, folder), folder, manifests));
  HEADRACE_CHECK(output.store->remove_many(manifests.keys, {}));
  HEADRACE_CHECK(output.store->remove_many(manifests.parts, {}));
  for (const std::string& pattern : stage.names) HEADRACE_CHECK(remove_matching(output, pattern));
  return remove_object(*output.store, output.at(stage.claim).key);
}

}  // namespace

bool matches_name(std::string_view pattern, std::string_view name) {
  if (pattern.ends_with('/')) return name.size() > pattern.size() && name.starts_with(pattern);
  std::size_t at = 0;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (at == name.size()) return false;
    if (pattern[i] == '*') return matches_after_any(pattern.substr(i + 1), name.substr(at));
    const char wanted = pattern[i];
    const bool fits = wanted == '#'   ? is_decimal(name[at])
                      : wanted == '%' ? is_hexadecimal(name[at])
                                      : wanted == name[at];
    if (!fits) return false;
    ++at;
    const bool ends_number = wanted == '#' && (i + 1 == pattern.size() || pattern[i + 1] != '#');
    while (ends_number && at < name.size() && is_decimal(name[at])) ++at;
  }
  return at == name.size();
}

Status remove_matching(const Location& output, std::string_view pattern) {
  HEADRACE_TRY(const std::vector<std::string> keys, find_matching(output, pattern));
  return keys.empty() ? Status{} : output.store->remove_many(keys, {});
}

Status check_output(const Location& output, const StageOutput& stage, const Configuration& configuration,
                    bool overwrite) {
  HEADRACE_TRY(const bool claimed, check_owner(output, stage));
  if (claimed) return overwrite ? Status{} : check_configuration(output.at(stage.claim), configuration);
  if (!overwrite) return {};
  HEADRACE_TRY(const std::optional<std::string> found, find_any(output, stage));
  if (!found) return {};
  return Error{Code::kFailedPrecondition,
               concat("nothing that headrace ", stage.stage, " began lies at ", output.describe(),
                      " (there is no ", stage.claim, "), but ", output.store->describe(*found),
                      " does; nothing was removed. Give another URL, or move it away")};
}

Status claim_output(const Location& output, const StageOutput& stage, const Configuration& configuration,
                    bool overwrite) {
  HEADRACE_CHECK(check_output(output, stage, configuration, overwrite));
  if (overwrite) HEADRACE_CHECK(remove_output(output, stage));
  return claim_configuration(output.at(stage.claim), configuration);
}

}  // namespace headrace
