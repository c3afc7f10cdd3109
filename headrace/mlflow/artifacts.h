#pragma once

/// \file Artifacts that clients read and write through the server: objects below one folder.

#include <cstdint>
#include <string>
#include <string_view>

#include "headrace/base/bytes.h"
#include "headrace/base/json.h"
#include "headrace/store/location.h"

namespace headrace::mlflow {

/// Most files that one listing has.
inline constexpr std::size_t kListedFilesMax = 100'000;

/// The files and folders directly in a folder, as MLflow's FileInfo: `path`, `is_dir`, `file_size`.
/// `path`: below `root`, empty: `root` itself. The paths of the answer begin with `shown`, if it is not
/// empty.
/// \error kInvalidArgument    the path is none; kResourceExhausted  too many files
Result<Json> list_artifact_files(const Location& root, std::string_view path, std::string_view shown,
                                 const CallOptions& call);

/// The artifacts of all runs. Thread-safe; whole objects: of two who write one, the later one stays.
class Artifacts {
 public:
  /// `folder`: of all artifacts.
  explicit Artifacts(Location folder) : folder_(std::move(folder)) {}

  /// All errors: kInvalidArgument if the path is no key below the folder.
  Status write(std::string_view path, BytesView content, const CallOptions& call);
  /// \error kResourceExhausted  larger than `most_bytes`
  Result<Bytes> read(std::string_view path, std::uint64_t most_bytes, const CallOptions& call);
  Result<Json> list(std::string_view path, const CallOptions& call);
  /// A file, or a folder with all that is in it. Refuses all artifacts of a run.
  Status remove(std::string_view path, const CallOptions& call);

 private:
  Result<Location> place_of(std::string_view path) const;

  const Location folder_;
};

}  // namespace headrace::mlflow
