#include "headrace/record/manifest.h"

#include <nlohmann/json.hpp>

#include "headrace/base/json_depth.h"
#include "headrace/base/text.h"
#include "headrace/record/sealed_json.h"
#include "headrace/record/tfrecord.h"

namespace headrace {
namespace {

using nlohmann::json;

constexpr std::string_view kFormat = "headrace.manifest";
constexpr int kVersion = 1;

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

// Of a part's blocks; false if they cannot be its.
bool blocks_agree(const ManifestPart& part) {
  std::uint64_t records = 0, stored_bytes = 0;
  for (const ShardBlock& block : part.blocks) {
    const std::uint64_t records_left = part.records.value_or(0) - records;
    const std::uint64_t bytes_left = part.size_bytes - stored_bytes;
    if (block.record_count == 0 || block.record_count > records_left || block.stored_bytes > bytes_left)
      return false;
    if (block.stream_bytes / kRecordFramingBytes < block.record_count ||
        block.stream_bytes > kNoRecordLimitBytes)
      return false;
    records += block.record_count;
    stored_bytes += block.stored_bytes;
  }
  return records == part.records.value_or(0);
}

// nlohmann reports a missing or mistyped field by an exception; `parse_guarded` turns that into an Error.
ManifestPart part_from_json(const json& from) {
  ManifestPart part;
  part.key = from.at("key").get<std::string>();
  part.size_bytes = from.at("size_bytes").get<std::uint64_t>();
  part.crc32c = static_cast<std::uint32_t>(std::stoul(from.at("crc32c").get<std::string>(), nullptr, 16));
  part.role = from.at("role").get<std::string>();
  part.split = from.value("split", "");
  if (from.contains("records")) part.records = from.at("records").get<std::uint64_t>();
  part.index = from.value("index", "");
  for (const json& block : from.value("blocks", json::array())) {
    part.blocks.push_back({block.at(0).get<std::uint64_t>(), block.at(1).get<std::uint64_t>(),
                           block.at(2).get<std::uint64_t>()});
  }
  if (!part.blocks.empty() && !blocks_agree(part))
    throw std::invalid_argument(concat("the blocks of ", part.key, " do not make up its records"));
  return part;
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

}  // namespace

std::string serialize_manifest(const Manifest& manifest) {
  json document = {
      {"format", kFormat},     {"version", kVersion},
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
    return Error{Code::kDataLoss, "the manifest is not a JSON object; it was cut or overwritten"};
  if (document.value("format", json()) != kFormat)
    return Error{Code::kDataLoss, "the object is no headrace.manifest"};
  return parse_guarded<Manifest>("manifest", [&]() -> Result<Manifest> {
    const int version = document.at("version").get<int>();
    if (version > kVersion) {
      return Error{Code::kUnimplemented,
                   concat("the manifest has version ", version, "; this Headrace reads up to ", kVersion,
                          ": install a newer one")};
    }
    if (!is_sealed_json(as_text(data))) {
      return Error{Code::kDataLoss,
                   "the manifest's checksum does not match: it was altered or damaged; restore it from a "
                   "copy, or make the folder anew with --overwrite"};
    }
    Manifest manifest;
    manifest.kind = document.at("kind").get<std::string>();
    manifest.created_by = document.at("created_by").get<std::string>();
    manifest.plan = document.at("plan").get<std::string>();
    for (const json& part : document.at("parts")) manifest.parts.push_back(part_from_json(part));
    manifest.attributes_json = document.at("attributes").dump();
    return manifest;
  });
}

std::string manifest_part_to_json(const ManifestPart& part) { return part_to_json(part).dump(); }

Result<ManifestPart> parse_manifest_part(std::string_view text) {
  HEADRACE_CHECK(check_json_depth(text));
  return parse_guarded<ManifestPart>(
      "part", [&]() -> Result<ManifestPart> { return part_from_json(json::parse(text)); });
}

std::string dataset_attributes_to_json(const DatasetAttributes& attributes) {
  json out = {{"compression", attributes.compression},
              {"compression_level", attributes.compression_level},
              {"labels", attributes.labels},
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
  return parse_guarded<DatasetAttributes>("data set's attributes", [&]() -> Result<DatasetAttributes> {
    const json from = json::parse(text);
    DatasetAttributes out;
    out.compression = from.at("compression").get<std::string>();
    out.compression_level = from.at("compression_level").get<int>();
    out.labels = from.at("labels").get<std::vector<std::string>>();
    const json& encoder = from.at("encoder");
    out.encoder = {encoder.at("name").get<std::string>(), encoder.at("weights_digest").get<std::string>(),
                   encoder.at("dimension").get<int>()};
    for (const auto& [name, feature] : from.at("features").items()) {
      out.features[name].dtype = feature.at("dtype").get<std::string>();
      if (feature.contains("shape"))
        out.features[name].shape = feature.at("shape").get<std::vector<std::int64_t>>();
    }
    for (const auto& [name, split] : from.at("splits").items()) {
      out.splits[name] = {split.at("records").get<std::uint64_t>(),
                          split.at("labels").get<std::map<std::string, std::uint64_t>>()};
    }
    out.counts = from.at("counts").get<std::map<std::string, std::uint64_t>>();
    out.reasons = from.at("reasons").get<std::map<std::string, std::uint64_t>>();
    for (const json& input : from.at("inputs")) {
      out.inputs.push_back({input.at("url").get<std::string>(), input.at("size_bytes").get<std::uint64_t>(),
                            input.at("version").get<std::string>()});
    }
    out.seed = from.at("seed").get<std::uint64_t>();
    return out;
  });
}

}  // namespace headrace
