#include "headrace/artifact/artifact.h"

#include <algorithm>

#include "headrace/artifact/content.h"
#include "headrace/base/digest.h"
#include "headrace/base/iso_time.h"
#include "headrace/base/text.h"
#include "headrace/model/named_model.h"
#include "headrace/store/numbered.h"
#include "headrace/track/recorder.h"
#include "headrace/track/run_keys.h"

namespace headrace {
namespace {

constexpr std::string_view kNamedPrefix = "_headrace/artifacts/named/";
constexpr int kAttempts = 100;

std::string versions_of(const Location& folder) { return folder.at("_headrace/version-").key; }

// The number in an alias such as "v3".
std::optional<std::uint64_t> version_in(std::string_view alias) {
  if (!alias.starts_with('v')) return std::nullopt;
  const auto number = parse_number<std::uint64_t>(alias.substr(1));
  return number && *number > 0 && concat("v", *number) == alias ? number : std::nullopt;
}

Result<ArtifactVersion> parse_at(const Location& folder, std::uint64_t number, BytesView data) {
  const auto in_message = [&] { return concat("version ", number, " of ", folder.describe()); };
  auto version = parse_artifact_version(data);
  if (!version) return std::move(version).error().in(in_message());
  if (version->name == last_segment(folder.key) && version->number == number) return version;
  return Error{Code::kDataLoss, concat(in_message(), " is a copy of version ", version->number, " of ",
                                       version->name, ": it was overwritten")};
}

// Whether the latest version already says what is to be logged.
bool says_the_same(const ArtifactVersion& latest, ArtifactVersion wanted) {
  wanted.number = latest.number;
  wanted.run = latest.run;
  wanted.created = latest.created;
  wanted.sources = latest.sources;
  return sha256_hex(as_bytes(serialize_artifact_version(wanted))) == latest.digest;
}

Error of_another_type(const ArtifactVersion& latest, const ArtifactVersion& wanted) {
  return {Code::kFailedPrecondition, concat("the artifact ", latest.name, " is a ", latest.type,
                                            ": give this ", wanted.type, " another name")};
}

Result<ArtifactVersion> create_next(const Location& folder, ArtifactVersion wanted, const CallOptions& call) {
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    HEADRACE_TRY(const auto latest,
                 read_latest(*folder.store, versions_of(folder), kArtifactVersionLimitBytes, call));
    if (latest) {
      HEADRACE_TRY(ArtifactVersion before, parse_at(folder, latest->number, latest->data));
      if (before.type != wanted.type) return of_another_type(before, wanted);
      if (says_the_same(before, wanted)) return before;
    }
    wanted.number = latest ? latest->number + 1 : 1;
    const std::string text = serialize_artifact_version(wanted);
    if (text.size() > kArtifactVersionLimitBytes)
      return Error{Code::kInvalidArgument, concat("description, metadata and sources of ", wanted.name,
                                                  " take ", format_size(text.size()), ", more than the ",
                                                  format_size(kArtifactVersionLimitBytes),
                                                  " that a version can hold: add them as a file")};
    const auto created =
        create_numbered(*folder.store, versions_of(folder), wanted.number, as_bytes(text), call);
    if (created) {
      wanted.digest = sha256_hex(as_bytes(text));
      return wanted;
    }
    if (created.error().code != Code::kAlreadyExists) return created.error();
  }
  return Error{Code::kAborted,
               concat("no version of ", folder.describe(),
                      " could be created: too many other processes log it at the same time; try again")};
}

Error no_such_alias(const ArtifactReference& wanted, const std::vector<std::string>& aliases) {
  return {Code::kNotFound, concat("the artifact ", wanted.name, " has no alias ", wanted.alias, "; it has ",
                                  join(aliases, ", "))};
}

}  // namespace

Location artifact_folder(const Location& root, std::string_view name) {
  return root.at(concat(kNamedPrefix, name));
}

Artifact recorded_artifact(const Location& root, const ArtifactVersion& version) {
  return {.url = recorded_url(artifact_folder(root, version.name)),
          .kind = std::string(kArtifactKind),
          .version = concat("v", version.number),
          .manifest = version.number,
          .digest = version.digest,
          .size_bytes = version.size_bytes,
          .name = version.name};
}

Result<ArtifactVersion> log_artifact(const Location& root, const ArtifactDraft& draft, std::string_view run,
                                     std::chrono::system_clock::time_point now, const CallOptions& call) {
  HEADRACE_TRY(ArtifactDraft::Complete complete, draft.complete(call));
  complete.version.run = run;
  complete.version.created = format_time_ms(now);
  HEADRACE_CHECK(keep_contents(root, complete.contents, call));
  HEADRACE_TRY(ArtifactVersion version,
               create_next(artifact_folder(root, draft.name()), std::move(complete.version), call));
  // If `gc` gave up copies before the version existed, they are kept again; later, `gc` sees the version.
  HEADRACE_CHECK(keep_contents(root, complete.contents, call));
  return version;
}

