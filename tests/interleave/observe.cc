#include "tests/interleave/observe.h"

#include <algorithm>
#include <cctype>
#include <map>

#include "headrace/artifact/artifact.h"
#include "headrace/base/crc32c.h"
#include "headrace/base/json.h"
#include "headrace/base/text.h"
#include "headrace/cli/objects.h"
#include "headrace/coordinate/chain.h"
#include "headrace/store/numbered.h"
#include "headrace/store/url.h"
#include "headrace/track/published_folder.h"
#include "headrace/track/runs.h"
#include "headrace/track/stage_output.h"
#include "tests/interleave/check_curves.h"
#include "tests/interleave/check_logs.h"

namespace headrace::interleave {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f'); }
bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

// "-o12" and "o12/", which tell owners apart, are left out; eight hexadecimal digits, or more than fifteen,
// become "H".
std::string without_names(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    const bool begins_word = i == 0 || !is_word(text[i - 1]);
    std::size_t end = i;
    while (begins_word && end < text.size() && is_hex(text[end])) ++end;
    const std::size_t length = end - i;
    const bool ends_word = end == text.size() || !is_word(text[end]);
    if (ends_word && (length == 8 || length > 15)) {
      out += 'H';
      i = end;
      continue;
    }
    std::size_t digits = i + 1;
    while (begins_word && text[i] == 'o' && digits < text.size() && is_digit(text[digits])) ++digits;
    if (digits > i + 1 && (digits == text.size() || !is_word(text[digits]))) {
      if (!out.empty() && out.back() == '-') {
        out.pop_back();
        i = digits;
      } else {
        i = std::min(text.size(), digits + 1);
      }
      continue;
    }
    out += text[i++];
  }
  return out;
}

std::vector<Location> chains(const Location& root) {
  std::vector<Location> folders;
  (void)root.store->list("", {}, [&](const ObjectInfo& object) {
    if (is_manifest_key(object.key)) {
      const std::string key = parent_key(parent_key(object.key));
      if (folders.empty() || folders.back().key != key)
        folders.push_back(location(root.store, root.url.authority, key));
    }
    return true;
  });
  return folders;
}

std::string describe(const Manifest& manifest) {
  std::string out = concat(manifest.kind, " ", without_names(manifest.attributes_json), "\n");
  std::vector<std::string> parts;
  for (const ManifestPart& part : manifest.parts) {
    parts.push_back(
        concat("  ", without_names(part.key), " ", part.size_bytes, " ", hex32(part.crc32c), "\n"));
  }
  std::ranges::sort(parts);
  for (const std::string& part : parts) out += part;
  return out;
}

// The results of evaluations, and whether each has its page: that is written first.
std::string evaluations(const Location& root) {
  std::vector<std::string> found;
  const auto objects = list_all(*root.store, "x/evaluations/");
  for (const ObjectInfo& object : *objects) {
    if (!object.key.ends_with(".json")) continue;
    const auto read = read_object(*root.store, object.key, 1 << 20);
    const Json json = read ? parse_json(as_text(read->data)).value_or(Json()) : Json();
    const std::string page = concat(object.key.substr(0, object.key.size() - 5), ".html");
    found.push_back(
        concat(json["metrics"].dump(), root.store->stat(page, {}) ? "" : " without a page", "\n"));
  }
  std::ranges::sort(found);
  return join(found, "");
}

// Versions of an artifact, without their runs and times, in the order of their numbers: a stalled writer goes
// on with its number although `rm` has removed the ones before.
void see_artifacts(const Location& root, Seen& seen) {
  const auto numbers = artifact_numbers(root, "cats");
  if (!numbers) return;
  std::map<std::uint64_t, std::string> names;
  for (const std::uint64_t number : *numbers) {
    const auto version = read_artifact_version(root, "cats", number);
    names[number] = concat("version ", names.size() + 1, " of cats");
    seen[names[number]] = version ? version->entries : version.error().message;
  }
  const auto aliases = artifact_aliases(root, "cats");
  if (!aliases) return;
  for (const auto& [alias, number] : *aliases) {
    if (names.contains(number)) seen[concat("cats:", alias)] = names[number];
  }
}

// The alias log of a named model: "latest" only advances, each version that an alias names is published, and
// no entry loses what another has set.
void check_aliases(const Location& model, Seen* seen, std::vector<std::string>& damage) {
  const std::string prefix = model.at("_headrace/aliases-").key;
  const auto numbers = present_numbers(*model.store, prefix);
  std::map<std::string, std::uint64_t> versions;
  for (const std::uint64_t number : *numbers) {
    const auto read = read_object(*model.store, numbered_key(prefix, number), 1 << 20);
    const Json entry = read ? *parse_json(as_text(read->data)) : Json();
    const auto alias = entry.get<std::string>("alias");
    const auto version = entry.get<std::uint64_t>("version");
    if (alias == "latest" && version <= versions[alias])
      damage.push_back(concat("the alias latest goes back to version ", version));
    versions[alias] = version;
    if (entry["all"] != Json(versions)) damage.push_back(concat("entry ", number, " has lost an alias"));
  }
  for (const auto& [alias, version] : versions) {
    const auto named = read_published(model.at(concat(version)));
    if (!named || !*named)
      damage.push_back(concat("the alias ", alias, " names version ", version, ", which is not published"));
    if (seen != nullptr && named && *named) (*seen)[alias] = describe((*named)->manifest);
  }
}

