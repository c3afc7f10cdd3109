#include "headrace/record/manifest.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "headrace/base/json.h"
#include "headrace/base/key.h"
#include "headrace/base/text.h"
#include "headrace/record/sealed_json.h"
#include "headrace/record/tfrecord.h"

namespace headrace {
namespace {

constexpr std::string_view kFormat = "headrace.manifest";
constexpr std::uint64_t kManifestVersion = 1;

using Counts = std::map<std::string, std::uint64_t>;

std::string not_as_documented(std::string_view what) {
  return concat("the ", what, " is not as docs/formats/manifest.md says");
}

std::string key_from_json(const Json& from) {
  auto key = from.as<std::string>("a key");
  if (const Status grammar = check_key(key); !grammar) throw JsonError(grammar.error().message);
  return key;
}

std::uint32_t crc32c_from_json(const Json& from) {
  const auto text = from.as<std::string>("a crc32c");
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (text.size() != 8 || error != std::errc{} || end != text.data() + text.size())
    throw JsonError("a crc32c is not 8 hexadecimal digits");
  return value;
}

// The sums over the parts so far. The limit is far larger than any object, so code that adds up parts need
// not check for overflow.
constexpr std::uint64_t kSumLimit = std::uint64_t{1} << 62;
struct PartSums {
  std::uint64_t stored_bytes = 0;
  std::uint64_t stream_bytes = 0;
  std::uint64_t records = 0;
};

void add_up(std::uint64_t& sum, std::uint64_t amount, std::string_view what, const std::string& key) {
  if (amount >= kSumLimit - sum)
    throw JsonError(concat("with ", key, ", the ", what, " add up to 2^62 or more"));
  sum += amount;
}

// Returns false if the blocks cannot be the shard's.
bool blocks_agree(const ManifestPart& part) {
  std::uint64_t records_left = part.records.value_or(0), bytes_left = part.size_bytes;
  for (const ShardBlock& block : part.blocks) {
    if (block.record_count == 0 || block.record_count > records_left || block.stored_bytes > bytes_left)
      return false;
    if (block.stream_bytes / kRecordFramingBytes < block.record_count) return false;
    records_left -= block.record_count;
    bytes_left -= block.stored_bytes;
  }
  return records_left == 0 && bytes_left == 0;
}

// Returns false if the thousandths cannot be the shard's.
bool thousandths_agree(const ManifestPart& part) {
  const auto& [first, records] = part.thousandths;
  if (records.empty() || records.size() > kThousandths || first > kThousandths - records.size()) return false;
  std::uint64_t left = part.records.value_or(0);
  for (const std::uint64_t count : records) {
    if (count > left) return false;
    left -= count;
  }
  return left == 0 && records.front() > 0 && records.back() > 0;
}

// The list begins with the first thousandth. The numbers of records follow.
ShardThousandths thousandths_from_json(const Json& from, const ManifestPart& part) {
  ShardThousandths out;
  for (const Json& number : from.values())
    out.records.push_back(number.as<std::uint64_t>(concat("a thousandth of ", part.key)));
  if (out.records.empty()) return out;
  out.first = out.records.front();
  out.records.erase(out.records.begin());
  return out;
}

ManifestPart part_from_json(const Json& from, PartSums& sums) {
  ManifestPart part;
  part.key = key_from_json(from.at("key"));
  const auto number = [&](const Json& value, std::string_view name) {
    return value.as<std::uint64_t>(concat(name, " of ", part.key));
  };
  part.size_bytes = number(from.at("size_bytes"), "size_bytes");
  part.crc32c = crc32c_from_json(from.at("crc32c"));
  part.role = from.get<std::string>("role");
  part.split = from.get_or("split", "");
  if (from.contains("records")) part.records = number(from.at("records"), "records");
  if (from.contains("index")) part.index = key_from_json(from.at("index"));
  add_up(sums.stored_bytes, part.size_bytes, "sizes", part.key);
  add_up(sums.records, part.records.value_or(0), "records", part.key);
  const Json blocks = from.get_or("blocks", Json::array());
  for (const Json& block : blocks.values()) {
    part.blocks.push_back(
        {number(block.at(0), "a block"), number(block.at(1), "a block"), number(block.at(2), "a block")});
    add_up(sums.stream_bytes, part.blocks.back().stream_bytes, "uncompressed sizes", part.key);
  }
  if (!part.blocks.empty() && !blocks_agree(part)) {
    throw JsonError(concat("the blocks of ", part.key, " do not make up its records and its size"));
  }
  if (!from.contains("thousandths")) return part;
  part.thousandths = thousandths_from_json(from.at("thousandths"), part);
  if (!thousandths_agree(part))
    throw JsonError(concat("the thousandths of ", part.key, " do not make up its records"));
  return part;
}

std::vector<ManifestPart> parts_from_json(const Json& from, bool is_plain) {
  std::vector<ManifestPart> parts;
  PartSums sums;
  for (const Json& part : from.values()) {
    parts.push_back(part_from_json(part, sums));
    for (const ShardBlock& block : parts.back().blocks) {
      if (!is_plain || block.stored_bytes == block.stream_bytes) continue;
      throw JsonError(concat("the blocks of ", parts.back().key,
                             " have stored sizes that differ from the uncompressed ones, but the dataset is "
                             "not compressed"));
    }
  }
  return parts;
}

Json split_to_json(const SplitCounts& split) {
  return {{"records", split.records}, {"labels", split.labels}};
}

Json feature_to_json(const FeatureSchema& feature) {
  Json out = {{"dtype", feature.dtype}};
  if (feature.shape) out["shape"] = *feature.shape;
  if (feature.is_image) out["image"] = true;
  if (!feature.columns.empty()) out["columns"] = feature.columns;
  if (feature.is_optional) out["optional"] = true;
  if (feature.is_id) out["id"] = true;
  return out;
}

FeatureSchema feature_from_json(const Json& from, const std::string& name) {
  FeatureSchema feature{.dtype = from.get<std::string>("dtype"),
                        .is_image = from.get_or("image", false),
                        .is_optional = from.get_or("optional", false),
                        .is_id = from.get_or("id", false),
                        .columns = from.get_or("columns", std::vector<std::string>())};
  if (!from.contains("shape")) return feature;
  feature.shape = from.at("shape").as<std::vector<std::int64_t>>(concat("shape of ", name));
  return feature;
}

}  // namespace

std::string serialize_manifest(const Manifest& manifest) {
  Json document = {
      {"format", kFormat},     {"version", kManifestVersion},
      {"kind", manifest.kind}, {"created_by", manifest.created_by},
      {"plan", manifest.plan}, {"attributes", parse_json(manifest.attributes_json).value_or(Json())}};
  if (manifest.entry > 0) document["entry"] = manifest.entry;
  document["parts"] = Json::array();
  for (const ManifestPart& part : manifest.parts) document["parts"].push_back(manifest_part_to_json(part));
  return seal_json(document.dump() + "\n");
}

Result<Manifest> parse_manifest(BytesView data) {
  auto parsed = parse_json(as_text(data));
  if (!parsed || !parsed->is_object())
    return Error{Code::kDataLoss, "the manifest is not a JSON object; it was truncated or overwritten"};
  if ((*parsed)["format"] != kFormat) return Error{Code::kDataLoss, "the object is not a headrace.manifest"};
  return read_document(*parsed, not_as_documented("manifest"), [&](const Json& document) -> Result<Manifest> {
    const auto version = document.get<std::uint64_t>("version");
    if (version == 0) throw JsonError("version is 0; the first is 1");
    if (version > kManifestVersion) {
      return Error{Code::kUnimplemented,
                   concat("the manifest has version ", version, "; this Headrace reads up to ",
                          kManifestVersion, ": install a newer one")};
    }
    if (!is_sealed_json(as_text(data))) {
      return Error{Code::kDataLoss,
                   "the manifest's checksum does not match: it was altered or damaged; restore it from a "
                   "copy, or write the folder again with --overwrite"};
    }
    Manifest manifest;
    manifest.kind = document.get<std::string>("kind");
    manifest.created_by = document.get<std::string>("created_by");
    manifest.plan = document.get<std::string>("plan");
    manifest.entry = document.get_or<std::uint64_t>("entry", 0);
    const Json& attributes = document.at("attributes");
    const bool is_plain = manifest.kind == "dataset" && attributes["compression"] == "none";
    manifest.parts = parts_from_json(document.at("parts"), is_plain);
    manifest.attributes_json = attributes.dump();
    return manifest;
  });
}

Json manifest_part_to_json(const ManifestPart& part) {
  Json out = {{"key", part.key},
              {"size_bytes", part.size_bytes},
              {"crc32c", hex32(part.crc32c)},
              {"role", part.role}};
  if (!part.split.empty()) out["split"] = part.split;
  if (part.records) out["records"] = *part.records;
  if (!part.index.empty()) out["index"] = part.index;
  for (const ShardBlock& block : part.blocks)
    out["blocks"].push_back(Json::array({block.record_count, block.stored_bytes, block.stream_bytes}));
  if (part.thousandths.records.empty()) return out;
  out["thousandths"].push_back(part.thousandths.first);
  for (const std::uint64_t count : part.thousandths.records) out["thousandths"].push_back(count);
  return out;
}

ManifestPart manifest_part_from_json(const Json& from) {
  PartSums sums;
  return part_from_json(from, sums);
}

Json encoders_to_json(const std::map<std::string, EncoderDescription>& encoders) {
  Json out = Json::object();
  for (const auto& [feature, encoder] : encoders) {
    out[feature] = {
        {"name", encoder.name}, {"weights_digest", encoder.weights_digest}, {"dimension", encoder.dimension}};
  }
  return out;
}

std::map<std::string, EncoderDescription> encoders_from_json(const Json& from) {
  std::map<std::string, EncoderDescription> out;
  for (const auto& [feature, encoder] : from.members()) {
    out[feature] = {encoder.get<std::string>("name"), encoder.get<std::string>("weights_digest"),
                    encoder.get<int>("dimension")};
  }
  return out;
}

// Datasets of the older layout name a single encoder for all their vectors.
std::map<std::string, EncoderDescription> only_encoder(const Json& encoder,
                                                       const std::map<std::string, FeatureSchema>& features) {
  std::map<std::string, EncoderDescription> out;
  const auto name = encoder.get<std::string>("name");
  const auto dimension = encoder.get<int>("dimension");
  if (name.empty()) return out;
  for (const auto& [feature, schema] : features) {
    if (schema.dtype == "float32" && schema.shape == std::vector<std::int64_t>{dimension})
      out[feature] = {name, encoder.get<std::string>("weights_digest"), dimension};
  }
  return out;
}

const std::string* id_feature(const DatasetAttributes& attributes) {
  const auto marked =
      std::ranges::find_if(attributes.features, [](const auto& of) { return of.second.is_id; });
  const auto found = marked != attributes.features.end() ? marked : attributes.features.find("id");
  return found == attributes.features.end() ? nullptr : &found->first;
}

std::string dataset_attributes_to_json(const DatasetAttributes& attributes) {
  Json out = {{"compression", attributes.compression},
              {"compression_level", attributes.compression_level},
              {"labels", attributes.labels},
              {"vocabularies", attributes.vocabularies},
              {"schema", attributes.schema},
              {"encoders", encoders_to_json(attributes.encoders)},
              {"counts", attributes.counts},
              {"reasons", attributes.reasons},
              {"seed", attributes.seed},
              {"features", Json::object()},
              {"splits", Json::object()},
              {"inputs", Json::array()}};
  for (const auto& [name, feature] : attributes.features) out["features"][name] = feature_to_json(feature);
  for (const auto& [name, split] : attributes.splits) out["splits"][name] = split_to_json(split);
  for (const InputDescription& input : attributes.inputs) {
    out["inputs"].push_back(
        {{"url", input.url}, {"size_bytes", input.size_bytes}, {"version", input.version}});
  }
  return out.dump();
}

Result<DatasetAttributes> parse_dataset_attributes(std::string_view text) {
  const auto read = [](const Json& from) -> Result<DatasetAttributes> {
    DatasetAttributes out;
    out.compression = from.get<std::string>("compression");
    out.compression_level = from.get<int>("compression_level");
    out.labels = from.get<std::vector<std::string>>("labels");
    out.vocabularies = from.get_or("vocabularies", out.vocabularies);
    out.schema = from.get_or("schema", "");
    for (const auto& [name, feature] : from.at("features").members())
      out.features[name] = feature_from_json(feature, name);
    for (const auto& [name, split] : from.at("splits").members()) {
      out.splits[name] = {split.at("records").as<std::uint64_t>(concat("records of ", name)),
                          split.get<Counts>("labels")};
    }
    out.encoders = from.contains("encoders") ? encoders_from_json(from.at("encoders"))
                                             : only_encoder(from.at("encoder"), out.features);
    out.counts = from.get<Counts>("counts");
    out.reasons = from.get<Counts>("reasons");
    for (const Json& input : from.at("inputs").values()) {
      out.inputs.push_back({input.get<std::string>("url"), input.get<std::uint64_t>("size_bytes"),
                            input.get<std::string>("version")});
    }
    out.seed = from.get<std::uint64_t>("seed");
    return out;
  };
  return read_json(text, not_as_documented("dataset's attributes"), read);
}

}  // namespace headrace
