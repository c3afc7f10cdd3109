#include "headrace/filesystem/held_files.h"

#include "headrace/base/text.h"

namespace headrace {

std::unique_ptr<ObjectWriter> HeldFiles::hold(const std::string& path, std::unique_ptr<ObjectWriter> file) {
  {
    const std::scoped_lock lock(mutex_);
    if (files_.size() >= kMost && !files_.contains(path)) return file;
  }
  hold_anyway(path, std::move(file));
  return nullptr;
}

void HeldFiles::hold_anyway(const std::string& path, std::unique_ptr<ObjectWriter> file) {
  {
    const std::scoped_lock lock(mutex_);
    file.swap(files_[path]);
  }
  // The replaced file is destroyed here, after the mutex was released: its upload is aborted.
}

std::optional<std::uint64_t> HeldFiles::size_bytes(const std::string& path) const {
  const std::scoped_lock lock(mutex_);
  const auto found = files_.find(path);
  return found == files_.end() ? std::nullopt : std::optional(found->second->size_bytes());
}

Result<std::optional<Bytes>> HeldFiles::content(const std::string& path) const {
  const std::scoped_lock lock(mutex_);
  const auto found = files_.find(path);
  if (found == files_.end()) return std::optional<Bytes>();
  const ObjectWriter& writer = *found->second;
  if (const Bytes* content = writer.content()) return std::optional(*content);
  return Error{Code::kFailedPrecondition,
               concat(path, ": a temporary file larger than ", format_size(ObjectWriter::kMemoryBytes),
                      " cannot be read before it is renamed to ", writer.location().url.text())};
}

std::unique_ptr<ObjectWriter> HeldFiles::take(const std::string& path) {
  const std::scoped_lock lock(mutex_);
  const auto found = files_.extract(path);
  return found ? std::move(found.mapped()) : nullptr;
}

}  // namespace headrace
