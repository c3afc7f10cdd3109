#include "headrace/mlflow/artifacts.h"

#include <algorithm>

#include "headrace/base/key.h"
#include "headrace/base/text.h"
#include "headrace/mlflow/byte_range.h"

namespace headrace::mlflow {
namespace {

constexpr std::ptrdiff_t kSlashesOfRoot = 2;  // EXPERIMENT/RUN/artifacts

std::string_view without_slashes(std::string_view path) {
  while (path.starts_with('/')) path.remove_prefix(1);
  while (path.ends_with('/')) path.remove_suffix(1);
  return path;
}

Status check_artifact_path(std::string_view path) {
  const Status checked = check_key(path);
  if (checked) return {};
  return Error{Code::kInvalidArgument, concat("Invalid artifact path: ", checked.error().message)};
}

}  // namespace

Result<Json> list_artifact_files(const Location& root, std::string_view path, std::string_view shown,
                                 const CallOptions& call) {
  path = without_slashes(path);
  shown = without_slashes(shown);
  if (!path.empty()) HEADRACE_CHECK(check_artifact_path(path));
  const std::string prefix = concat(path.empty() ? root.key : root.at(path).key, "/");
  Json::Array files;
  const auto add = [&](const ObjectInfo& object) {
    std::string_view name = std::string_view(object.key).substr(prefix.size());
    if (object.is_folder()) name.remove_suffix(1);
    Json file = {{"path", shown.empty() ? std::string(name) : concat(shown, "/", name)},
                 {"is_dir", object.is_folder()}};
    if (!object.is_folder()) file["file_size"] = object.size_bytes;
    files.push_back(std::move(file));
    return files.size() <= kListedFilesMax;
  };
  HEADRACE_CHECK(root.store->list(prefix, {.collapse_folders = true, .call = call}, add));
  if (files.size() > kListedFilesMax)
    return Error{Code::kResourceExhausted,
                 concat("the folder has more than ", kListedFilesMax, " files: list it with `headrace ls`")};
  return Json(std::move(files));
}

Result<Location> Artifacts::place_of(std::string_view path) const {
  path = without_slashes(path);
  HEADRACE_CHECK(check_artifact_path(path));
  return folder_.at(path);
}

Status Artifacts::write(std::string_view path, const NextPiece& next, const CallOptions& call) {
  HEADRACE_TRY(const Location place, place_of(path));
  if (std::ranges::count(without_slashes(path), '/') <= kSlashesOfRoot)
    return Error{Code::kInvalidArgument, "an artifact lies at EXPERIMENT/RUN/artifacts/NAME"};
  WriteOptions options;
  options.call = call;
  HEADRACE_TRY(const std::unique_ptr<Upload> upload, place.store->start_upload(place.key, options));
  while (true) {
    HEADRACE_TRY(const BytesView piece, next());
    if (piece.empty()) break;
    HEADRACE_CHECK(upload->append(piece));
  }
  HEADRACE_CHECK(upload->commit());
  return {};
}

Result<OpenArtifact> Artifacts::open(std::string_view path, std::string_view range, const CallOptions& call) {
  HEADRACE_TRY(const Location place, place_of(path));
  HEADRACE_TRY(const ObjectInfo object, place.store->stat(place.key, call));
  HEADRACE_TRY(const ByteRange bytes, parse_byte_range(range, object.size_bytes));
  OpenArtifact artifact{bytes.offset, bytes.size, object.size_bytes, {}};
  artifact.read = [place, object, bytes, call](const std::function<Status(BytesView)>& take) {
    return read_in_pieces(*place.store, object, bytes.offset, bytes.size, call, take);
  };
  return artifact;
}

Result<Json> Artifacts::list(std::string_view path, const CallOptions& call) {
  HEADRACE_TRY(Json files, list_artifact_files(folder_, path, "", call));
  return Json({{"files", std::move(files)}});
}

Status Artifacts::remove(std::string_view path, const CallOptions& call) {
  HEADRACE_TRY(const Location place, place_of(path));
  if (std::ranges::count(without_slashes(path), '/') <= kSlashesOfRoot) {
    return Error{Code::kInvalidArgument,
                 concat("`headrace rm --recursive ", place.describe(), "` removes all artifacts of a run")};
  }
  std::vector<std::string> keys = {place.key};
  HEADRACE_TRY(const std::vector<ObjectInfo> below,
               list_all(*place.store, concat(place.key, "/"), {.call = call}));
  for (const ObjectInfo& object : below) keys.push_back(object.key);
  return place.store->remove_many(keys, call);
}

}  // namespace headrace::mlflow
