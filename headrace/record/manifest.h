#pragma once

/// \file Manifests: the objects that publish datasets, checkpoints, models and predictions.
/// Format: docs/formats/manifest.md. Bytes in, bytes out; store/numbered.h reads and creates the objects.

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

/// Where manifests lie in the folder that they publish, up to the number.
inline constexpr std::string_view kManifestPrefix = "_headrace/manifest-";
/// Larger manifests are neither read nor written. A shard takes some 500 bytes with its index, and 25 for
/// each of its blocks: this is room for a million shards of 128 MiB.
inline constexpr std::uint64_t kManifestLimitBytes = std::uint64_t{1} << 30;

/// How a shard's records are spread over the thousandths of the hash: docs/formats/order.md, "Dataset order".
struct ShardThousandths {
  std::uint64_t first = 0;
  std::vector<std::uint64_t> records{};  // in the thousandths first, first + 1, …; empty: unknown
  bool operator==(const ShardThousandths&) const = default;
};
inline constexpr std::uint64_t kThousandths = 1000;

struct ManifestPart {
  std::string key;  // relative to the published folder; of a parsed part: as base/key.h says
  std::uint64_t size_bytes = 0;
  std::uint32_t crc32c = 0;
  // "shard", "index", "report", "inputs", "trace", "variables", "model", "predictions"
  std::string role;
  std::string split;  // of a shard; else empty
  std::optional<std::uint64_t> records{};
  std::string index;                 // of a shard: key of its index; else empty
  std::vector<ShardBlock> blocks{};  // of a shard; parsed ones make up `records` and `size_bytes`
  ShardThousandths thousandths{};    // of a shard; parsed ones make up `records` and are below 1,000
};

struct Manifest {
  std::string kind;        // "dataset", "checkpoint", "saved_model", "predictions"
  std::string created_by;  // run id
  std::string plan;        // digest of what determines the content
  /// Number of its owner's entry in the folder's chain; 0: older than ownership. docs/formats/ownership.md
  std::uint64_t entry = 0;
  std::vector<ManifestPart> parts;
  /// A JSON object, whose keys depend on the kind; never empty. After parsing, it is no deeper
  /// than kJsonDepthLimit.
  std::string attributes_json = "{}";
};

/// The object's bytes: canonical, so equal manifests are equal bytes.
std::string serialize_manifest(const Manifest& manifest);

/// In the result, sizes, records and uncompressed sizes each sum to less than 2^62 over all parts; the
/// blocks of a shard make up its records and its size, none lacks records or has under 16 uncompressed bytes
/// for each, and those of an uncompressed dataset are stored as they are.
/// \error kDataLoss         not JSON, nested beyond kJsonDepthLimit, a wrong checksum, a field missing or of
///                          another type, a number that is not whole, a key against the grammar, or a part
///                          (which is named) that breaks one of these promises
/// \error kUnimplemented    a newer version than this reader knows
Result<Manifest> parse_manifest(BytesView data);

/// One part, as a manifest holds it: for other objects that name parts.
Json manifest_part_to_json(const ManifestPart& part);
/// \throws JsonError  where parse_manifest says kDataLoss; whether the dataset is compressed is not known
ManifestPart manifest_part_from_json(const Json& from);

struct FeatureSchema {
  std::string dtype;                                 // "float32", "int64", "bytes"
  std::optional<std::vector<std::int64_t>> shape{};  // none: ragged; empty: a scalar
  bool is_image = false;                             // "bytes" that are an encoded image
  bool is_optional = false;                          // records may lack it
  bool is_id = false;                                // it names the record
  /// The columns that a vector's values were made from, in their order; empty: it was made from one.
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
/// \throws JsonError
std::map<std::string, EncoderDescription> encoders_from_json(const Json& from);

struct InputDescription {
  std::string url;
  std::uint64_t size_bytes = 0;
  std::string version;
};

/// Attributes of kind "dataset". in = written + rejected + dropped + ignored.
struct DatasetAttributes {
  std::string compression;  // "none", "gzip"
  int compression_level = 0;
  std::map<std::string, FeatureSchema> features;
  std::vector<std::string> labels;  // class names in the order of the one-hot positions
  /// Label feature → its values in the order of their ids.
  std::map<std::string, std::vector<std::string>> vocabularies;
  std::string schema;                                  // TOML: docs/prepare.md, "Schema"
  std::map<std::string, EncoderDescription> encoders;  // of the features that are vectors of texts
  std::map<std::string, SplitCounts> splits;
  std::map<std::string, std::uint64_t> counts;
  std::map<std::string, std::uint64_t> reasons;
  std::vector<InputDescription> inputs;
  std::uint64_t seed = 0;
};

/// The feature that names the records: the one that is marked as the id, else one called "id". Null: there is
/// none.
const std::string* id_feature(const DatasetAttributes& attributes);

std::string dataset_attributes_to_json(const DatasetAttributes& attributes);
/// \error kDataLoss  a field is missing or of another type, or a number is not whole or out of range
Result<DatasetAttributes> parse_dataset_attributes(std::string_view json);

}  // namespace headrace
