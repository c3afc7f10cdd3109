#pragma once

/// \file The files of archives, one after another, without what is different about each kind of archive.

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
  std::string path;  // untrusted: any bytes; without "./" in front
  EntryKind kind = EntryKind::kFile;
  bool is_sparse = false;     // cannot be referred to, hence is not read
  std::uint32_t archive = 0;  // the number of the archive that it lies in
};

/// Of a file: its bytes, or where in the archive they lie.
struct ArchivedContent {
  bool is_reference = false;
  std::string data{};
  std::uint64_t offset_bytes = 0;
  std::uint64_t size_bytes = 0;
};

/// Reads archives in their order, each front to back: an uncompressed tar by its headers alone; the others,
/// tar and zip in any compression, by all their bytes. One thread at a time. Memory: some megabytes.
class ArchivedFiles {
 public:
  /// Archives are opened when they are come to.
  explicit ArchivedFiles(std::vector<SourceFile> archives);
  ~ArchivedFiles();

  /// The next entry; none after the last.
  /// \error kFailedPrecondition  an archive is not the version that was looked at
  /// \error kDataLoss            it is damaged or cut; names it and the place
  /// \error kInvalidArgument     it is no archive
  Result<std::optional<ArchivedFile>> next();

  /// Of the file that `next` gave last. None if it is larger than `limit_bytes`. Of an uncompressed tar a
  /// reference, unless the file is at most `inline_bytes` large. REQUIRES: a file, not sparse; called once
  Result<std::optional<ArchivedContent>> content(std::uint64_t limit_bytes, std::uint64_t inline_bytes);

  /// Shows `content`, and this object's texts.
  Cell cell(const ArchivedContent& content, std::uint32_t archive) const;

  const std::vector<SourceFile>& archives() const { return archives_; }
  std::uint64_t consumed_bytes() const;

  class Reader;

 private:
  const std::vector<SourceFile> archives_;
  std::vector<std::string> urls_;
  std::unique_ptr<Reader> reader_;  // of archives_[position_]
  std::uint32_t position_ = 0;
  std::uint64_t behind_bytes_ = 0;  // of the archives that have been read
};

}  // namespace headrace
