#pragma once

/// \file Turns a WebDataset sample, which is several files of a tar, into a tf.Example.
/// docs/formats/webdataset.md says where this follows the webdataset library and where it does not.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/base/bytes.h"
#include "headrace/base/result.h"
#include "headrace/codec/sample_path.h"
#include "headrace/record/example_decoder.h"

namespace headrace {

/// Some bytes of a tar in memory.
struct TarPart {
  MutableBytesView bytes;
  std::uint64_t offset_bytes = 0;  // in the tar
  bool is_end = false;             // true if the part ends with the tar, which zeros mark
};

/// Makes records from samples. A record is a tf.Example with the feature "__key__" and one feature for each
/// field, named in lower case. A feature's value is the file's bytes, or an int64 if a column of that type is
/// requested and the file is a decimal integer. If no columns are requested, all fields are taken, and fields
/// that webdataset decodes as numbers are numbers (is_sample_number_field). Not thread-safe.
///
/// Nothing is copied: files stay where they are, and the bytes that turn them into features are written over
/// the headers before them. Fields that were not requested become the content of a field that tf.Example does
/// not have. There is always room: a header has at least 512 bytes. At most 46 bytes and the field's name are
/// needed, and in a sample's first header 60 more and the key. A path of up to 256 bytes is in the header; a
/// longer one takes a header of its own.
class TarSampleConverter {
 public:
  /// `wanted` names the features to make; empty: all.
  explicit TarSampleConverter(std::vector<Column> wanted) : wanted_(std::move(wanted)) {}

  /// Makes a record from each sample, in place. The record's first kRecordFramingBytes bytes have no meaning,
  /// as if they were a frame; the other bytes, up to the next sample or to the end, are the tf.Example.
  /// Appends the offset of each record in the part to `offsets`; the first offset is 0, whatever precedes the
  /// first file. After an error, the bytes are undefined.
  /// \error kDataLoss  damaged, truncated, or not a sample; or a sample with a duplicate field, a sparse
  ///                   file, more files than kMaxSampleFiles or more bytes than kDefaultRecordLimitBytes. The
  ///                   message names the sample and the offset
  Status convert(const TarPart& part, std::vector<std::uint64_t>& offsets);

 private:
  struct File {
    std::string field;
    std::uint64_t begin = 0;  // of its data, in the part
    std::uint64_t bytes = 0;
    std::optional<std::int64_t> number;
  };
  Status read_samples(const TarPart& part, std::vector<std::uint64_t>& offsets);
  Status add_file(File file);
  Status write_record(MutableBytesView part, std::uint64_t begin, std::uint64_t end);
  const Column* wanted(std::string_view feature) const;
  bool is_wanted(std::string_view feature) const { return wanted_.empty() || wanted(feature) != nullptr; }
  std::optional<std::int64_t> number_of(std::string_view field, BytesView data) const;

  std::vector<Column> wanted_;
  std::string key_;          // of the sample that is being read
  std::vector<File> files_;  // of that sample, so far
  std::uint64_t sample_bytes_ = 0;
};

}  // namespace headrace
