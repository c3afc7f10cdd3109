#pragma once

/// \file This machine's note of a multipart upload that has begun, so that another run can continue the
/// upload. docs/formats/upload-note.md. Internal to the driver.

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

/// The note for one object. It is locked, so that no other process or thread continues the same upload. Not
/// thread-safe.
class UploadNote {
 public:
  /// Locks the note. `names_object` identifies the object, its store, and how it is written. Null: another
  /// process or thread holds the note, `folder` is empty, or the note cannot be made. Removes notes that were
  /// not used for 30 days.
  static std::unique_ptr<UploadNote> take(const std::string& folder, std::string_view names_object);

  /// The note's content. None if the note is new or damaged.
  std::optional<BegunUpload> read() const;
  /// Returns false if the note cannot be written.
  bool write(const BegunUpload& begun);
  /// Removes the note. To be called when the upload has ended.
  void remove();

 private:
  UploadNote(std::string path, FileDescriptor file) : path_(std::move(path)), file_(std::move(file)) {}
  const std::string path_;
  const FileDescriptor file_;
};

}  // namespace headrace
