#pragma once

/// \file Reads the files of archives one after another, in the same way for all kinds of archives.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "headrace/codec/archive/archive_reader.h"
#include "headrace/prepare/row/row.h"
#include "headrace/prepare/row/source_file.h"

namespace headrace {

struct ArchivedFile {
  std::string path;  // untrusted: any bytes; without a leading "./"
  EntryKind kind = EntryKind::kFile;
  bool is_sparse = false;     // has no contiguous bytes to refer to, so it is not read
  std::uint32_t archive = 0;  // number of the archive that holds the file
};

/// The bytes of a file, or a range of the archive that holds them.
struct ArchivedContent {
  bool is_reference = false;
  std::string data{};
  std::uint64_t offset_bytes = 0;
  std::uint64_t size_bytes = 0;
};

/// Reads archives in their order, each from front to back: only the headers of an uncompressed tar, and all
/// bytes of any other tar or zip. Not thread-safe. Memory: some megabytes.
class ArchivedFiles {
 public:
  /// Opens each archive only when its entries are needed.
  explicit ArchivedFiles(std::vector<SourceFile> archives);
  ~ArchivedFiles();

  /// The next entry; nullopt after the last.
  /// \error kFailedPrecondition  an archive has changed since it was listed
  /// \error kDataLoss            an archive is damaged or truncated; names the archive and the place
  /// \error kInvalidArgument     a file is not an archive
  Result<std::optional<ArchivedFile>> next();

  /// The content of the file that `next` returned last; nullopt if it is larger than `limit_bytes`. In an
  /// uncompressed tar, the content is a reference, unless the file has at most `inline_bytes`.
  /// REQUIRES: the entry is a file and not sparse; called only once for it
  Result<std::optional<ArchivedContent>> content(std::uint64_t limit_bytes, std::uint64_t inline_bytes);

  /// A cell that borrows `content` and the texts of this object.
  Cell cell(const ArchivedContent& content, std::uint32_t archive) const;

  const std::vector<SourceFile>& archives() const { return archives_; }
  std::uint64_t consumed_bytes() const;

  class Reader;

 private:
  const std::vector<SourceFile> archives_;
  std::vector<std::string> urls_;
  std::unique_ptr<Reader> reader_;  // of archives_[position_]
  std::uint32_t position_ = 0;
  std::uint64_t behind_bytes_ = 0;  // size of the archives before
};

}  // namespace headrace
