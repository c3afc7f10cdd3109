#pragma once

/// \file Streams the rows of a cache in batches: each row once, in the order in which the nodes deliver them.

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "headrace/net/ignite/scan.h"
#include "headrace/stream/batch_maker.h"
#include "headrace/stream/ignite/cache_rows.h"

namespace headrace::ignite {

/// A stream of batches. It has no positions and cannot be resumed, because the order of rows is that of their
/// arrival. Requests pages ahead, as Scan does. Not thread-safe.
class StreamedRows {
 public:
  /// Starts a scan. Uses these options: columns, images, seed, batch size, drop_remainder, memory budget, and
  /// the policy for rows that cannot be decoded; ignores the others. `partitions` are those to read; empty:
  /// all.
  /// \error kNotFound         there is no such cache
  /// \error kInvalidArgument  the cache does not have one of the partitions, or `check_columns` or
  ///                          `check_images` refuses the options
  static Result<std::unique_ptr<StreamedRows>> open(std::shared_ptr<const CacheRows> rows,
                                                    std::vector<std::int32_t> partitions,
                                                    LoaderOptions options, const std::stop_token& stop);

  /// The next batch, without rows of weight 0; none after the last row. Blocks until the rows have arrived.
  /// \error kDataLoss, kInvalidArgument  a row cannot be decoded, under CorruptionPolicy::kFail
  /// \error kResourceExhausted           the rows of a batch need more than the memory budget
  /// \error kCancelled                   `stop` was requested
  /// \error                              as for `Scan::next_page`
  Result<std::optional<Batch>> next(const std::stop_token& stop);

  /// Returns the first hundred remarks about rows that were left out since the last call.
  std::vector<std::string> take_remarks() { return maker_.take_remarks(); }

 private:
  // A row of the batch that is being made; it views one of pages_.
  struct Row {
    std::int32_t partition = 0;
    Entry entry;
  };
  StreamedRows(std::shared_ptr<const CacheRows> rows, LoaderOptions options, std::unique_ptr<Scan> scan,
               BatchMaker maker, std::unique_ptr<PictureMemory> pictures);
  Status gather(const std::stop_token& stop);
  Result<Batch> make(const std::stop_token& stop);
  std::string describe(std::size_t row) const;

  const std::shared_ptr<const CacheRows> rows_;
  const LoaderOptions options_;
  const std::shared_ptr<BatchPool> pool_;
  std::unique_ptr<Scan> scan_;
  std::unique_ptr<PictureMemory> pictures_;
  BatchMaker maker_;
  std::vector<Page> pages_{};  // viewed by batch_; the last page has the next row
  std::size_t next_in_page_ = 0;
  std::vector<Row> batch_{};
  std::uint64_t batches_ = 0;
};

}  // namespace headrace::ignite
