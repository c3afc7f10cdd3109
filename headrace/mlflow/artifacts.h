#pragma once

/// \file Artifacts that clients read and write through the server: objects below one folder.

#include <cstdint>
#include <functional>
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

/// The next piece of an artifact that comes; empty at its end. It is valid until the next call. May wait.
using NextPiece = std::function<Result<BytesView>()>;

/// An artifact, or a range of it, that is there.
struct OpenArtifact {
  std::uint64_t offset_bytes = 0;
  std::uint64_t size_bytes = 0;   // of the range
  std::uint64_t whole_bytes = 0;  // of the artifact
  /// Passes the bytes on in pieces of at most kPieceBytes.
  /// \error kDataLoss, kFailedPrecondition  the artifact is damaged, or was replaced; what `take` returns
  std::function<Status(const std::function<Status(BytesView)>& take)> read;
};

/// The artifacts of all runs. Thread-safe; whole objects: of two who write one, the later one stays.
class Artifacts {
 public:
  /// `folder`: of all artifacts.
  explicit Artifacts(Location folder) : folder_(std::move(folder)) {}

  /// The artifact is there once the last piece has come, and is not if one is an error. Holds a part of it
  /// in memory, as the store's uploads do.
  /// \error kInvalidArgument  the path is no key below the folder, for this and the others
  Status write(std::string_view path, const NextPiece& next, const CallOptions& call);
  /// `range`: the header Range, or empty. One that is not a single range of bytes is passed over.
  /// \error kOutOfRange  the artifact ends before the range
  Result<OpenArtifact> open(std::string_view path, std::string_view range, const CallOptions& call);
  Result<Json> list(std::string_view path, const CallOptions& call);
  /// A file, or a folder with all that is in it. Refuses all artifacts of a run.
  Status remove(std::string_view path, const CallOptions& call);

 private:
  Result<Location> place_of(std::string_view path) const;

  const Location folder_;
};

}  // namespace headrace::mlflow
