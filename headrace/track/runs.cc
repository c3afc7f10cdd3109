#include "headrace/track/runs.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <tuple>

#include "headrace/base/iso_time.h"
#include "headrace/base/text.h"
#include "headrace/os/parallel.h"
#include "headrace/track/run_keys.h"

namespace headrace {
namespace {

constexpr int kReaders = 8;

Location object_of(const Location& root, const ListedPart& objects, std::string_view name) {
  return root.at(objects.part.empty() ? concat(kRunsPrefix, objects.run, "/", name)
                                      : part_key(objects.run, objects.part, name));
}

// Reads an object of a part. One request is enough if a listing has given the size.
Result<Bytes> read_bytes(const Location& object, const ListedPart& part, std::string_view name,
                         const CallOptions& call) {
  HEADRACE_CHECK(check_key(object.key));
  const auto listed =
      std::ranges::find_if(part.objects, [&](const ObjectInfo& each) { return each.key == name; });
  if (listed != part.objects.end() && listed->size_bytes <= kRunRecordLimitBytes) {
    Bytes data(listed->size_bytes);
    ReadOptions options{.is_whole = true, .call = call};
    if (!listed->version.token.empty()) options.if_version = listed->version;
    const auto read = object.store->read_into(object.key, data, options);
    if (read && read->bytes_read == data.size()) return data;
  }  // otherwise it was replaced meanwhile, or the next read reports another reason
  HEADRACE_TRY(ReadObject read, read_object(*object.store, object.key, kRunRecordLimitBytes, call));
  return std::move(read.data);
}

template <typename T>
Result<T> read_parsed(const Location& root, const ListedPart& part, std::string_view name,
                      Result<T> (*parse)(BytesView), const CallOptions& call) {
  const Location object = object_of(root, part, name);
  HEADRACE_TRY(const Bytes data, read_bytes(object, part, name, call));
  auto parsed = parse(data);
  if (!parsed) return std::move(parsed).error().in(object.describe());
  return parsed;
}

Error no_such_run(const Location& root, std::string_view id) {
  return {Code::kNotFound, concat("there is no run ", id, " below ", root.describe())};
}

// Reads what was recorded before the end of the run.
Status read_so_far(const Location& root, const ListedPart& objects, const CallOptions& call,
                   RunSoFar& so_far) {
  for (const ObjectInfo& listed : objects.objects) {
    const std::string& name = listed.key;
    if (name.starts_with("inputs/")) {
      HEADRACE_TRY(Artifact input, read_parsed(root, objects, name, parse_run_input, call));
      so_far.inputs.push_back(std::move(input));
    } else if (name.starts_with("outputs/")) {
      HEADRACE_TRY(Artifact output, read_parsed(root, objects, name, parse_run_output, call));
      so_far.outputs.push_back(std::move(output));
    } else if (name.starts_with("series/")) {
      HEADRACE_TRY(RunSeries series, read_parsed(root, objects, name, parse_run_series, call));
      so_far.series.push_back(std::move(series));
    }
  }
  return {};
}

Result<RunPart> read_objects(const Location& root, const ListedPart& objects, const CallOptions& call) {
  RunPart part{.name = objects.part};
  auto start = read_parsed(root, objects, "start", parse_run_start, call);
  if (!start && start.error().code == Code::kNotFound) return no_such_run(root, objects.run);
  if (!start) return start.error();
  part.start = std::move(*start);
  auto end = read_parsed(root, objects, "end", parse_run_end, call);
  if (!end && end.error().code != Code::kNotFound) return end.error();
  if (end) {
    part.end = std::move(*end);
  } else {
    HEADRACE_CHECK(read_so_far(root, objects, call, part.so_far));
  }
  return part;
}

// Lists all parts whose keys begin with `kRunPartsPrefix` and then `prefix`.
Result<std::vector<ListedPart>> list_parts(const Location& root, std::string_view prefix,
                                           const CallOptions& call) {
  std::vector<ListedPart> parts;
  const std::size_t cut = root.at(kRunPartsPrefix).key.size();
  const std::string begin = root.at(concat(kRunPartsPrefix, prefix)).key;
  HEADRACE_CHECK(root.store->list(begin, {.call = call}, [&](const ObjectInfo& object) {
    const std::string_view rest = std::string_view(object.key).substr(cut);
    const std::size_t run = rest.find('/');
    const std::size_t part = run == std::string_view::npos ? run : rest.find('/', run + 1);
    if (part == std::string_view::npos) return true;
    const std::string_view run_name = rest.substr(0, run);
    const std::string_view part_name = rest.substr(run + 1, part - run - 1);
    if (!parse_part_name(part_name) || !check_run_name(run_name)) return true;
    if (parts.empty() || parts.back().run != run_name || parts.back().part != part_name)
      parts.push_back({std::string(run_name), std::string(part_name)});
    ObjectInfo& listed = parts.back().objects.emplace_back(object);
    listed.key = rest.substr(part + 1);
    return true;
  }));
  return parts;
}

// Lists the runs of version 1 whose ids begin with `prefix`.
Result<std::vector<ListedPart>> list_version_1(const Location& root, std::string_view prefix,
                                               const CallOptions& call) {
  std::vector<ListedPart> runs;
  const std::size_t cut = root.at(kRunsPrefix).key.size();
  const std::string begin = root.at(concat(kRunsPrefix, prefix)).key;
  HEADRACE_CHECK(
      root.store->list(begin, {.collapse_folders = true, .call = call}, [&](const ObjectInfo& run) {
        if (!run.is_folder()) return true;
        std::string id = run.key.substr(cut, run.key.size() - cut - 1);
        const bool is_newer =
            kRunPartsPrefix.ends_with(concat("/", id, "/")) || kCatalogPrefix.ends_with(concat("/", id, "/"));
        if (!is_newer && check_run_name(id)) runs.push_back({.run = std::move(id), .part = ""});
        return true;
      }));
  return runs;
}

// When a run began, according to its keys.
std::uint64_t started_ms(const ListedPart& objects) {
  if (const auto part = parse_part_name(objects.part)) return part->started_ms;
  const std::string& id = objects.run;  // an id of version 1: "20261121-032600-1f2e3d4c"
  if (id.size() < 15) return 0;
  const auto time =
      parse_iso_time(concat(id.substr(0, 4), "-", id.substr(4, 2), "-", id.substr(6, 2), "T", id.substr(9, 2),
                            ":", id.substr(11, 2), ":", id.substr(13, 2), "Z"));
  if (!time) return 0;
  return static_cast<std::uint64_t>(
      std::chrono::floor<std::chrono::milliseconds>(time->time_since_epoch()).count());
}

}  // namespace

bool ListedPart::has(std::string_view name) const {
  return std::ranges::any_of(objects, [&](const ObjectInfo& object) { return object.key == name; });
}

std::vector<ListedPart> newest_runs(std::vector<ListedPart> parts, std::size_t limit) {
  std::map<std::string, std::uint64_t> began;  // by run
  for (const ListedPart& part : parts) {
    const auto [at, is_new] = began.emplace(part.run, started_ms(part));
    if (!is_new) at->second = std::min(at->second, started_ms(part));
  }
  if (began.size() <= limit) return parts;
  std::vector<std::pair<std::uint64_t, std::string>> order;
  for (const auto& [run, time] : began) order.emplace_back(time, run);
  std::ranges::sort(order);
  for (std::size_t i = 0; i < order.size() - limit; ++i) began.erase(order[i].second);
  std::erase_if(parts, [&](const ListedPart& part) { return !began.contains(part.run); });
  return parts;
}

// A damaged record becomes a message.
Result<RunList> read_listed_runs(const Location& root, const std::vector<ListedPart>& objects, int threads,
                                 const CallOptions& call) {
  std::vector<std::optional<Result<RunPart>>> read(objects.size());
  HEADRACE_CHECK(parallel_for(threads, objects.size(), [&](std::size_t i) -> Status {
    read[i] = read_objects(root, objects[i], call);
    if (!*read[i] && !concerns_one_record(read[i]->error().code)) return read[i]->error();
    return {};
  }));
  RunList list;
  std::map<std::pair<std::string, bool>, std::vector<RunPart>> runs;  // by id and version
  for (std::size_t i = 0; i < objects.size(); ++i) {
    if (*read[i]) {
      runs[{objects[i].run, objects[i].part.empty()}].push_back(std::move(**read[i]));
    } else {
      list.damaged.push_back(read[i]->error().message);
    }
  }
  for (auto& [run, parts] : runs) list.runs.push_back(join_parts(run.first, std::move(parts)));
  std::ranges::sort(list.runs, [](const RunRecord& a, const RunRecord& b) {
    return std::tie(a.start.started, a.id) < std::tie(b.start.started, b.id);
  });
  std::ranges::sort(list.damaged);
  return list;
}

bool is_damaged_record(Code code) {
  return code == Code::kDataLoss || code == Code::kUnimplemented || code == Code::kNotFound;
}

bool concerns_one_record(Code code) {
  return code != Code::kCancelled && code != Code::kDeadlineExceeded && code != Code::kUnavailable;
}

Result<RunPart> read_part(const Location& root, std::string_view run, std::string_view part,
                          const CallOptions& call) {
  return read_objects(root, {.run = std::string(run), .part = std::string(part)}, call);
}

Result<RunRecord> read_run(const Location& root, std::string_view id, const CallOptions& call) {
  HEADRACE_CHECK(check_run_name(id));
  HEADRACE_TRY(std::vector<ListedPart> objects, list_parts(root, concat(id, "/"), call));
  if (objects.empty()) objects.push_back({.run = std::string(id), .part = ""});
  std::vector<RunPart> parts(objects.size());
  HEADRACE_CHECK(parallel_for(kReaders, objects.size(), [&](std::size_t i) -> Status {
    HEADRACE_TRY(parts[i], read_objects(root, objects[i], call));
    return {};
  }));
  return join_parts(std::string(id), std::move(parts));
}

Result<RunList> read_runs(const Location& root, const std::vector<std::string>& ids,
                          const CallOptions& call) {
  std::vector<std::vector<ListedPart>> found(ids.size());
  HEADRACE_CHECK(parallel_for(kReaders, ids.size(), [&](std::size_t i) -> Status {
    HEADRACE_TRY(found[i], list_parts(root, concat(ids[i], "/"), call));
    return {};
  }));
  std::vector<ListedPart> objects;
  for (std::vector<ListedPart>& parts : found)
    objects.insert(objects.end(), std::make_move_iterator(parts.begin()),
                   std::make_move_iterator(parts.end()));
  std::erase_if(objects, [](const ListedPart& part) { return !part.has("start"); });
  return read_listed_runs(root, objects, kReaders, call);
}

Result<std::vector<ListedPart>> list_run_parts(const Location& root, const CallOptions& call) {
  HEADRACE_TRY(std::vector<ListedPart> objects, list_version_1(root, "", call));
  HEADRACE_TRY(std::vector<ListedPart> parts, list_parts(root, "", call));
  objects.insert(objects.end(), std::make_move_iterator(parts.begin()), std::make_move_iterator(parts.end()));
  return objects;
}

Result<RunList> find_runs(const Location& root, std::string_view id, const CallOptions& call) {
  if (!check_run_name(id)) return RunList{};  // every beginning of a valid name is a valid name
  HEADRACE_TRY(std::vector<ListedPart> objects, list_version_1(root, id, call));
  HEADRACE_TRY(std::vector<ListedPart> parts, list_parts(root, id, call));
  std::ranges::move(parts, std::back_inserter(objects));
  const auto has_id = [id](const ListedPart& part) { return part.run == id; };
  if (std::ranges::any_of(objects, has_id)) std::erase_if(objects, std::not_fn(has_id));
  return read_listed_runs(root, objects, kReaders, call);
}

Result<RunList> list_runs(const Location& root, std::size_t limit, const CallOptions& call) {
  HEADRACE_TRY(std::vector<ListedPart> objects, list_run_parts(root, call));
  return read_listed_runs(root, newest_runs(std::move(objects), limit), kReaders, call);
}

Result<RunList> list_version_1_runs(const Location& root, std::size_t limit, const CallOptions& call) {
  HEADRACE_TRY(std::vector<ListedPart> runs, list_version_1(root, "", call));
  return read_listed_runs(root, newest_runs(std::move(runs), limit), kReaders, call);
}

}  // namespace headrace
