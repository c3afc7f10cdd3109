#include "headrace/track/verify_runs.h"

#include "headrace/base/text.h"
#include "headrace/os/parallel.h"
#include "headrace/track/run_keys.h"
#include "headrace/track/run_record.h"
#include "headrace/track/runs.h"

namespace headrace {
namespace {

constexpr int kRecordsAtOnce = 8;

template <typename T>
Status status_of(const Result<T>& result) {
  return result ? Status{} : Status(result.error());
}

// Checks that an object of a record follows its format. Objects of other programs are not checked.
Status check_object(std::string_view key, BytesView data) {
  const std::string folder = parent_key(std::string(key));
  if (last_segment(folder) == "inputs") return status_of(parse_run_input(data));
  if (last_segment(folder) == "outputs") return status_of(parse_run_output(data));
  if (last_segment(folder) == "series") return status_of(parse_run_series(data));
  if (last_segment(key) == "start") return status_of(parse_run_start(data));
  if (last_segment(key) == "end") return status_of(parse_run_end(data));
  return {};
}

}  // namespace

Result<VerifiedObjects> verify_runs(const Location& root, const CallOptions& call) {
  std::vector<std::string> keys;
  const std::string catalog = root.at(kCatalogPrefix).key;
  HEADRACE_CHECK(root.store->list(root.at(kRunsPrefix).key, {.call = call}, [&](const ObjectInfo& object) {
    if (!object.key.starts_with(catalog)) keys.push_back(object.key);
    return true;
  }));
  std::vector<std::string> problems(keys.size());
  HEADRACE_CHECK(parallel_for(kRecordsAtOnce, keys.size(), [&](std::size_t i) -> Status {
    const auto read = read_object(*root.store, keys[i], kRunRecordLimitBytes, call);
    const Status checked = read ? check_object(keys[i], read->data) : Status(read.error());
    if (checked) return {};
    if (!is_damaged_record(checked.error().code)) return checked;
    problems[i] = checked.error().message;
    return {};
  }));
  VerifiedObjects verified{.objects = keys.size()};
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (!problems[i].empty()) verified.bad.push_back({root.store->describe(keys[i]), std::move(problems[i])});
  }
  return verified;
}

}  // namespace headrace
