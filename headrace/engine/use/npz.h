#pragma once

/// \file Reading of .npz files: a zip of .npy arrays, as numpy.savez and savez_compressed write them (zip:
/// PKWARE APPNOTE 6.3; .npy: numpy.lib.format, versions 1 to 3). The bytes are not trusted.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/base/bytes.h"
#include "headrace/base/result.h"

namespace headrace {

/// One array in memory, row-major.
struct NpyArray {
  std::string dtype;  // numpy's: "<f4", "|u1"
  std::vector<std::uint64_t> shape;
  Bytes file;                   // the whole .npy file
  std::size_t data_offset = 0;  // where in it the elements start

  BytesView data() const { return BytesView(file).subspan(data_offset); }
};

/// Parses one .npy file. DATA_LOSS if it is malformed or the data's size is not that of dtype and shape;
/// UNIMPLEMENTED for column-major arrays, structured and object types.
Result<NpyArray> parse_npy(Bytes file);

/// The table of contents of an .npz file. Keeps a view of the file's bytes, which must outlive it. Its
/// constant methods may be called by several threads.
class NpzFile {
 public:
  /// DATA_LOSS with the offset if the zip's directory is malformed, or names more than `max_total_bytes` of
  /// uncompressed data in all. Allocates nothing in proportion to sizes that the file only claims.
  static Result<NpzFile> open(BytesView file, std::uint64_t max_total_bytes);

  /// Array names in ascending order, without ".npy".
  std::vector<std::string> names() const;
  /// Extracts one array and checks its CRC-32. NOT_FOUND, DATA_LOSS, or UNIMPLEMENTED (a compression method
  /// other than stored and deflate).
  Result<NpyArray> read(std::string_view name) const;

 private:
  struct Entry {
    std::uint32_t method, crc32, compressed_bytes, uncompressed_bytes, local_header_offset;
  };
  BytesView file_;
  std::map<std::string, Entry, std::less<>> entries_;
};

}  // namespace headrace
