#pragma once

/// \file Manifests: the objects that publish datasets, checkpoints, models and predictions.
/// Format: docs/formats/manifest.md. This file converts to and from bytes; store/numbered.h reads and creates
/// the objects.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/base/bytes.h"
#include "headrace/base/result.h"
#include "headrace/record/index.h"

namespace headrace {

class Json;  // base/json.h

/// The key of a manifest in the folder that it publishes, before its number.
inline constexpr std::string_view kManifestPrefix = "_headrace/manifest-";
/// The largest manifest that is read or written. A shard with its index takes some 500 bytes, and 25 more for
/// each of its blocks, so there is room for a million shards of 128 MiB.
inline constexpr std::uint64_t kManifestLimitBytes = std::uint64_t{1} << 30;

/// How a shard's records are distributed over the thousandths of the hash: docs/formats/order.md, "Dataset
/// order".
struct ShardThousandths {
  std::uint64_t first = 0;
  std::vector<std::uint64_t> records{};  // in the thousandths first, first + 1, …; empty: unknown
  bool operator==(const ShardThousandths&) const = default;
};
inline constexpr std::uint64_t kThousandths = 1000;

struct ManifestPart {
  std::string key;  // relative to the published folder; after parsing, valid by base/key.h
  std::uint64_t size_bytes = 0;
  std::uint32_t crc32c = 0;
  // "shard", "index", "report", "inputs", "trace", "variables", "model", "predictions"
  std::string role;
  std::string split;  // for a shard; otherwise empty
  std::optional<std::uint64_t> records{};
  std::string index;                 // for a shard, the key of its index; otherwise empty
  std::vector<ShardBlock> blocks{};  // for a shard; after parsing, they sum to `records` and `size_bytes`
  ShardThousandths thousandths{};    // for a shard; after parsing, they sum to `records` and are below 1,000
};

struct Manifest {
  std::string kind;        // "dataset", "checkpoint", "saved_model", "predictions"
  std::string created_by;  // run id
  std::string plan;        // digest of everything that determines the content
  /// The number of the owner's entry in the folder's chain (docs/formats/ownership.md); 0: the manifest is
  /// older than ownership.
  std::uint64_t entry = 0;
  std::vector<ManifestPart> parts;
  /// A JSON object whose keys depend on the kind; the text is never empty. After parsing, it nests no deeper
  /// than kJsonDepthLimit.
  std::string attributes_json = "{}";
};

/// The manifest object's bytes. They are canonical: equal manifests give equal bytes.
std::string serialize_manifest(const Manifest& manifest);

/// Reads a manifest and checks it. The result keeps these promises. Over all parts, the sizes, the records
/// and the uncompressed sizes each sum to less than 2^62. If a shard has blocks, they sum to its records and
/// its size. Every block has records, and at least 16 uncompressed bytes for each. The blocks of an
/// uncompressed dataset have equal stored and uncompressed sizes.
/// \error kDataLoss         not JSON, nested beyond kJsonDepthLimit, a wrong checksum, a field missing or of
///                          another type, a number that is not whole, a key against the grammar, or a part
///                          that breaks one of these promises (the message names it)
/// \error kUnimplemented    a newer version than this reader knows
Result<Manifest> parse_manifest(BytesView data);

/// One part in the form of a manifest, for other objects that name parts.
Json manifest_part_to_json(const ManifestPart& part);
/// Reads one part and checks it as `parse_manifest` does. Does not compare the stored and the uncompressed
/// sizes of blocks, because it does not know whether the dataset is compressed.
/// \throws JsonError  where `parse_manifest` returns kDataLoss
ManifestPart manifest_part_from_json(const Json& from);

struct FeatureSchema {
  std::string dtype;                                 // "float32", "int64", "bytes"
  std::optional<std::vector<std::int64_t>> shape{};  // none: ragged; empty: a scalar
  bool is_image = false;                             // the "bytes" are an encoded image
  bool is_optional = false;                          // records may lack the feature
  bool is_id = false;                                // the feature names the record
  /// The columns from which a vector's values were made, in their order; empty: from one column.
  std::vector<std::string> columns{};
};

struct SplitCounts {
  std::uint64_t records = 0;
  std::map<std::string, std::uint64_t> labels;  // class name → records
};

struct EncoderDescription {
  std::string name;  // as `--encoder` takes it
  std::string weights_digest;
  int dimension = 0;

  bool operator==(const EncoderDescription&) const = default;
};

Json encoders_to_json(const std::map<std::string, EncoderDescription>& encoders);
/// \throws JsonError  a field is missing or has another type
std::map<std::string, EncoderDescription> encoders_from_json(const Json& from);

struct InputDescription {
  std::string url;
  std::uint64_t size_bytes = 0;
  std::string version;
};

/// The attributes of a manifest of kind "dataset". In `counts`, in = written + rejected + dropped + ignored.
struct DatasetAttributes {
  std::string compression;  // "none", "gzip"
  int compression_level = 0;
  std::map<std::string, FeatureSchema> features;
  std::vector<std::string> labels;  // class names, in the order of the one-hot positions
  /// Label feature → its values, in the order of their ids.
  std::map<std::string, std::vector<std::string>> vocabularies;
  std::string schema;                                  // TOML: docs/prepare.md, "Schema"
  std::map<std::string, EncoderDescription> encoders;  // for the features that are vectors of texts
  std::map<std::string, SplitCounts> splits;
  std::map<std::string, std::uint64_t> counts;
  std::map<std::string, std::uint64_t> reasons;
  std::vector<InputDescription> inputs;
  std::uint64_t seed = 0;
};

/// The feature that names the records: the one marked as the id, or otherwise one called "id". Null if there
/// is none. Points into `attributes`.
const std::string* id_feature(const DatasetAttributes& attributes);

std::string dataset_attributes_to_json(const DatasetAttributes& attributes);
/// \error kDataLoss  a field is missing or has another type, or a number is not whole or is out of range
Result<DatasetAttributes> parse_dataset_attributes(std::string_view json);

}  // namespace headrace
