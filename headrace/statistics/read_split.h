#pragma once

/// \file Reads the records of a split for its statistics, and some of them for display.

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "headrace/page/record_preview.h"
#include "headrace/statistics/split_statistics.h"
#include "headrace/stream/dataset.h"

namespace headrace {

struct ReadSplitOptions {
  /// Reads at most this many records, and at most this share (above 0, up to 1) of them. Blocks are chosen by
  /// a hash; all but one are read whole.
  std::uint64_t most_records = 1'000'000;
  double share = 1;
  int threads = 1;
  CallOptions call{};
  /// Called now and then, by the calling thread, with the number of records read and the number to read.
  std::function<void(std::uint64_t, std::uint64_t)> progress = [](std::uint64_t, std::uint64_t) {};
};

/// Computes the statistics of a split. The result is a function of the data, share and limit, whatever the
/// number of threads. Records that are not tf.Examples, or fail their checksum, are counted and skipped.
/// Memory: for each thread a block (8 MiB and more), stored and inflated, and its statistics; and the
/// statistics of the split.
/// \error kFailedPrecondition  a shard was replaced meanwhile
/// \error kCancelled           `options.call.stop` was requested
/// \error of the store
Result<SplitStatistics> read_split(const Dataset& dataset, const FeatureVocabularies& vocabularies,
                                   const ReadSplitOptions& options);

/// One record, to be shown to people.
struct SampleRecord {
  std::uint64_t record = 0;  // its number in the split
  std::string label;         // "" if it has none
  RecordPreview preview{};
};

/// Reads at most `most` of the records that the statistics have sampled, spread over the labels; ascending by
/// label. Only `threads` and `call` of the options are used.
/// \error as read_split; kDataLoss  a sampled record can no longer be read
Result<std::vector<SampleRecord>> read_samples(const Dataset& dataset, const SplitStatistics& statistics,
                                               std::size_t most, const ReadSplitOptions& options);

}  // namespace headrace
