#include "headrace/track/stage_output.h"

#include <algorithm>

#include "headrace/base/text.h"
#include "headrace/track/configuration.h"
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
  const std::string_view begin = pattern.substr(0, pattern.find_first_of("#%"));
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

Status read_manifests(const Location& folder, std::string_view kind, Manifests& manifests) {
  HEADRACE_TRY(std::vector<std::string> keys, find_matching(folder, kManifestPattern));
  for (std::string& key : keys) {
    const auto number =
        parse_number<std::uint64_t>(relative(folder, key).substr(kManifestPrefix.size())).value_or(0);
    const auto published = read_published(folder, kind, {.number = number});
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
  std::vector<std::string> patterns = stage.work;
  patterns.insert(patterns.end(), stage.names.begin(), stage.names.end());
  for (const StageOutput::Folder& folder : stage.folders)
    patterns.push_back(folder.key.empty() ? std::string(kManifestPattern) : concat(folder.key, "/"));
  for (const std::string& pattern : patterns) {
    HEADRACE_TRY(const std::vector<std::string> keys, find_matching(output, pattern));
    if (!keys.empty()) return std::optional(keys.front());
  }
  return std::optional<std::string>();
}

// Whether the stage's claim is there.
Result<bool> is_claimed(const Location& output, const StageOutput& stage) {
  const Location claim = output.at(stage.claim);
  const auto configuration = read_configuration(claim);
  if (!configuration && configuration.error().code == Code::kNotFound) return false;
  if (!configuration && configuration.error().code == Code::kDataLoss) return true;
  if (!configuration) return configuration.error();
  const auto found = configuration->find("stage");
  if (found != configuration->end() && found->second.starts_with(concat(stage.stage, " "))) return true;
  return Error{Code::kFailedPrecondition, concat(claim.describe(), " was not written by headrace ",
                                                 stage.stage, "; nothing was removed. Give another URL")};
}

}  // namespace

bool matches_name(std::string_view pattern, std::string_view name) {
  if (pattern.ends_with('/')) return name.size() > pattern.size() && name.starts_with(pattern);
  std::size_t at = 0;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (at == name.size()) return false;
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

Status remove_output(const Location& output, const StageOutput& stage) {
  Manifests manifests;
  for (const StageOutput::Folder& folder : stage.folders)
    HEADRACE_CHECK(read_manifests(folder_of(output, folder), folder.kind, manifests));
  HEADRACE_TRY(const bool claimed, is_claimed(output, stage));
  if (!claimed) {
    HEADRACE_TRY(const std::optional<std::string> found, find_any(output, stage));
    if (!found) return {};
    return Error{Code::kFailedPrecondition,
                 concat("nothing that headrace ", stage.stage, " began lies at ", output.describe(),
                        " (there is no ", stage.claim, "), but ", output.store->describe(*found),
                        " does; nothing was removed. Give another URL, or move it away")};
  }
  HEADRACE_CHECK(output.store->remove_many(manifests.keys, {}));
  for (const std::string& pattern : stage.work) HEADRACE_CHECK(remove_matching(output, pattern));
  HEADRACE_CHECK(output.store->remove_many(manifests.parts, {}));
  for (const std::string& pattern : stage.names) HEADRACE_CHECK(remove_matching(output, pattern));
  return remove_object(*output.store, output.at(stage.claim).key);
}

}  // namespace headrace
