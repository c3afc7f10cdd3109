#include "headrace/record/manifest.h"

#include <charconv>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "headrace/base/json_depth.h"
#include "headrace/base/key.h"
#include "headrace/base/text.h"
#include "headrace/record/sealed_json.h"
#include "headrace/record/tfrecord.h"

namespace headrace {
namespace {

using nlohmann::json;

constexpr std::string_view kFormat = "headrace.manifest";
constexpr std::uint64_t kManifestVersion = 1;

std::string canonical(const json& document) {
  return document.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

json part_to_json(const ManifestPart& part) {
  json out = {{"key", part.key},
              {"size_bytes", part.size_bytes},
              {"crc32c", hex32(part.crc32c)},
              {"role", part.role}};
  if (!part.split.empty()) out["split"] = part.split;
  if (part.records) out["records"] = *part.records;
  if (!part.index.empty()) out["index"] = part.index;
  for (const ShardBlock& block : part.blocks)
    out["blocks"].push_back({block.record_count, block.stored_bytes, block.stream_bytes});
  return out;
}

// nlohmann reports a missing or mistyped field by an exception; `parse_guarded` turns that, and what is
// thrown here, into an Error.

// It would take 1.9 for 1 and −5 for 2^64 − 5 without a word.
template <typename T>
T integer_from_json(const json& from, std::string_view name) {
  if (from.is_number_unsigned()) {
    if (const auto value = from.get<std::uint64_t>(); std::in_range<T>(value)) return static_cast<T>(value);
  } else if (from.is_number_integer()) {
    if (const auto value = from.get<std::int64_t>(); std::in_range<T>(value)) return static_cast<T>(value);
  }
  throw std::invalid_argument(concat(name, " is ",
                                     from.is_number() ? from.dump() : std::string(from.type_name()),
                                     ", which is no whole number in its range"));
}

std::map<std::string, std::uint64_t> counts_from_json(const json& from, std::string_view name) {
  std::map<std::string, std::uint64_t> counts;
  for (const auto& [key, count] : from.get<std::map<std::string, json>>())
    counts[key] = integer_from_json<std::uint64_t>(count, concat(name, " of ", key));
  return counts;
}

std::string key_from_json(const json& from) {
  auto key = from.get<std::string>();
  if (const Status grammar = check_key(key); !grammar) throw std::invalid_argument(grammar.error().message);
  return key;
}

std::uint32_t crc32c_from_json(const json& from) {
  const auto text = from.get<std::string>();
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (text.size() != 8 || error != std::errc{} || end != text.data() + text.size())
    throw std::invalid_argument("a crc32c is not 8 hexadecimal digits");
  return value;
}

// Over the parts so far. Far beyond any object; who adds up parts need not think of overflow.
constexpr std::uint64_t kSumLimit = std::uint64_t{1} << 62;
struct PartSums {
  std::uint64_t stored_bytes = 0;
  std::uint64_t stream_bytes = 0;
  std::uint64_t records = 0;
};

void add_up(std::uint64_t& sum, std::uint64_t amount, std::string_view what, const std::string& key) {
  if (amount >= kSumLimit - sum)
    throw std::invalid_argument(concat("with ", key, ", the ", what, " come to 2^62 or more"));
  sum += amount;
}

// False if they cannot be the shard's.
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

ManifestPart part_from_json(const json& from, PartSums& sums) {
  ManifestPart part;
  part.key = key_from_json(from.at("key"));
  const auto number = [&](const json& value, std::string_view name) {
    return integer_from_json<std::uint64_t>(value, concat(name, " of ", part.key));
  };
  part.size_bytes = number(from.at("size_bytes"), "size_bytes");
  part.crc32c = crc32c_from_json(from.at("crc32c"));
  part.role = from.at("role").get<std::string>();
  part.split = from.value("split", "");
  if (from.contains("records")) part.records = number(from.at("records"), "records");
  if (from.contains("index")) part.index = key_from_json(from.at("index"));
  add_up(sums.stored_bytes, part.size_bytes, "sizes", part.key);
  add_up(sums.records, part.records.value_or(0), "records", part.key);
  for (const json& block : from.value("blocks", json::array())) {
    part.blocks.push_back(
        {number(block.at(0), "a block"), number(block.at(1), "a block"), number(block.at(2), "a block")});
    add_up(sums.stream_bytes, part.blocks.back().stream_bytes, "uncompressed sizes", part.key);
  }
  if (!part.blocks.empty() && !blocks_agree(part)) {
    throw std::invalid_argument(
        concat("the blocks of ", part.key, " do not make up its records and its size"));
  }
  return part;
}

std::vector<ManifestPart> parts_from_json(const json& from, bool is_plain) {
  std::vector<ManifestPart> parts;
  PartSums sums;
  for (const json& part : from) {
    parts.push_back(part_from_json(part, sums));
    for (const ShardBlock& block : parts.back().blocks) {
      if (!is_plain || block.stored_bytes == block.stream_bytes) continue;
      throw std::invalid_argument(concat("the blocks of ", parts.back().key,
                                         " have another size as stored, but the dataset is not compressed"));
    }
  }
  return parts;
}

template <typename T, typename Parse>
Result<T> parse_guarded(std::string_view what, const Parse& parse) {
  try {
    return parse();
  } catch (const std::exception& exception) {
    return Error{Code::kDataLoss,
                 concat("the ", what, " is not as docs/formats/manifest.md says: ", exception.what())};
  }
}

json split_to_json(const SplitCounts& split) {
  return {{"records", split.records}, {"labels", split.labels}};
}

json feature_to_json(const FeatureSchema& feature) {
  json out = {{"dtype", feature.dtype}};
  if (feature.shape) out["shape"] = *feature.shape;
  return out;
}

FeatureSchema feature_from_json(const json& from, const std::string& name) {
  FeatureSchema feature{.dtype = from.at("dtype").get<std::string>()};
  if (!from.contains("shape")) return feature;
  feature.shape.emplace();
  for (const json& size : from.at("shape").get<std::vector<json>>())
    feature.shape->push_back(integer_from_json<std::int64_t>(size, concat("shape of ", name)));
  return feature;
}

}  // namespace

std::string serialize_manifest(const Manifest& manifest) {
  json document = {
      {"format", kFormat},     {"version", kManifestVersion},
      {"kind", manifest.kind}, {"created_by", manifest.created_by},
      {"plan", manifest.plan}, {"attributes", json::parse(manifest.attributes_json, nullptr, false)}};
  document["parts"] = json::array();
  for (const ManifestPart& part : manifest.parts) document["parts"].push_back(part_to_json(part));
  return seal_json(canonical(document));
}

Result<Manifest> parse_manifest(BytesView data) {
  HEADRACE_CHECK(check_json_depth(as_text(data)));
  const json document = json::parse(as_text(data), nullptr, false);
  if (!document.is_object())
    return Error{Code::kDataLoss, "the manifest is not a JSON object; it was truncated or overwritten"};
  if (document.value("format", json()) != kFormat)
    return Error{Code::kDataLoss, "the object is no headrace.manifest"};
  return parse_guarded<Manifest>("manifest", [&]() -> Result<Manifest> {
    const auto version = integer_from_json<std::uint64_t>(document.at("version"), "version");
    if (version == 0) throw std::invalid_argument("version is 0; the first is 1");
    if (version > kManifestVersion) {
      return Error{Code::kUnimplemented,
                   concat("the manifest has version ", version, "; this Headrace reads up to ",
                          kManifestVersion, ": install a newer one")};
    }
    if (!is_sealed_json(as_text(data))) {
      return Error{Code::kDataLoss,
                   "the manifest's checksum does not match: it was altered or damaged; restore it from a "
                   "copy, or make the folder again with --overwrite"};
    }
    Manifest manifest;
    manifest.kind = document.at("kind").get<std::string>();
    manifest.created_by = document.at("created_by").get<std::string>();
    manifest.plan = document.at("plan").get<std::string>();
    const json& attributes = document.at("attributes");
    const bool is_plain = manifest.kind == "dataset" && attributes.value("compression", json()) == "none";
    manifest.parts = parts_from_json(document.at("parts"), is_plain);
    manifest.attributes_json = attributes.dump();
    return manifest;
  });
}

std::string manifest_part_to_json(const ManifestPart& part) { return part_to_json(part).dump(); }

Result<ManifestPart> parse_manifest_part(std::string_view text) {
  HEADRACE_CHECK(check_json_depth(text));
  return parse_guarded<ManifestPart>("part", [&]() -> Result<ManifestPart> {
    PartSums sums;
    return part_from_json(json::parse(text), sums);
  });
}

std::string dataset_attributes_to_json(const DatasetAttributes& attributes) {
  json out = {{"compression", attributes.compression},
              {"compression_level", attributes.compression_level},
              {"labels", attributes.labels},
              {"vocabularies", attributes.vocabularies},
              {"schema", attributes.schema},
              {"encoder",
               {{"name", attributes.encoder.name},
                {"weights_digest", attributes.encoder.weights_digest},
                {"dimension", attributes.encoder.dimension}}},
              {"counts", attributes.counts},
              {"reasons", attributes.reasons},
              {"seed", attributes.seed},
              {"features", json::object()},
              {"splits", json::object()},
              {"inputs", json::array()}};
  for (const auto& [name, feature] : attributes.features) out["features"][name] = feature_to_json(feature);
  for (const auto& [name, split] : attributes.splits) out["splits"][name] = split_to_json(split);
  for (const InputDescription& input : attributes.inputs) {
    out["inputs"].push_back(
        {{"url", input.url}, {"size_bytes", input.size_bytes}, {"version", input.version}});
  }
  return out.dump(-1, ' ', false, json::error_handler_t::replace);
}

Result<DatasetAttributes> parse_dataset_attributes(std::string_view text) {
  return parse_guarded<DatasetAttributes>("dataset's attributes", [&]() -> Result<DatasetAttributes> {
    const json from = json::parse(text);
    DatasetAttributes out;
    out.compression = from.at("compression").get<std::string>();
    out.compression_level = integer_from_json<int>(from.at("compression_level"), "compression_level");
    out.labels = from.at("labels").get<std::vector<std::string>>();
    out.vocabularies = from.value("vocabularies", out.vocabularies);
    out.schema = from.value("schema", "");
    const json& encoder = from.at("encoder");
    out.encoder = {encoder.at("name").get<std::string>(), encoder.at("weights_digest").get<std::string>(),
                   integer_from_json<int>(encoder.at("dimension"), "dimension")};
    for (const auto& [name, feature] : from.at("features").items())
      out.features[name] = feature_from_json(feature, name);
    for (const auto& [name, split] : from.at("splits").items()) {
      out.splits[name] = {integer_from_json<std::uint64_t>(split.at("records"), concat("records of ", name)),
                          counts_from_json(split.at("labels"), "labels")};
    }
    out.counts = counts_from_json(from.at("counts"), "counts");
    out.reasons = counts_from_json(from.at("reasons"), "reasons");
    for (const json& input : from.at("inputs")) {
      out.inputs.push_back({input.at("url").get<std::string>(),
                            integer_from_json<std::uint64_t>(input.at("size_bytes"), "size_bytes"),
                            input.at("version").get<std::string>()});
    }
    out.seed = integer_from_json<std::uint64_t>(from.at("seed"), "seed");
    return out;
  });
}

}  // namespace headrace
