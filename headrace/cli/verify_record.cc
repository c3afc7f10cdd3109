#include "headrace/cli/verify_record.h"

#include <atomic>

#include "headrace/artifact/artifact.h"
#include "headrace/artifact/verify_artifact.h"
#include "headrace/metrics/verify_metrics.h"
#include "headrace/track/console_piece.h"
#include "headrace/track/mlflow_states.h"

namespace headrace {
namespace {

Status verify_all_metrics(const Location& root, const CallOptions& call, VerifiedObjects& found) {
  HEADRACE_TRY(const VerifiedMetrics metrics, verify_metrics(root, call));
  found.objects += metrics.segments;
  for (const BadMetricLog& bad : metrics.bad) found.bad.push_back({bad.url, bad.problem});
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
  HEADRACE_CHECK(verify_console(root, found, context.call()));
  HEADRACE_CHECK(verify_mlflow_states(root, found, context.call()));
  HEADRACE_CHECK(verify_all_metrics(root, context.call(), found));
  HEADRACE_CHECK(verify_kept_artifacts(context, root, found));
  return found;
}

}  // namespace headrace
