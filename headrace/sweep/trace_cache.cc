#include "headrace/sweep/trace_cache.h"

#include <fstream>

#include "headrace/base/digest.h"
#include "headrace/base/json.h"
#include "headrace/base/text.h"

namespace headrace {
namespace {

constexpr std::size_t kPieceBytes = 1 << 20;

Result<std::string> file_digest(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string piece(kPieceBytes, '\0');
  Sha256 digest;
  while (file) {
    file.read(piece.data(), static_cast<std::streamsize>(piece.size()));
    digest.update(as_bytes(std::string_view(piece).substr(0, static_cast<std::size_t>(file.gcount()))));
  }
  if (!file.eof()) return Error{Code::kUnknown, concat(path, " cannot be read any more")};
  return hex(digest.finish());
}

}  // namespace

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
