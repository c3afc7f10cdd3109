#pragma once

/// \file An opened dataset: its shards, of any kind, and their blocks.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/record/index.h"
#include "headrace/record/manifest.h"
#include "headrace/store/location.h"
#include "headrace/stream/data_order.h"
#include "headrace/stream/order.h"

namespace headrace {

/// How to treat a record that fails its checksum or cannot be decoded.
enum class CorruptionPolicy : std::uint8_t {
  kFail,
  kSkipRecord,  // the record becomes a hole: its row in a batch has weight 0
  kSkipShard,   // the rest of its block (see DatasetBlock) becomes holes, too; so does a whole shard that is
                // missing or altered
};

/// The policy as an option names it: "fail", "skip-record", "skip-shard".
std::string_view policy_name(CorruptionPolicy policy);

/// Advice about a corrupt record of a shard.
inline constexpr std::string_view kShardAdvice =
    "; restore the shard, prepare the dataset again, or leave such records out with --on-corrupt skip-record";

/// Appends `advice` to the error of a corrupt record if its code is kDataLoss; returns other errors
/// unchanged.
Error with_advice(Error error, std::string_view advice = kShardAdvice);

class ShardKind;  // block_reader.h

/// One shard, at the version that was found when the dataset was opened. A shard that is not an object in a
/// store has `name` and `place` instead of `location`, and has `index` if single records of it can be read.
struct DatasetShard {
  /// Determines how the shard's blocks are read. Never null.
  std::shared_ptr<const ShardKind> kind;
  std::string name{};   // for people
  std::string place{};  // only the kind knows its meaning
  Location location{};
  Version version{};
  std::uint64_t size_bytes = 0;
  std::uint64_t record_count = 0;
  ShardEncoding encoding = ShardEncoding::kPlain;
  /// A published shard's part of the manifest. Empty for a foreign shard, which has `index` instead.
  ManifestPart part{};
  std::uint64_t index_bytes = 0;  // size of the published index
  Bytes index{};                  // serialized
  /// True: the shard is missing or altered, and is skipped. All its records are holes.
  bool lost = false;
  /// True: a foreign file is damaged after its last indexed record. It is decompressed only up to there.
  bool cut = false;

  /// The URL of the shard's object, or its name if it is not an object.
  std::string url() const { return location.store ? location.url.text() : name; }
};

/// A run of consecutive records of one shard that is read as a whole. docs/formats/order.md says where blocks
/// end.
struct DatasetBlock {
  std::uint32_t shard = 0;
  std::uint64_t first_record = 0;  // within the shard
  std::uint64_t record_count = 0;
  std::uint64_t stored_offset = 0;
  std::uint64_t stored_bytes = 0;
  std::uint64_t stream_offset = 0;  // uncompressed
  std::uint64_t stream_bytes = 0;   // uncompressed, framed. An upper bound if records are made as they are
                                    // read; it includes kRecordFramingBytes per record
};

/// The contents of a dataset that is not in a store, for Dataset::make.
struct DatasetContents {
  std::string url;     // of the dataset
  std::string digest;  // changes if any record changes
  std::optional<DatasetAttributes> attributes{};
  std::vector<DatasetShard> shards{};
  std::vector<DatasetBlock> blocks{};  // in the order of the shards, and of the records in a shard
  std::vector<std::string> remarks{};
};

struct DatasetOptions {
  std::string split = "train";  // for a published dataset; foreign ones have no splits
  /// The number of the manifest that publishes the version to open; none: the latest.
  std::optional<std::uint64_t> version{};
  CorruptionPolicy on_corrupt = CorruptionPolicy::kFail;
  /// The folder for the indexes of foreign files, so that each is made only once: `<key>/<digest>.index`.
  /// None: they are not kept.
  std::optional<Location> index_cache{};
  CallOptions call{};
};

/// A dataset to read. Immutable once opened, hence thread-safe. Memory: 56 bytes per block of 8 MiB, about
/// 300 per shard; for foreign files also their indexes, one to three bytes per record.
class Dataset {
 public:
  /// Opens the dataset that the manifest with number `options.version` at `location` publishes. If there is
  /// no manifest, opens foreign TFRecord files and tars: the object at `location`, the objects below it, or
  /// the objects whose keys match it as a pattern (store/glob.h). Cost for foreign files: reads each file
  /// once for its index, unless `options.index_cache` has it.
  /// \error kNotFound            nothing is there, or there is no such version or split; the message lists
  ///                             those that exist
  /// \error kInvalidArgument     the version is the number of an entry of ownership, or the manifest
  ///                             publishes something else
  /// \error kFailedPrecondition  a shard is missing or was altered since it was published (not an error with
  ///                             kSkipShard)
  /// \error kDataLoss            the manifest is damaged, or an older Headrace wrote it without blocks; or a
  ///                             foreign file is damaged, under kFail
  static Result<std::shared_ptr<const Dataset>> open(const Location& location, const DatasetOptions& options);
  /// Opens the foreign files of several places, in the order of the places. A single place is opened as
  /// above.
  /// \error kInvalidArgument  there is no place, or several places and a version
  static Result<std::shared_ptr<const Dataset>> open(const std::vector<Location>& locations,
                                                     const DatasetOptions& options);

