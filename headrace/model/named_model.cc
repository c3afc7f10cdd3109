#include "headrace/model/named_model.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "headrace/base/json.h"
#include "headrace/base/text.h"
#include "headrace/record/sealed_json.h"
#include "headrace/store/numbered.h"

namespace headrace {
namespace {

constexpr std::uint64_t kEntryLimitBytes = 1 << 20;
constexpr int kAttempts = 100;

std::string version_prefix(const Location& model) { return model.at("_headrace/version-").key; }
std::string alias_prefix(const Location& model) { return model.at("_headrace/aliases-").key; }

struct AliasEntry {
  std::string alias;
  std::uint64_t version = 0;
  // All aliases as of this entry. Entries of the first format lack this, and name only one alias.
  std::optional<std::map<std::string, std::uint64_t, std::less<>>> all{};
};

Result<AliasEntry> read_entry(const Location& model, std::uint64_t number, const CallOptions& call) {
  const std::string key = numbered_key(alias_prefix(model), number);
  HEADRACE_TRY(const ReadObject read, read_object(*model.store, key, kEntryLimitBytes, call));
  return read_json(as_text(read.data), concat("the entry ", number, " of the aliases of ", model.describe()),
                   [&](const Json& json) -> Result<AliasEntry> {
                     // Entries of earlier versions of Headrace have no checksum.
                     if (json.contains("zz_crc32c") && !is_sealed_json(as_text(read.data)))
                       throw JsonError("the checksum does not match: it was altered");
                     AliasEntry entry{json.get<std::string>("alias"), json.get<std::uint64_t>("version")};
                     if (json.contains("all")) {
                       entry.all.emplace();
                       for (const auto& [alias, version] : json.at("all").members())
                         (*entry.all)[alias] = version.as<std::uint64_t>("a version");
                     }
                     return entry;
                   });
}

// The number of the version that has this entry; nullopt if no version has it.
Result<std::optional<std::uint64_t>> find_version(const Location& model, std::string_view entry) {
  HEADRACE_TRY(const std::vector<std::uint64_t> numbers, taken_versions(model));
  for (auto number = numbers.rbegin(); number != numbers.rend(); ++number) {
    HEADRACE_TRY(const ReadObject read,
                 read_object(*model.store, numbered_key(version_prefix(model), *number), kEntryLimitBytes));
    if (as_text(read.data) == entry) return std::optional(*number);
  }
  return std::optional<std::uint64_t>();
}

bool is_name(std::string_view name) {
  constexpr std::string_view kAllowed = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
  return !name.empty() && name.size() <= 128 && name.find_first_not_of(kAllowed) == std::string_view::npos &&
         name.front() != '.' && name.front() != '_' && name.front() != '-';
}

}  // namespace

Status check_alias(std::string_view alias) {
  if (alias == kLatestAlias)
    return Error{Code::kInvalidArgument,
                 "the alias latest names the version that was published last, and cannot be set: choose "
                 "another alias, such as stable"};
  if (is_name(alias) && alias.find_first_not_of("0123456789") != std::string_view::npos) return {};
  return Error{Code::kInvalidArgument, concat("alias ", alias,
                                              ": an alias has 1 to 128 letters, digits, '.', '_' or '-', "
                                              "begins with a letter or digit, and is not a number")};
}

namespace {

// Decides from the alias's current version whether an entry must still be appended.
using Decide = std::function<Result<bool>(std::optional<std::uint64_t>)>;

// Decides again whenever another process has appended in the meantime.
Status append(const Location& model, std::string_view alias, std::uint64_t version, std::string_view by,
              const Decide& is_wanted) {
  Aliases aliases(model);
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    HEADRACE_TRY([[maybe_unused]] const bool has_changed, aliases.refresh());
    HEADRACE_TRY(const bool appends, is_wanted(aliases.version_of(alias)));
    if (!appends) return {};
    Status pointed = aliases.point(alias, version, by);
    if (pointed || pointed.error().code != Code::kAlreadyExists) return pointed;
  }
  return Error{Code::kAborted, concat("the aliases of ", model.describe(),
                                      " are being changed by too many processes: try again")};
}

}  // namespace

Status check_model_name(std::string_view name) {
  if (is_name(name)) return {};
  return Error{Code::kInvalidArgument, concat("--name ", name,
                                              ": a model's name has 1 to 128 letters, digits, '.', '_' or "
                                              "'-', and begins with a letter or digit")};
}

Location named_model_folder(const Location& root, std::string_view name) {
  return root.at(concat("models/", name));
}

Location version_folder(const Location& model, std::uint64_t version) { return model.at(concat(version)); }

Result<std::vector<std::uint64_t>> taken_versions(const Location& model, const CallOptions& call) {
  return present_numbers(*model.store, version_prefix(model), call);
}

