#pragma once

/// \file Reads .npz files, which are zips of .npy arrays as numpy.savez and savez_compressed write them
/// (sources: PKWARE APPNOTE 6.3 for zip; numpy.lib.format, versions 1 to 3, for .npy). The bytes are not
/// trusted.

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
  std::size_t data_offset = 0;  // where the elements start in `file`

  BytesView data() const { return BytesView(file).subspan(data_offset); }
};

/// Parses one .npy file.
/// \error kDataLoss       malformed, an object type, or the data's size is not that of dtype and shape
/// \error kUnimplemented  a column-major array or a structured type
Result<NpyArray> parse_npy(Bytes file);

/// The table of contents of an .npz file. Views the file's bytes, which must outlive it. Several threads may
/// call const functions at the same time.
class NpzFile {
 public:
  /// Reads the zip's directory. Allocates nothing in proportion to sizes that the file only claims.
  /// \error kDataLoss  the directory is malformed (the message names the offset), or names more than
  ///                   `max_total_bytes` of uncompressed data in total
  static Result<NpzFile> open(BytesView file, std::uint64_t max_total_bytes);

  /// Array names in ascending order, without ".npy".
  std::vector<std::string> names() const;
  /// Extracts one array and checks its CRC-32.
  /// \error kNotFound           there is no such array
  /// \error kDataLoss           malformed, or the checksum is wrong
  /// \error kUnimplemented      a compression method other than stored and deflate; or as for `parse_npy`
  /// \error kResourceExhausted  no memory
  Result<NpyArray> read(std::string_view name) const;

 private:
  struct Entry {
    std::uint32_t method, crc32, compressed_bytes, uncompressed_bytes, local_header_offset;
  };
  BytesView file_;
  std::map<std::string, Entry, std::less<>> entries_;
};

}  // namespace headrace
