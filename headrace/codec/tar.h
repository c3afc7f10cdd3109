#pragma once

/// \file Walks the headers of a tar to find where each file lies. For tars that are read at random; to read a
/// tar front to back, or a compressed one, see archive/archive_reader.h.
///
/// Source of the format: POSIX.1-2017, "pax" (ustar and pax), and GNU tar's manual, "Basic Tar Format".

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "headrace/base/bytes.h"
#include "headrace/base/result.h"

namespace headrace {

/// Headers and data begin at multiples of this.
inline constexpr std::size_t kTarBlockBytes = 512;

/// True if an object with these first bytes is a POSIX or GNU tar, which has "ustar" at byte 257. Formats
/// older than POSIX (1988) cannot be recognised.
bool looks_like_tar(BytesView head);

enum class TarEntryKind : std::uint8_t {
  kFile,
  kSparseFile,  // holes are left out of its stored data, which Headrace does not read
  kFolder,
  kOther,  // link, device …
};

struct TarEntry {
  /// The path as written: any bytes, possibly absolute or with "..". From a pax or GNU header if the entry
  /// has one.
  std::string path;
  TarEntryKind kind = TarEntryKind::kFile;
  /// Where the first of the entry's headers begins. Headers for long names come before the header that every
  /// entry has.
  std::uint64_t offset_bytes = 0;
  std::uint64_t data_offset_bytes = 0;
  std::uint64_t data_bytes = 0;
};

/// Walks the entries of one tar. Reads only headers. An entry may have 32 headers for long names, of at most
/// 1 MiB each; more is damage. Memory: one path. Not thread-safe.
///
/// Headers have a checksum, but file data have none, so damage in file data cannot be detected. Blocks of
/// zeros are skipped wherever they are, so concatenated tars are read as one.
class TarWalker {
 public:
  /// Returns `size` bytes from `offset` on: at most 1 MiB, and always within the tar. They stay valid until
  /// the next call.
  using Read = std::function<Result<BytesView>(std::uint64_t offset, std::size_t size)>;

  TarWalker(std::uint64_t size_bytes, Read read) : end_bytes_(size_bytes), read_(std::move(read)) {}
  /// Walks a part of a tar in memory. The part must outlive the walker and begin with a header. It begins at
  /// `offset_bytes` of the tar; all offsets are those of the tar.
  explicit TarWalker(BytesView part, std::uint64_t offset_bytes = 0);

  /// The next entry, whose data are complete; none at the end.
  /// \error kDataLoss  damaged or cut; the message names the offset. The walker does not move, so another
  ///                   call meets the same damage
  /// \error            an error that `read` returns
  Result<std::optional<TarEntry>> next();

  /// After kDataLoss: moves to the next sound header, so that `next` returns its entry. Returns false, and
  /// moves to the end, if there is none. The bytes in between are lost, and nothing says what they were. If
  /// the damaged file itself holds tars, their files may be found. Cost: a checksum for each 512 bytes in
  /// between.
  Result<bool> pass_over_damage();

  /// True if the last block is zero, as in every complete tar. Call at the end.
  Result<bool> ends_in_zeros();

 private:
  using Block = std::array<char, kTarBlockBytes>;
  struct Extended {  // values from the headers before an entry's own header
    std::optional<std::string> path;
    std::optional<std::uint64_t> data_bytes;
    bool is_sparse = false;
  };
  Result<bool> read_block(std::uint64_t offset, Block& block);
  Status read_extended(char type, std::uint64_t data_bytes, Extended& extended);
  Status skip_sparse_map(const Block& header);
  Result<TarEntry> entry_of(const Block& header, Extended extended);
  Error damaged(std::string_view what, std::uint64_t resume_at);

  std::uint64_t end_bytes_;  // where the tar or the part ends
  Read read_;
  std::uint64_t begin_ = 0;
  std::uint64_t position_ = 0;   // of the next header
  std::uint64_t resume_at_ = 0;  // after damage: where to start looking for a sound header
};

}  // namespace headrace