Result<VersionSource> read_version_source(const Location& model, std::uint64_t version,
                                          const CallOptions& call) {
  HEADRACE_TRY(const ReadObject read, read_object(*model.store, numbered_key(version_prefix(model), version),
                                                  kEntryLimitBytes, call));
  return read_json(
      as_text(read.data), concat("the entry of version ", version, " of ", model.describe()),
      [](const Json& json) -> Result<VersionSource> {
        return VersionSource{json.get<std::string>("run"), json.get<std::string>("manifest_digest")};
      });
}

Result<std::vector<std::string>> list_named_models(const Location& root, const CallOptions& call) {
  const std::string below = root.at("models").key + "/";
  std::vector<std::string> names;
  HEADRACE_CHECK(
      root.store->list(below, {.collapse_folders = true, .call = call}, [&](const ObjectInfo& object) {
        if (object.key.ends_with('/'))
          names.push_back(object.key.substr(below.size(), object.key.size() - below.size() - 1));
        return true;
      }));
  std::ranges::sort(names);
  return names;
}

Result<std::uint64_t> take_version(const Location& model, std::string_view export_url,
                                   std::string_view export_digest) {
  const std::string entry = Json{{"run", export_url}, {"manifest_digest", export_digest}}.dump() + "\n";
  HEADRACE_TRY(const std::optional<std::uint64_t> before, find_version(model, entry));
  if (before) return *before;
  const std::string prefix = version_prefix(model);
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    HEADRACE_TRY(const std::optional<NumberedObject> latest,
                 read_latest(*model.store, prefix, kEntryLimitBytes));
    if (latest && as_text(latest->data) == entry) return latest->number;
    const std::uint64_t next = latest ? latest->number + 1 : 1;
    const auto created = create_numbered(*model.store, prefix, next, as_bytes(entry));
    if (created) return next;
    if (created.error().code != Code::kAlreadyExists) return created.error();
  }
  return Error{Code::kAborted,
               concat("no version of ", model.describe(),
                      " could be reserved: too many processes publish at the same time; try again")};
}

// An entry of the first format names one alias: the other aliases are in the entries before it.
Status Aliases::read_last(std::uint64_t number, const CallOptions& call) {
  std::map<std::string, std::uint64_t, std::less<>> found;
  for (std::uint64_t at = number; at > 0; --at) {
    HEADRACE_TRY(const AliasEntry entry, read_entry(model_, at, call));
    if (entry.all) found.insert(entry.all->begin(), entry.all->end());
    found.try_emplace(entry.alias, entry.version);
    if (entry.all) break;
  }
  versions_ = std::move(found);
  last_ = number;
  return {};
}

Result<bool> Aliases::refresh(const CallOptions& call) {
  if (!last_) {
    HEADRACE_TRY(const std::optional<std::uint64_t> last,
                 latest_number(*model_.store, alias_prefix(model_), call));
    HEADRACE_CHECK(read_last(last.value_or(0), call));
    reported_ = versions_;
    return !versions_.empty();
  }
  for (;;) {
    auto entry = read_entry(model_, *last_ + 1, call);
    if (!entry && entry.error().code == Code::kNotFound)
      return std::exchange(reported_, versions_) != versions_;
    if (!entry) return std::move(entry).error();
    versions_[entry->alias] = entry->version;
    ++*last_;
  }
}

std::optional<std::uint64_t> Aliases::version_of(std::string_view alias) const {
  const auto found = versions_.find(alias);
  return found == versions_.end() ? std::nullopt : std::optional(found->second);
}

Status Aliases::point(std::string_view alias, std::uint64_t version, std::string_view by) {
  auto after = versions_;
  after[std::string(alias)] = version;
  const std::string entry =
      seal_json(Json{{"alias", alias}, {"version", version}, {"by", by}, {"all", after}}.dump() + "\n");
  const std::uint64_t number = last_.value_or(0) + 1;
  const auto created = create_numbered(*model_.store, alias_prefix(model_), number, as_bytes(entry));
  if (!created) return created.error();
  versions_ = std::move(after);
  last_ = number;
  return {};
}

Status point_alias(const Location& model, std::string_view alias, std::uint64_t version,
                   std::string_view by) {
  HEADRACE_CHECK(check_alias(alias));
  std::optional<std::optional<std::uint64_t>> before;  // when this call first read it
  return append(model, alias, version, by, [&](std::optional<std::uint64_t> now) -> Result<bool> {
    if (now == version) return false;
    if (!before) before = now;
    if (*before == now) return true;
    return Error{
        Code::kAborted,
        concat("somebody else has set the alias ", alias, " of ", model.describe(), " to version ",
               now.value_or(0), " in the meantime: check whether that is right, and set it again if not")};
  });
}

Status advance_latest(const Location& model, std::uint64_t version, std::string_view by) {
  return append(model, kLatestAlias, version, by,
                [&](std::optional<std::uint64_t> now) -> Result<bool> { return now.value_or(0) < version; });
}

}  // namespace headrace
