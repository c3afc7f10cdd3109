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
  /// At most so many records, and this share of them, are read: whole blocks, chosen by hash.
  std::uint64_t most_records = 1'000'000;
  double share = 1;
  int threads = 1;
  CallOptions call{};
  /// Told now and then, by the calling thread, how many records were read, of how many.
  std::function<void(std::uint64_t, std::uint64_t)> progress = [](std::uint64_t, std::uint64_t) {};
};

/// The statistics are a function of data, share and limit, for any number of threads. Records that are not
/// tf.Examples, or fail their checksum, are counted and skipped. Memory: for each thread a block (8 MiB and
/// more), stored and inflated, and its statistics; and those of the split.
/// \error as the store returns; kFailedPrecondition if a shard was replaced meanwhile; kCancelled
Result<SplitStatistics> read_split(const Dataset& dataset, const FeatureVocabularies& vocabularies,
                                   const ReadSplitOptions& options);

/// One record, for people.
struct SampleRecord {
  std::uint64_t record = 0;  // its number in the split
  std::string label;         // "" if it has none
  RecordPreview preview{};
};

/// At most `most` of the records that the statistics sampled, spread over the labels; ascending by label.
/// \error as read_split
Result<std::vector<SampleRecord>> read_samples(const Dataset& dataset, const SplitStatistics& statistics,
                                               std::size_t most, const ReadSplitOptions& options);

}  // namespace headrace