Result<std::vector<std::string>> list_artifacts(const Location& root, const CallOptions& call) {
  const std::string below = root.at(kNamedPrefix).key;
  std::vector<std::string> names;
  HEADRACE_CHECK(
      root.store->list(below, {.collapse_folders = true, .call = call}, [&](const ObjectInfo& object) {
        if (!object.is_folder()) return true;
        std::string name = object.key.substr(below.size(), object.key.size() - below.size() - 1);
        if (check_run_name(name)) names.push_back(std::move(name));
        return true;
      }));
  std::ranges::sort(names);
  return names;
}

Result<std::vector<std::uint64_t>> artifact_numbers(const Location& root, std::string_view name,
                                                    const CallOptions& call) {
  HEADRACE_CHECK(check_run_name(name));
  return present_numbers(*root.store, versions_of(artifact_folder(root, name)), call);
}

Result<ArtifactVersion> read_artifact_version(const Location& root, std::string_view name,
                                              std::uint64_t number, const CallOptions& call) {
  HEADRACE_CHECK(check_run_name(name));
  const Location folder = artifact_folder(root, name);
  const auto read =
      read_object(*folder.store, numbered_key(versions_of(folder), number), kArtifactVersionLimitBytes, call);
  if (!read && read.error().code == Code::kNotFound)
    return Error{Code::kNotFound,
                 concat("the artifact ", name, " below ", root.describe(), " has no version v", number)};
  if (!read) return read.error();
  return parse_at(folder, number, read->data);
}

std::optional<ArtifactReference> parse_artifact_reference(std::string_view text) {
  const std::size_t colon = text.find(':');
  ArtifactReference out{std::string(text.substr(0, colon)), std::string(kLatestAlias)};
  if (colon != std::string_view::npos) out.alias = text.substr(colon + 1);
  const bool is_alias = out.alias == kLatestAlias || check_alias(out.alias);
  return check_run_name(out.name) && is_alias ? std::optional(std::move(out)) : std::nullopt;
}

Result<ArtifactVersion> find_artifact(const Location& root, std::string_view reference,
                                      const CallOptions& call) {
  const auto wanted = parse_artifact_reference(reference);
  if (!wanted)
    return Error{Code::kInvalidArgument,
                 concat("\"", printable_line(reference, 200),
                        "\" is not the name of an artifact: write NAME, NAME:ALIAS or NAME:v3")};
  if (const auto number = version_in(wanted->alias))
    return read_artifact_version(root, wanted->name, *number, call);
  HEADRACE_TRY(const std::vector<std::uint64_t> numbers, artifact_numbers(root, wanted->name, call));
  if (numbers.empty())
    return Error{Code::kNotFound,
                 concat("there is no artifact ", wanted->name, " below ", root.describe(),
                        ": headrace artifacts ls ", recorded_url(root), " lists the existing ones")};
  if (wanted->alias == kLatestAlias) return read_artifact_version(root, wanted->name, numbers.back(), call);
  HEADRACE_TRY(const auto aliases, artifact_aliases(root, wanted->name, call));
  if (const auto found = aliases.find(wanted->alias); found != aliases.end())
    return read_artifact_version(root, wanted->name, found->second, call);
  std::vector<std::string> known = {std::string(kLatestAlias)};
  for (const auto& [alias, number] : aliases) known.push_back(alias);
  return no_such_alias(*wanted, known);
}

Result<std::vector<ArtifactEntry>> read_entries(const Location& root, const ArtifactVersion& version,
                                                const CallOptions& call) {
  const auto doing = [&] { return concat("the entries of ", version.name, ":v", version.number); };
  EntryListReader list;
  const auto begin = [&](const ObjectInfo& object) -> Status {
    list = {};
    if (object.size_bytes <= kEntryListLimitBytes) return {};
    return Error{Code::kResourceExhausted, "the list is too large to be read"};
  };
  const Status read = read_content(root, version.entries, std::nullopt, call,
                                   {.begin = begin, .add = [&](BytesView piece) { return list.add(piece); }});
  if (!read) return read.error().in(doing());
  auto entries = list.finish();
  if (!entries) return std::move(entries).error().in(doing());
  if (entries->size() == version.count) return entries;
  return Error{Code::kDataLoss,
               concat(doing(), ": the list has ", entries->size(), " entries instead of ", version.count)};
}

Result<std::map<std::string, std::uint64_t, std::less<>>> artifact_aliases(const Location& root,
                                                                           std::string_view name,
                                                                           const CallOptions& call) {
  HEADRACE_CHECK(check_run_name(name));
  Aliases aliases(artifact_folder(root, name));
  HEADRACE_TRY([[maybe_unused]] const bool has_changed, aliases.refresh(call));
  return aliases.versions();
}

Status check_artifact_alias(std::string_view alias) {
  if (!version_in(alias)) return check_alias(alias);
  return Error{Code::kInvalidArgument,
               concat("the alias ", alias, " looks like the number of a version: choose another one")};
}

Status point_artifact_alias(const Location& root, std::string_view name, std::string_view alias,
                            std::uint64_t number, std::string_view by) {
  HEADRACE_CHECK(check_run_name(name));
  HEADRACE_CHECK(check_artifact_alias(alias));
  return point_alias(artifact_folder(root, name), alias, number, by);
}

}  // namespace headrace
