#pragma once

/// \file Reads tar, zip and their compressed forms straight from a store, front to back; nothing is unpacked
/// to disk. A thin layer over libarchive.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "headrace/store/store.h"

namespace headrace {

enum class EntryKind : std::uint8_t { kFile, kFolder, kLink, kOther };

struct ArchiveEntry {
  /// As written in the archive, without a leading "./". Untrusted: may be absolute or hold "..".
  std::string path;
  EntryKind kind = EntryKind::kFile;
  /// As declared; a file's data may be shorter or longer.
  std::uint64_t size_bytes = 0;
};

/// Not thread-safe. Memory: one buffer of 1 MiB and libarchive's own, whatever the archive's size.
class ArchiveReader {
 public:
  virtual ~ArchiveReader() = default;

  /// The next entry; none after the last. Skips unread data of the entry before.
  /// \error kDataLoss  the archive is damaged or truncated; the message names it, the entry before and the
  ///                   offset
  virtual Result<std::optional<ArchiveEntry>> next() = 0;

  /// Appends the entry's data to `target`. False if they are larger than `limit_bytes`: some of them are then
  /// appended, and the rest is lost.
  /// \error kDataLoss  as for `next`
  virtual Result<bool> read_data(std::string& target, std::uint64_t limit_bytes) = 0;

  /// Bytes of the archive object read so far, for progress.
  virtual std::uint64_t consumed_bytes() const = 0;
};

/// Opens tar (ustar, pax, GNU) and zip, plain or compressed with gzip, bzip2, xz or zstd, by content.
/// The store must outlive the reader; only the version found now is read.
/// \error kNotFound         no such object
/// \error kInvalidArgument  the object is not an archive, or is empty
Result<std::unique_ptr<ArchiveReader>> open_archive(Store& store, std::string_view key,
                                                    const CallOptions& options = {});
/// The same for the version that `object` describes.
/// \error kFailedPrecondition  that version is gone
Result<std::unique_ptr<ArchiveReader>> open_archive(Store& store, ObjectInfo object,
                                                    const CallOptions& options = {});

}  // namespace headrace
