#pragma once

/// \file Folders of this machine that go when they are no longer needed.

#include <string>

namespace headrace::interleave {

/// An empty folder, in memory where the system has a place for that. Gone with this object.
class LocalFolder {
 public:
  LocalFolder();
  ~LocalFolder();
  LocalFolder(const LocalFolder&) = delete;
  LocalFolder& operator=(const LocalFolder&) = delete;

  const std::string& path() const { return path_; }
  /// Adds copies of all that `from` holds.
  void copy_from(const LocalFolder& from);

 private:
  std::string path_;
};

}  // namespace headrace::interleave