void check_parts(const PublishedFolder& published, std::vector<std::string>& damage) {
  for (const ManifestPart& part : published.manifest.parts) {
    const Location object = published.folder.at(part.key);
    const auto read = read_object(*object.store, object.key, 1 << 30);
    const bool is_same = read && read->data.size() == part.size_bytes && crc32c(read->data) == part.crc32c;
    if (is_same) continue;
    damage.push_back(concat(object.key, " of manifest ", published.number,
                            read ? " was altered" : " cannot be read: ", read ? "" : read.error().message));
  }
}

void check_chain(const Location& folder, Strictness strictness, std::vector<std::string>& damage) {
  const auto chain = read_chain(folder);
  if (chain && chain->damage && strictness == Strictness::kCopies) {
    const auto published = read_published(folder);
    if (published && *published) check_parts(**published, damage);
    if (!published) damage.push_back(concat(folder.key, ": ", published.error().message));
    return;
  }
  if (!chain || chain->damage) {
    damage.push_back(concat(folder.key, ": ", (chain ? *chain->damage : chain.error()).message));
    return;
  }
  const auto current = read_current_manifest(folder);
  if (!current) damage.push_back(concat(folder.key, ": ", current.error().message));
  const auto numbers = present_numbers(*folder.store, folder.at(kManifestPrefix).key);
  for (const std::uint64_t number : *numbers) {
    const bool is_of_readers = number == chain->published ||
                               (chain->published > chain->generation() && number > chain->generation());
    if (strictness != Strictness::kAll && !is_of_readers) continue;
    const auto published = read_published(folder, {.number = number});
    const bool is_entry = !published && published.error().code == Code::kInvalidArgument;
    if (!published && !is_entry) damage.push_back(concat(folder.key, ": ", published.error().message));
    if (published && *published) check_parts(**published, damage);
  }
}

// A run that is exported has events of each epoch; with kAll, none that two owners have written.
void check_events(const Location& run, Strictness strictness, std::vector<std::string>& damage) {
  const auto chain = read_chain(run);
  if (!chain || chain->is_free()) return;
  const auto exported = published_in(run, "export", *chain);
  if (!exported || !*exported) return;
  const Json attributes = parse_json((*exported)->manifest.attributes_json).value_or(Json());
  std::vector<std::string> expected;
  for (std::uint64_t epoch = 1; epoch <= attributes.get<std::uint64_t>("epoch"); ++epoch) {
    expected.push_back(concat("x/events/train/events.out.tfevents.headrace",
                              epoch == 1 ? "" : concat(".", zero_padded(epoch, 6))));
  }
  std::vector<std::string> found;
  const auto objects = list_all(*run.store, "x/events/train/");
  for (const ObjectInfo& object : *objects) {
    std::string name = without_names(object.key);
    if (name.ends_with(".000000")) name.resize(name.size() - std::string_view(".000000").size());
    found.push_back(std::move(name));
  }
  std::ranges::sort(found);
  const auto twice = std::ranges::adjacent_find(found);
  if (strictness == Strictness::kAll && twice != found.end())
    damage.push_back(concat(*twice, " is there twice"));
  found.erase(std::unique(found.begin(), found.end()), found.end());
  if (!std::ranges::includes(found, expected))
    damage.push_back(concat("the run is exported, but has events of these only: ", join(found, ", ")));
}

}  // namespace

Seen observe(const World& world) {
  Seen seen;
  for (const Location& root : {location(world.out, "out", ""), location(world.copy, "copy", "")}) {
    for (const Location& folder : chains(root)) {
      const std::string name = concat(root.url.authority, "/", folder.key);
      // How far training has come is seen in the export.
      if (name.ends_with("/checkpoints") || name.ends_with("/model") || name.starts_with("out/models/"))
        continue;
      if (name.starts_with(concat("copy/", kRowsOfRequests))) continue;  // their reader has counted the rows
      const auto published = read_published(folder);
      if (published && *published) seen[name] = describe((*published)->manifest);
      if (!published) seen[name] = published.error().message;
    }
  }
  const Location out = location(world.out, "out", "");
  if (const std::string found = evaluations(out); !found.empty()) seen["evaluations"] = found;
  see_artifacts(out.at("x"), seen);
  see_curves(world, seen);
  std::vector<std::string> ignored;
  check_aliases(location(world.out, "out", "models/m"), &seen, ignored);
  return seen;
}

std::vector<std::string> find_damage(const World& world, Strictness strictness) {
  std::vector<std::string> damage;
  for (const std::string& key : world.out->replaced())
    damage.push_back(concat(key, " is published, and was replaced"));
  for (const Location& root : {location(world.out, "out", ""), location(world.copy, "copy", "")}) {
    for (const Location& folder : chains(root)) {
      check_chain(folder, root.url.authority == "out" ? strictness : Strictness::kCopies, damage);
    }
  }
  check_aliases(location(world.out, "out", "models/m"), nullptr, damage);
  check_events(location(world.out, "out", "x"), strictness, damage);
  for (const char* root : {"", "x"}) {
    // Records that are written on after a removal lack their beginning.
    if (*root != 0 && world.out->shortened().contains(std::string(kRunRecords))) continue;
    const auto runs = list_runs(location(world.out, "out", root), 64);
    if (!runs) damage.push_back(runs.error().message);
    if (runs) damage.insert(damage.end(), runs->damaged.begin(), runs->damaged.end());
  }
  check_metric_logs(world, damage);
  check_media_logs(world, damage);
  check_request_logs(world, damage);
  check_artifacts(world, damage);
  check_curves(world, damage);
  return damage;
}

}  // namespace headrace::interleave
