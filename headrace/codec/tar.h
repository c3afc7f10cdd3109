#pragma once

/// \file Walks the headers of a tar: where each file lies in it. For tars that are read at random; to read
/// one front to back, or a compressed one, see archive/archive_reader.h.
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

/// Whether an object with these first bytes is a POSIX or GNU tar: "ustar" at byte 257. Tars older than 1988
/// cannot be recognised.
bool looks_like_tar(BytesView head);

enum class TarEntryKind : std::uint8_t {
  kFile,
  kSparseFile,  // its data are stored in a way that is not read here
  kFolder,
  kOther,  // link, device …
};

struct TarEntry {
  /// As written: any bytes, possibly absolute or with "..". From a pax or GNU header if there is one.
  std::string path;
  TarEntryKind kind = TarEntryKind::kFile;
  /// Where the first of its headers begins. Headers for long names come before the header that every entry
  /// has.
  std::uint64_t offset_bytes = 0;
  std::uint64_t data_offset_bytes = 0;
  std::uint64_t data_bytes = 0;
};

/// One thread at a time. Reads only headers. Memory: a path; each header for a long name may have 1 MiB, and
/// 32 of them may follow one another: more is damage.
///
/// Headers have a checksum, file data have none, so damage in file data cannot be detected. Blocks of zeros
/// are skipped wherever they are, so concatenated tars are read as one.
class TarWalker {
 public:
  /// Returns the bytes from `offset` on: `size` of them, at most 1 MiB, which the tar has. Valid until the
  /// next call.
  using Read = std::function<Result<BytesView>(std::uint64_t offset, std::size_t size)>;

  TarWalker(std::uint64_t size_bytes, Read read) : end_bytes_(size_bytes), read_(std::move(read)) {}
  /// For a part in memory, which must outlive the walker and begin with a header. All offsets are the tar's;
  /// the part begins at its `offset_bytes`.
  explicit TarWalker(BytesView part, std::uint64_t offset_bytes = 0);

  /// The next entry, whose data are all there; none at the end.
  /// \error kDataLoss  damaged or cut; names the offset. It would be met again.
  /// \error            what `read` returns
  Result<std::optional<TarEntry>> next();

  /// After kDataLoss: goes to the next sound header, so that `next` returns that entry; false if there is
  /// none. The bytes in between are lost, and nothing says what they were; if the damaged file itself holds
  /// tars, their files may be found. Cost: a checksum for each 512 bytes in between.
  Result<bool> pass_over_damage();

  /// At the end: whether the last block is zero, as every whole tar's is.
  Result<bool> ends_in_zeros();

 private:
  using Block = std::array<char, kTarBlockBytes>;
  struct Extended {  // what headers in front of an entry's own say
    std::optional<std::string> path;
    std::optional<std::uint64_t> data_bytes;
    bool is_sparse = false;
  };
  Result<bool> read_block(std::uint64_t offset, Block& block);
  Status read_extended(char type, std::uint64_t data_bytes, Extended& extended);
  Status skip_sparse_map(const Block& header);
  Result<TarEntry> entry_of(const Block& header, Extended extended);
  Error damaged(std::string_view what, std::uint64_t resume_at);

  std::uint64_t end_bytes_;  // of the tar, or the part
  Read read_;
  std::uint64_t begin_ = 0;
  std::uint64_t position_ = 0;   // of the next header
  std::uint64_t resume_at_ = 0;  // after damage: where to look for a sound header
};

}  // namespace headrace
