#include "headrace/track/runs.h"

#include <algorithm>
#include <mutex>

#include "headrace/base/text.h"
#include "headrace/os/parallel.h"
#include "headrace/track/recorder.h"

namespace headrace {
namespace {

constexpr std::uint64_t kRecordLimitBytes = 16 << 20;
constexpr int kReaders = 8;

Location object_of(const Location& root, std::string_view id, std::string_view name) {
  return root.at(concat(kRunsPrefix, id, "/", name));
}

}  // namespace

Result<RunRecord> read_run(const Location& root, std::string_view id, const CallOptions& call) {
  RunRecord run = {.id = std::string(id)};
  const Location start = object_of(root, id, "start");
  HEADRACE_CHECK(check_key(start.key));
  const auto start_object = read_object(*start.store, start.key, kRecordLimitBytes, call);
  if (!start_object && start_object.error().code == Code::kNotFound)
    return Error{Code::kNotFound, concat("there is no run ", id, " below ", root.describe())};
  if (!start_object) return start_object.error();
  auto parsed_start = parse_run_start(start_object->data);
  if (!parsed_start) return std::move(parsed_start).error().in(start.describe());
  run.start = std::move(*parsed_start);

  const Location end = object_of(root, id, "end");
  const auto end_object = read_object(*end.store, end.key, kRecordLimitBytes, call);
  if (!end_object && end_object.error().code == Code::kNotFound) return run;
  if (!end_object) return end_object.error();
  auto parsed_end = parse_run_end(end_object->data);
  if (!parsed_end) return std::move(parsed_end).error().in(end.describe());
  run.end = std::move(*parsed_end);
  return run;
}

Result<std::vector<std::string>> list_run_ids(const Location& root, const CallOptions& call) {
  std::vector<std::string> ids;
  const std::string prefix = root.at(kRunsPrefix).key;
  HEADRACE_CHECK(
      root.store->list(prefix, {.collapse_folders = true, .call = call}, [&](const ObjectInfo& run) {
        if (run.is_folder()) ids.push_back(run.key.substr(prefix.size(), run.key.size() - prefix.size() - 1));
        return true;
      }));
  return ids;
}

Result<RunList> list_runs(const Location& root, std::size_t limit, const CallOptions& call) {
  HEADRACE_TRY(std::vector<std::string> ids, list_run_ids(root, call));
  if (ids.size() > limit) ids.erase(ids.begin(), ids.end() - static_cast<std::ptrdiff_t>(limit));
  RunList list;
  std::mutex mutex;
  HEADRACE_CHECK(parallel_for(kReaders, ids.size(), [&](std::size_t i) -> Status {
    auto run = read_run(root, ids[i], call);
    const std::lock_guard lock(mutex);
    if (run) {
      list.runs.push_back(std::move(*run));
      return {};
    }
    if (run.error().code != Code::kDataLoss && run.error().code != Code::kUnimplemented &&
        run.error().code != Code::kNotFound) {
      return run.error();
    }
    list.damaged.push_back(run.error().message);
    return {};
  }));
  std::sort(list.runs.begin(), list.runs.end(), [](const RunRecord& a, const RunRecord& b) {
    return std::tie(a.start.started, a.id) < std::tie(b.start.started, b.id);
  });
  std::sort(list.damaged.begin(), list.damaged.end());
  return list;
}

}  // namespace headrace
