#pragma once

/// \file Decodes records into the rows of a batch.

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "headrace/record/record_decoder.h"
#include "headrace/stream/batch.h"
#include "headrace/stream/image_reader.h"
#include "headrace/stream/loader.h"

namespace headrace {

/// Decodes records, and the images in them, into batches. Not thread-safe; each thread has its own.
class BatchMaker {
 public:
  /// Makes a maker for tf.Examples. Borrows `pictures`. Uses these options: columns, images, seed, batch size
  /// and the policy for bad records. REQUIRES: `check_images` accepts the options.
  /// \error kInvalidArgument  two columns have one name
  static Result<BatchMaker> create(const LoaderOptions& options, PictureMemory& pictures);
  /// Makes a maker for the records that `decoder` decodes, whose columns are those of the options. `advice`
  /// ends the messages about damaged records, as in `with_advice`; it must outlive the maker.
  BatchMaker(std::unique_ptr<RecordDecoder> decoder, const LoaderOptions& options, PictureMemory& pictures,
             std::string_view advice = kShardAdvice);

  /// The records from which to make a batch. Records are numbered from the batch's first, over all ranks.
  struct Records {
    /// The records of this rank's rows. There are fewer than rows if the rest is padding.
    std::span<const Window::Place> places;
    /// The number of the record in `places[0]`.
    std::uint64_t first = 0;
    /// Finds any record of the batch, over all ranks; none beyond the last.
    std::function<std::optional<Window::Place>(std::uint64_t number)> find;
    /// Names a row's record for people: "record 7 of s3://…".
    std::function<std::string(std::size_t row)> describe;
    std::stop_token stop{};
  };
  /// Fills the batch, row i from `places[i]`. REQUIRES: the batch's epoch and number are set. Rows beyond the
  /// places, and rows whose records are missing or cannot be decoded, get weight 0 and repeat the first good
  /// record of the batch, with its random values. Without a good record, they get zeros and empty rows.
  /// \error kDataLoss, kInvalidArgument  a record cannot be decoded, under CorruptionPolicy::kFail
  /// \error kCancelled                   `stop` was requested
  /// \error *                            under kFail the errors of ImageReader; under any policy the
  ///                                     decoder's errors that do not concern a record
  /// \throws std::bad_alloc              no memory
  Status make(const Records& records, Batch& batch);

  /// The number of holes since the last call; and remarks about the first hundred of them.
  std::uint64_t take_corrupt_records() { return std::exchange(corrupt_records_, 0); }
  std::vector<std::string> take_remarks() { return std::exchange(remarks_, {}); }

 private:
  // The record of the batch that rows with weight 0 repeat.
  struct Repeated {
    std::uint64_t number = 0;        // the first record that may be good
    std::optional<std::size_t> row;  // a row that already has the record
  };

  void point_to(const Batch& batch);
  void end_row(const Batch& batch, std::size_t row, bool is_good);
  void undo_row(const Batch& batch);
  Result<bool> make_row(const Records& records, const Batch& batch, std::size_t row);
  Status read_images(const Batch& batch, std::uint64_t number, std::size_t row);
  bool repeat(const Records& records, const Batch& batch, Repeated& repeated, std::size_t row);
  void copy_images(const Batch& batch, std::size_t from_row, std::size_t row);
  void clear(const Batch& batch, std::size_t row);
  void gather_strings(const Batch& batch);
  void note(std::string message);
  std::byte* place_of(const Batch& batch, std::size_t column, std::size_t row) const;

  std::unique_ptr<RecordDecoder> decoder_;
  std::vector<BatchColumn> columns_;                // as in a batch
  std::vector<std::optional<ImageColumn>> images_;  // by column
  ImageReader reader_;
  std::uint64_t batch_size_;
  CorruptionPolicy policy_;
  std::string_view advice_;
  std::vector<ColumnBuffer> buffers_;            // of the batch that is being made
  std::vector<std::vector<BytesView>> strings_;  // by column; for byte columns and encoded images
  std::uint64_t corrupt_records_ = 0;
  std::vector<std::string> remarks_;
};

}  // namespace headrace
