#include <cstdlib>

#include "fuzz/script.h"
#include "headrace/base/text.h"
#include "headrace/mlflow/artifacts.h"
#include "headrace/mlflow/byte_range.h"
#include "headrace/mlflow/log_batch.h"
#include "headrace/mlflow/service.h"
#include "headrace/store/memory/memory_store.h"
#include "headrace/track/json_number.h"

namespace headrace::mlflow {
namespace {

Json json_of(const LogBatch& batch) {
  Json::Array points, params, tags;
  for (const LoggedPoint& point : batch.points) {
    Json each = {{"key", point.key}, {"timestamp", point.time_ms}, {"step", point.step}};
    each["value"] = number_to_json(point.value);
    if (!point.model_id.empty()) each["model_id"] = point.model_id;
    if (!point.dataset_name.empty()) each["dataset_name"] = point.dataset_name;
    if (!point.dataset_digest.empty()) each["dataset_digest"] = point.dataset_digest;
    points.push_back(std::move(each));
  }
  for (const auto& [key, value] : batch.params) params.push_back({{"key", key}, {"value", value}});
  for (const auto& [key, value] : batch.tags) tags.push_back({{"key", key}, {"value", value}});
  return {{"run_id", batch.run_id},
          {"metrics", std::move(points)},
          {"params", std::move(params)},
          {"tags", std::move(tags)}};
}

// None if it is refused.
std::optional<std::string> read_batch(std::string_view body) {
  std::string padded = concat(body, std::string(kBatchPaddingBytes, '\0'));
  std::optional<std::string> text;
  const Status read =
      read_log_batch(std::string_view(padded).substr(0, body.size()), [&](const LogBatch& batch) -> Status {
        text = json_of(batch).dump();
        return {};
      });
  if (read.has_value() != text.has_value()) std::abort();
  return text;
}

// A body that is accepted and written again is read alike.
void read_bodies(std::string_view body) {
  if (const auto batch = read_batch(body); batch && read_batch(*batch) != batch) std::abort();
  for (const auto& fields : {RequestFields::parse_body(body), RequestFields::parse_query(body)}) {
    if (!fields) continue;
    const auto check = [](const LogBatch& point) -> Status {
      if (point.points.size() != 1 || !read_batch(json_of(point).dump())) std::abort();
      return {};
    };
    static_cast<void>(read_log_metric(*fields, check));
  }
}

// An artifact lies below the folder of the artifacts, or is refused.
void write_artifact(std::string_view path) {
  const std::shared_ptr<Store> store = make_memory_store("fuzz");
  Artifacts artifacts({store, "all/artifacts", Url{"memory", "fuzz", "all/artifacts"}});
  static_cast<void>(write_text(*store, "other/file", "x"));
  std::string_view rest = "content";
  const auto next = [&rest] { return Result<BytesView>(as_bytes(std::exchange(rest, {}))); };
  const Status written = artifacts.write(path, next, {});
  const auto objects = list_all(*store, "all/artifacts/");
  if (!objects || objects->size() != (written ? 1U : 0U)) std::abort();
  const auto opened = artifacts.open(path, "", {});
  if (opened.has_value() != written.has_value()) std::abort();
  static_cast<void>(artifacts.list(path, {}));
  static_cast<void>(artifacts.remove(path, {}));
  if (!store->stat("other/file", {})) std::abort();
}

void read_target(std::string_view text) {
  const RequestKind kind = kind_of("GET", text);
  if (has_large_answer("GET", text) && kind != RequestKind::kArtifact && kind != RequestKind::kOther)
    std::abort();
  for (const std::uint64_t whole : {0U, 1U, 100U}) {
    const auto range = parse_byte_range(text, whole);
    if (range && (range->offset > whole || range->size > whole - range->offset)) std::abort();
  }
}

}  // namespace
}  // namespace headrace::mlflow

// A body, a path of an artifact, or a target and a range.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace headrace;
  Script script({reinterpret_cast<const std::byte*>(data), size});
  const unsigned kind = script.byte() % 3;
  const std::string_view text = as_text(script.take(size));
  if (kind == 0) mlflow::read_bodies(text);
  if (kind == 1) mlflow::write_artifact(text);
  if (kind == 2) mlflow::read_target(text);
  return 0;
}
