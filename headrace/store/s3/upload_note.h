#pragma once

/// \file This machine's note of a multipart upload that was begun, so that another run can continue it;
/// docs/formats/upload-note.md. Internal to the driver.

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

/// The only note of an object, held so that no other process or thread continues the same upload. Not
/// thread-safe.
class UploadNote {
 public:
  /// `names_object` identifies the object, its store, and how it is written. None: another process has the
  /// note, or there can be none, for example because `folder` cannot be made. Removes notes that nobody has
  /// used for a month.
  static std::unique_ptr<UploadNote> take(const std::string& folder, std::string_view names_object);

  /// The note's content; none if it is new, or damaged.
  std::optional<BegunUpload> read() const;
  /// False if the note cannot be written.
  bool write(const BegunUpload& begun);
  /// To be called when that upload has ended.
  void remove();

 private:
  UploadNote(std::string path, FileDescriptor file) : path_(std::move(path)), file_(std::move(file)) {}
  const std::string path_;
  const FileDescriptor file_;
};

}  // namespace headrace