  /// Makes a dataset of shards of any kind that the caller has found.
  /// \error kInvalidArgument  a shard without kind or name; blocks that do not hold exactly the shards'
  ///                          records; a block without records, or with less room than their frames
  static Result<std::shared_ptr<const Dataset>> make(DatasetContents contents);

  /// False if the dataset was made of shards that are not objects.
  bool is_in_store() const { return !locations_.empty(); }
  /// The first place from which the dataset was opened. REQUIRES: is_in_store()
  const Location& location() const { return locations_.front(); }
  /// The URL of the first place, or the URL with which the dataset was made.
  std::string url() const { return is_in_store() ? location().url.text() : url_; }
  /// The place for people, and the number of further places.
  std::string describe() const;
  /// The attributes, if the dataset is published or was made with attributes.
  const std::optional<DatasetAttributes>& attributes() const { return attributes_; }
  /// The number of the manifest; 0 for a dataset without one.
  std::uint64_t version() const { return version_; }
  /// SHA-256 (hex) of the manifest; for a foreign dataset, of its objects' keys, sizes and versions; or the
  /// digest with which the dataset was made.
  const std::string& digest() const { return digest_; }
  const std::string& split() const { return split_; }
  std::uint64_t record_count() const { return record_count_; }
  const std::vector<DatasetShard>& shards() const { return shards_; }
  const std::vector<DatasetBlock>& blocks() const { return blocks_; }

  /// The order of the records by this version of docs/formats/order.md. Cost: O(shards); reads nothing.
  DataOrder order(int version) const;

  /// A dataset of only this shard, which gets the number 0. For callers that must keep shards apart. Its
  /// digest is that of the whole dataset. REQUIRES: shard < shards().size()
  std::shared_ptr<const Dataset> only(std::uint32_t shard) const;

  /// The index of a shard, which says where each record lies. The index of a published shard is read from the
  /// store. If it is unusable, it is made again from the shard, and `remark` says so. Cost: one request;
  /// memory: 8 bytes per record.
  /// \error kDataLoss       the index is unusable and cannot be made again
  /// \error kUnimplemented  the shard's kind has no index: its blocks can only be read as a whole
  Result<ShardIndex> shard_index(std::uint32_t shard, const CallOptions& call, std::string& remark) const;

  /// The shard's name for people.
  std::string describe_shard(std::uint32_t shard) const;

  /// Messages for people about everything that was skipped or looked wrong when the dataset was opened.
  const std::vector<std::string>& remarks() const { return remarks_; }

 private:
  friend class DatasetOpener;
  Dataset() = default;

  std::vector<Location> locations_;
  std::string url_;  // if it has no location
  std::optional<DatasetAttributes> attributes_;
  std::uint64_t version_ = 0;
  std::string digest_;
  std::string split_;
  std::uint64_t record_count_ = 0;
  std::vector<DatasetShard> shards_;
  std::vector<DatasetBlock> blocks_;
  std::vector<std::string> remarks_;
};

}  // namespace headrace
