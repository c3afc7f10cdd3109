#pragma once

/// \file An opened dataset: its shards, of whatever kind they are, and the blocks of its order.

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
  kSkipRecord,  // a hole in its batch: weight 0
  kSkipShard,   // the rest of its block (see DatasetBlock) becomes holes; so does a shard that is missing or
                // altered
};

/// As the option is typed: "fail", "skip-record", "skip-shard".
std::string_view policy_name(CorruptionPolicy policy);

/// Advice about a corrupt record of a shard.
inline constexpr std::string_view kShardAdvice =
    "; restore the shard, prepare the dataset again, or leave such records out with --on-corrupt skip-record";

/// The error of a corrupt record under kFail, with `advice` at its end if the record is damaged.
Error with_advice(Error error, std::string_view advice = kShardAdvice);

class ShardKind;  // block_reader.h

/// One shard, at the version that was found when the dataset was opened. A shard that is no object of a store
/// has `name` and `place` instead of `location`; and `index`, if single records of it can be read.
struct DatasetShard {
  /// Says how its blocks are read. Never null.
  std::shared_ptr<const ShardKind> kind;
  std::string name{};   // for people
  std::string place{};  // only the kind knows what it means
  Location location{};
  Version version{};
  std::uint64_t size_bytes = 0;
  std::uint64_t record_count = 0;
  ShardEncoding encoding = ShardEncoding::kPlain;
  /// For a published shard its part of the manifest. For a foreign one empty; `index` is then set.
  ManifestPart part{};
  std::uint64_t index_bytes = 0;  // size of the published index
  Bytes index{};                  // serialized
  /// Missing or altered, and to be skipped: all its records are holes.
  bool lost = false;
  /// A foreign file that is damaged after its last indexed record: it is inflated only up to there.
  bool cut = false;

  /// Where it lies: the URL of an object, else its name.
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
  std::uint64_t stream_bytes = 0;   // uncompressed, framed; or an upper bound, kRecordFramingBytes a record
                                    // included, where records are made as they are read
};

/// A dataset that does not lie in a store: what Dataset::make takes.
struct DatasetContents {
  std::string url;     // of the whole
  std::string digest;  // changes if any record does
  std::optional<DatasetAttributes> attributes{};
  std::vector<DatasetShard> shards{};
  std::vector<DatasetBlock> blocks{};  // those of a shard follow one another, and so do the shards
  std::vector<std::string> remarks{};
};

struct DatasetOptions {
  std::string split = "train";  // of a published dataset; foreign ones have no splits
  /// Number of the manifest that publishes the version to open; none: the latest.
  std::optional<std::uint64_t> version{};
  CorruptionPolicy on_corrupt = CorruptionPolicy::kFail;
  /// Where the indexes of foreign files are kept, so that each is made only once: `<key>/<digest>.index`.
  std::optional<Location> index_cache{};
  CallOptions call{};
};

/// Immutable once opened, hence thread-safe. Memory: 56 bytes per block of 8 MiB, about 300 per shard; for
/// foreign files also their indexes, one to three bytes per record.
class Dataset {
 public:
  /// Opens the dataset that the manifest of `options.version` at `location` publishes. Without any, opens
  /// foreign TFRecord files: the objects below `location`, the one object, or the objects whose keys match it
  /// as a pattern (store/glob.h). Each foreign file is sniffed for its compression and read once for its
  /// index.
  /// \error kNotFound            nothing is there, no such version or split; the message lists those that are
  /// \error kInvalidArgument     the version is the number of an entry of ownership
  /// \error kFailedPrecondition  a shard is missing or was altered since it was published (skipped with
  ///                             kSkipShard)
  static Result<std::shared_ptr<const Dataset>> open(const Location& location, const DatasetOptions& options);
  /// Opens the foreign files of several places, in their order. A single place: as above.
  /// \error kInvalidArgument  no place is given, or several and a version
  static Result<std::shared_ptr<const Dataset>> open(const std::vector<Location>& locations,
                                                     const DatasetOptions& options);

  /// A dataset of shards that something else has found, of any kind.
  /// \error kInvalidArgument  a shard without kind or name; blocks that do not hold exactly the shards'
  ///                          records; a block without records, or with less room than their frames
  static Result<std::shared_ptr<const Dataset>> make(DatasetContents contents);

  /// False if it was made of shards that are no objects.
  bool is_in_store() const { return !locations_.empty(); }
  /// The first place it was opened at. REQUIRES: is_in_store()
  const Location& location() const { return locations_.front(); }
  /// The URL of the first place, or the one that it was made with.
  std::string url() const { return is_in_store() ? location().url.text() : url_; }
  /// For people: the place, and how many more there are.
  std::string describe() const;
  /// The attributes of a published dataset.
  const std::optional<DatasetAttributes>& attributes() const { return attributes_; }
  /// Number of the manifest; 0 for a foreign dataset.
  std::uint64_t version() const { return version_; }
  /// SHA-256 (hex) of the manifest; for a foreign dataset, of its objects' keys, sizes and versions.
  const std::string& digest() const { return digest_; }
  const std::string& split() const { return split_; }
  std::uint64_t record_count() const { return record_count_; }
  const std::vector<DatasetShard>& shards() const { return shards_; }
  const std::vector<DatasetBlock>& blocks() const { return blocks_; }

  /// The order of the records, by this version of docs/formats/order.md. Cost: O(shards); reads nothing.
  DataOrder order(int version) const;

  /// A dataset of this one shard, its number 0; for what must keep shards apart. The digest is the whole
  /// dataset's. REQUIRES: shard < shards().size()
  std::shared_ptr<const Dataset> only(std::uint32_t shard) const;

  /// Where each record of a shard lies. The index of a published shard is read from the store; if it is
  /// unusable, it is made again from the shard, and `remark` says so. Cost: one request; memory: 8 bytes per
  /// record.
  /// \error kDataLoss       the index is unusable and cannot be made again
  /// \error kUnimplemented  the shard's kind has no index: its blocks are read as a whole
  Result<ShardIndex> shard_index(std::uint32_t shard, const CallOptions& call, std::string& remark) const;

  /// The shard's name for people.
  std::string describe_shard(std::uint32_t shard) const;

  /// Messages for people about anything that was skipped or looks odd when it was opened.
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
