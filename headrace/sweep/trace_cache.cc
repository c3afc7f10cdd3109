#include "headrace/sweep/trace_cache.h"

#include "headrace/base/digest.h"
#include "headrace/base/json.h"
#include "headrace/base/text.h"
#include "headrace/sweep/file_digest.h"

namespace headrace {
Result<TracedModel> TraceCache::trace(const TraceRequest& request) {
  HEADRACE_TRY(const Json spec, trace_spec(request));
  const std::string key = concat(request.model, "\n", request.seed, "\n", spec.dump());
  Entry* entry = nullptr;
  {
    const std::scoped_lock lock(mutex_);
    std::unique_ptr<Entry>& found = entries_[key];
    if (!found) found = std::make_unique<Entry>();
    entry = found.get();
  }
  const std::scoped_lock lock(entry->mutex);
  if (!entry->model) {
    HEADRACE_TRY(entry->model, tracer_(request));
  }
  return *entry->model;
}

Result<std::string> trace_digest(const TracedModel& model) {
  if (!model.digest.empty()) return model.digest;
  std::string digests;
  HEADRACE_TRY(const std::vector<std::string> names, files_below(model.folder));
  for (const std::string& name : names) {
    HEADRACE_TRY(const std::string digest, file_digest(concat(model.folder, "/", name)));
    digests += concat(name, " ", digest, "\n");
  }
  return sha256_hex(as_bytes(digests));
}

}  // namespace headrace
