#include "headrace/metrics/compact_logs.h"

#include <map>

#include "headrace/base/text.h"
#include "headrace/metrics/compact.h"
#include "headrace/metrics/metric_log.h"

namespace headrace {
namespace {

struct ListedLog {
  std::uint64_t segments = 0;
  bool is_old = true;
};

bool is_damage(Code code) {
  return code == Code::kDataLoss || code == Code::kOutOfRange || code == Code::kFailedPrecondition;
}

// The logs, by key below the prefix.
Result<std::map<std::string, ListedLog>> list_logs(const Location& root,
                                                   const std::function<bool(const ObjectInfo&)>& is_old,
                                                   const CallOptions& call) {
  std::map<std::string, ListedLog> logs;
  const std::string prefix = root.at(kMetricsPrefix).key;
  HEADRACE_CHECK(root.store->list(prefix, {.call = call}, [&](const ObjectInfo& object) {
    const std::string log = parent_key(object.key.substr(prefix.size()));
    if (log.empty() ||
        !parse_segment_name(std::string_view(object.key).substr(prefix.size() + log.size() + 1)))
      return true;
    ListedLog& listed = logs[log];
    ++listed.segments;
    listed.is_old = listed.is_old && is_old(object);
    return true;
  }));
  return logs;
}

Status compact_one(const Location& log, const CallOptions& call, CompactedLogs& done) {
  const auto compacted = compact_log(log, call);
  if (compacted) {
    done.logs += compacted->removed > 0 ? 1 : 0;
    done.segments += compacted->removed;
    return {};
  }
  const Error& error = compacted.error();
  if (error.code == Code::kNotFound) return {};  // it was removed meanwhile
  if (!is_damage(error.code)) return error;
  done.bad.push_back({log.describe(), error.message});
  return {};
}

}  // namespace

Result<CompactedLogs> compact_logs(const Location& root, bool is_dry_run,
                                   const std::function<bool(const ObjectInfo&)>& is_old,
                                   const CallOptions& call) {
  HEADRACE_TRY(const auto logs, list_logs(root, is_old, call));
  CompactedLogs done;
  for (const auto& [log, listed] : logs) {
    if (listed.segments <= kMostSegmentsOfALog || !listed.is_old) continue;
    if (is_dry_run) {
      ++done.logs;
      done.segments += listed.segments;
      continue;
    }
    HEADRACE_CHECK(compact_one(root.at(concat(kMetricsPrefix, log)), call, done));
  }
  return done;
}

}  // namespace headrace
