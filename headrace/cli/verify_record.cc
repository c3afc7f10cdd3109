#include "headrace/cli/verify_record.h"

#include <atomic>
#include <set>

#include "headrace/artifact/artifact.h"
#include "headrace/artifact/verify_artifact.h"
#include "headrace/base/text.h"
#include "headrace/metrics/metric_log.h"

namespace headrace {
namespace {

Status verify_metrics(const Location& root, const CallOptions& call, VerifiedObjects& found) {
  std::set<std::string> logs;  // keys below the root
  const std::string prefix = root.at(kMetricsPrefix).key;
  HEADRACE_CHECK(root.store->list(prefix, {.call = call}, [&](const ObjectInfo& object) {
    ++found.objects;
    logs.insert(parent_key(object.key.substr(prefix.size())));
    return true;
  }));
  for (const std::string& name : logs) {
    const Location log = root.at(concat(kMetricsPrefix, name));
    const auto opened = MetricLog::open(log, call);
    const Status verified = opened ? opened->verify() : Status(opened.error());
    if (verified) continue;
    if (verified.error().code != Code::kDataLoss) return verified;
    found.bad.push_back({log.describe(), verified.error().message});
  }
  return {};
}

Status verify_kept_artifacts(CommandContext& context, const Location& root, VerifiedObjects& found) {
  std::atomic<std::uint64_t> done = 0;
  const auto advance = [&](std::uint64_t bytes) {
    context.console.progress("reading artifacts", done += bytes, 0, "bytes");
  };
  ArtifactVerifier verifier(context.stores, root, context.call(), advance, false);
  HEADRACE_TRY(const std::vector<std::string> names, list_artifacts(root, context.call()));
  for (const std::string& name : names) HEADRACE_CHECK(verifier.verify_all(name));
  found.objects += verifier.versions();
  for (const BadEntry& bad : verifier.bad()) found.bad.push_back({bad.url, bad.problem});
  return {};
}

}  // namespace

Result<VerifiedObjects> verify_record(CommandContext& context, const Location& root) {
  HEADRACE_TRY(VerifiedObjects found, verify_runs(root, context.call()));
  HEADRACE_CHECK(verify_metrics(root, context.call(), found));
  HEADRACE_CHECK(verify_kept_artifacts(context, root, found));
  return found;
}

}  // namespace headrace
