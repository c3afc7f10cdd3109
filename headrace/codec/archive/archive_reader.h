#pragma once

/// \file Reads tar and zip archives, plain or compressed, directly from a store, front to back. Unpacks
/// nothing to disk. A thin layer over libarchive.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "headrace/store/store.h"

namespace headrace {

enum class EntryKind : std::uint8_t { kFile, kFolder, kLink, kOther };

struct ArchiveEntry {
  /// The path as written in the archive, without a leading "./". Untrusted: may be absolute or hold "..".
  std::string path;
  EntryKind kind = EntryKind::kFile;
  /// The declared size; a file's data may be shorter or longer.
  std::uint64_t size_bytes = 0;
};

/// Walks the entries of one archive. Memory: one buffer of 1 MiB (two for gzip) and libarchive's own,
/// whatever the archive's size. Not thread-safe.
class ArchiveReader {
 public:
  virtual ~ArchiveReader() = default;

  /// The next entry; none after the last. Skips unread data of the previous entry. Blocks while it reads from
  /// the store.
  /// \error kDataLoss         the archive is damaged or truncated; the message names the archive, the
  ///                          previous entry and the offset
  /// \error kInvalidArgument  the object is not an archive, or its first header is damaged
  /// \error                   an error of the store
  virtual Result<std::optional<ArchiveEntry>> next() = 0;

  /// Appends the data of the current entry to `target`. Returns false if the data are larger than
  /// `limit_bytes`: some of them are then appended, and the rest is lost.
  /// \error  as for `next`
  virtual Result<bool> read_data(std::string& target, std::uint64_t limit_bytes) = 0;

  /// Bytes of the archive object read so far, for progress.
  virtual std::uint64_t consumed_bytes() const = 0;
};

/// Opens a tar (ustar, pax, GNU) or a zip, plain or compressed with gzip, bzip2, xz or zstd. Recognises the
/// format by content. Reads only the version of the object that it finds now. Borrows the store, which must
/// outlive the reader.
/// \error kNotFound         no such object
/// \error kInvalidArgument  the object is not an archive, or is empty
Result<std::unique_ptr<ArchiveReader>> open_archive(Store& store, std::string_view key,
                                                    const CallOptions& options = {});
/// Opens the version that `object` describes.
/// \error kFailedPrecondition  that version is gone
Result<std::unique_ptr<ArchiveReader>> open_archive(Store& store, ObjectInfo object,
                                                    const CallOptions& options = {});

}  // namespace headrace
