#pragma once

/// \file Artifacts that clients read and write through the server: the objects below one folder.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "headrace/base/bytes.h"
#include "headrace/base/json.h"
#include "headrace/store/location.h"

namespace headrace::mlflow {

/// Largest number of files in one listing.
inline constexpr std::size_t kListedFilesMax = 100'000;

/// Lists the files and folders directly in a folder as MLflow's FileInfo: `path`, `is_dir`, `file_size`.
/// \param path   the folder, relative to `root`; empty: `root` itself
/// \param shown  the paths in the result begin with it, if it is not empty
/// \error kInvalidArgument    `path` is not a valid path
/// \error kResourceExhausted  there are more than kListedFilesMax files and folders
Result<Json> list_artifact_files(const Location& root, std::string_view path, std::string_view shown,
                                 const CallOptions& call);

/// Returns the next piece of an uploaded artifact; empty at its end. The piece is valid until the next call.
/// May block.
using NextPiece = std::function<Result<BytesView>()>;

/// An existing artifact, or a range of it.
struct OpenArtifact {
  std::uint64_t offset_bytes = 0;
  std::uint64_t size_bytes = 0;   // of the range
  std::uint64_t whole_bytes = 0;  // of the artifact
  /// Reads the range, and passes it to `take` in pieces of at most kPieceBytes.
  /// \error kDataLoss            the artifact is damaged
  /// \error kFailedPrecondition  the artifact was replaced meanwhile
  /// \error of `take`
  std::function<Status(const std::function<Status(BytesView)>& take)> read;
};

/// The artifacts of all runs. Thread-safe. Artifacts are written as whole objects: if two clients write the
/// same one, the later write stays.
class Artifacts {
 public:
  /// `folder` is the folder of all artifacts. The paths below are relative to it.
  explicit Artifacts(Location folder) : folder_(std::move(folder)) {}

  /// Writes an artifact. It exists once the last piece was written; if a piece is an error, it is not
  /// created. Holds as much of it in memory as the store's uploads do.
  /// \error kInvalidArgument  the path is not a key below the folder (also of the other functions), or is not
  ///                          of the form EXPERIMENT/RUN/artifacts/NAME
  /// \error of `next`
  Status write(std::string_view path, const NextPiece& next, const CallOptions& call);
  /// Opens an artifact. `range` is the header Range, or empty; anything but a single range of bytes is
  /// ignored. Cost: one request; OpenArtifact::read makes the others.
  /// \error kNotFound    there is no such artifact
  /// \error kOutOfRange  the artifact ends before the range
  Result<OpenArtifact> open(std::string_view path, std::string_view range, const CallOptions& call);
  /// {"files": […]}: as list_artifact_files.
  Result<Json> list(std::string_view path, const CallOptions& call);
  /// Removes a file, or a folder with its content.
  /// \error kInvalidArgument  the path has all artifacts of a run
  Status remove(std::string_view path, const CallOptions& call);

 private:
  Result<Location> place_of(std::string_view path) const;

  const Location folder_;
};

}  // namespace headrace::mlflow
