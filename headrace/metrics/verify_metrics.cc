#include "headrace/metrics/verify_metrics.h"

#include <set>

#include "headrace/base/text.h"
#include "headrace/metrics/metric_log.h"

namespace headrace {
namespace {

bool is_about_one_log(Code code) {
  return code == Code::kNotFound || code == Code::kDataLoss || code == Code::kOutOfRange ||
         code == Code::kFailedPrecondition;
}

bool is_gone(const Location& log, const CallOptions& call) {
  const auto opened = MetricLog::open(log, call);
  return opened && opened->segments().empty();
}

Status verify_log(const Location& log, const CallOptions& call, VerifiedMetrics& found) {
  std::uint64_t read = 0;
  const auto opened = MetricLog::open(log, call);
  const Status verified = opened ? opened->verify(&read) : Status(opened.error());
  found.segments += read;
  if (verified) return {};
  const Error& error = verified.error();
  if (!is_about_one_log(error.code)) return error;
  if (error.code == Code::kNotFound && is_gone(log, call)) return {};
  if (read == 0) ++found.segments;  // a bad log without a segment would look like no log
  found.bad.push_back({log.describe(), error.message});
  return {};
}

}  // namespace

Result<VerifiedMetrics> verify_metrics(const Location& root, const CallOptions& call) {
  std::set<std::string> logs;  // keys below the prefix
  const std::string prefix = root.at(kMetricsPrefix).key;
  HEADRACE_CHECK(root.store->list(prefix, {.call = call}, [&](const ObjectInfo& object) {
    logs.insert(parent_key(object.key.substr(prefix.size())));
    return true;
  }));
  VerifiedMetrics found;
  for (const std::string& log : logs)
    HEADRACE_CHECK(verify_log(root.at(concat(kMetricsPrefix, log)), call, found));
  return found;
}

}  // namespace headrace
