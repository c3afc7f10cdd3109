#pragma once

/// \file What this machine remembers of a multipart upload that was begun, so that another run can go on with
/// it; docs/formats/upload-note.md. Internal to the driver.

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "headrace/base/result.h"
#include "headrace/os/file_descriptor.h"

namespace headrace {

struct BegunUpload {
  std::string id;
  std::string mark;  // WriteMark's value
  bool operator==(const BegunUpload&) const = default;
};

/// The one note of an object; held, so that no other process, or thread, goes on with the same upload. Not
/// thread-safe.
class UploadNote {
 public:
  /// `names_object` says which object of which store it is, and how it is written. None: another has it, or
  /// there can be none, as where `folder` cannot be made. Removes notes that nobody has used for a month.
  static std::unique_ptr<UploadNote> take(const std::string& folder, std::string_view names_object);

  /// What it says; none if it is new, or damaged.
  std::optional<BegunUpload> read() const;
  /// False if it cannot be kept.
  bool write(const BegunUpload& begun);
  /// To be called when that upload is over.
  void remove();

 private:
  UploadNote(std::string path, FileDescriptor file) : path_(std::move(path)), file_(std::move(file)) {}
  const std::string path_;
  const FileDescriptor file_;
};

}  // namespace headrace
