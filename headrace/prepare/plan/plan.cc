#include "headrace/prepare/plan/plan.h"

#include <algorithm>

#include "headrace/base/digest.h"
#include "headrace/base/json.h"
#include "headrace/base/text.h"
#include "headrace/codec/deflate.h"
#include "headrace/codec/image/image_encoder.h"
#include "headrace/track/stage_output.h"

namespace headrace {
namespace {

constexpr std::string_view kStage = "prepare 6";
constexpr std::string_view kEncoderKey = "encoder ";
constexpr const char* kDelimiterKey = "delimiter";
constexpr std::string_view kDamagedSlices = "the plan's slices are damaged; start over with --overwrite";

std::string_view duplicates_name(Duplicates duplicates) {
  if (duplicates == Duplicates::kKeep) return "keep";
  return duplicates == Duplicates::kReport ? "report" : "drop";
}

bool encodes_images(const Schema& schema) {
  return std::any_of(schema.features.begin(), schema.features.end(), [](const FeatureDefinition& feature) {
    return feature.type == SchemaType::kImage && feature.image.output != ImageOutput::kAsIs;
  });
}

// Reads the values of a plan. Keeps the first value that is missing or wrong as an error.
class PlanReader {
 public:
  explicit PlanReader(const Configuration& configuration) : configuration_(configuration) {}

  std::string text(const char* key) {
    const auto found = configuration_.find(key);
    if (found != configuration_.end()) return found->second;
    if (error_.empty()) error_ = concat("it has no ", key);
    return {};
  }
  template <typename Number>
  Number number(const char* key) {
    const std::string value = text(key);
    const auto parsed = parse_number<Number>(value);
    if (!parsed && error_.empty()) error_ = concat("its ", key, " is \"", printable_line(value, 60), "\"");
    return parsed.value_or(Number{});
  }
  const std::string& error() const { return error_; }

 private:
  const Configuration& configuration_;
  std::string error_;
};

}  // namespace

std::string name_tag(std::string_view plan_digest, std::uint64_t generation) {
  const bool is_first = generation <= 1;
  const std::string digest = is_first ? "" : sha256_hex(as_bytes(concat(plan_digest, " ", generation)));
  return std::string((is_first ? plan_digest : digest).substr(0, 8));
}

Location work_folder(const Location& output, std::string_view tag) {
  return output.at(concat(kWorkFolder, tag));
}

Configuration plan_configuration(const PreparePlan& plan) {
  const bool is_plain = plan.compression == "none";
  Configuration out = {{"stage", std::string(kStage)},
                       {"input", plan.input.url},
                       {"input objects", concat(plan.input.objects)},
                       {"input size", concat(plan.input.size_bytes)},
                       {"input version", plan.input.version},
                       {"layout", std::string(input_name(plan.input))},
                       {"schema", schema_to_toml(plan.schema)},
                       {"shard-records", concat(plan.shard_records)},
                       {"shard-size", concat(plan.shard_bytes)},
                       {"slice-size", concat(plan.slice_bytes)},
                       {"compression", plan.compression},
                       {"compression-level", is_plain ? "" : concat(plan.compression_level)},
                       {"compressor", is_plain ? "" : deflate_fingerprint()},
                       {"image codec", encodes_images(plan.schema) ? image_encoder_fingerprint() : ""},
                       {"seed", concat(plan.seed)},
                       {"duplicates", std::string(duplicates_name(plan.duplicates))},
                       {"sample", concat(plan.sample)},
                       {"splits-as-they-are", concat(plan.splits_as_they_are)},
                       {"report", plan.reports_all ? "all" : "changed"},
                       {"max-cell", concat(plan.cell_limit_bytes)},
                       {"map", plan.map},
                       {"map-version", plan.map_version},
                       {kContinuesKey, plan.base ? concat(continuation_name(plan.continuation), " ",
                                                          plan.base->number, " ", plan.base->digest)
                                                 : ""}};
  if (plan.delimiter != 0) out[kDelimiterKey] = plan.delimiter;
  for (const auto& [name, digest] : plan.encoder_digests) out[concat(kEncoderKey, name)] = digest;
  return out;
}

namespace {

Error damaged_plan(std::string_view what) {
  return {Code::kDataLoss, concat("the plan is damaged: ", what, "; start over with --overwrite")};
}

// Reads everything but the base that the plan continues.
Result<PreparePlan> read_plan(const Configuration& configuration, InputKinds kinds) {
  PlanReader reader(configuration);
  PreparePlan plan;
  const Status named = set_input_name(plan.input, reader.text("layout"), kinds);
  if (!named) return damaged_plan(named.error().message);
  plan.input.url = reader.text("input");
  plan.input.objects = reader.number<std::uint64_t>("input objects");
  plan.input.size_bytes = reader.number<std::uint64_t>("input size");
  plan.input.version = reader.text("input version");
  auto schema = parse_schema(reader.text("schema"), "the plan's schema");
  if (!schema) return damaged_plan(schema.error().message);
  plan.schema = *std::move(schema);
  plan.seed = reader.number<std::uint64_t>("seed");
  plan.shard_records = reader.number<std::uint64_t>("shard-records");
  plan.shard_bytes = reader.number<std::uint64_t>("shard-size");
  plan.slice_bytes = reader.number<std::uint64_t>("slice-size");
  plan.compression = reader.text("compression");
  if (plan.compression != "none") plan.compression_level = reader.number<int>("compression-level");
  for (const Duplicates choice : {Duplicates::kReport, Duplicates::kDrop}) {
    if (reader.text("duplicates") == duplicates_name(choice)) plan.duplicates = choice;
  }
  plan.sample = reader.number<double>("sample");
  plan.splits_as_they_are = reader.text("splits-as-they-are") == "true";
  plan.reports_all = reader.text("report") == "all";
  plan.cell_limit_bytes = reader.number<std::uint64_t>("max-cell");
  const auto delimiter = configuration.find(kDelimiterKey);
  if (delimiter != configuration.end() && delimiter->second.size() != 1)
    return damaged_plan("its delimiter is not one character");
  if (delimiter != configuration.end()) plan.input.delimiter = plan.delimiter = delimiter->second.front();
  plan.map = reader.text("map");
  plan.map_version = reader.text("map-version");
  for (const auto& [key, value] : configuration) {
    if (key.starts_with(kEncoderKey)) plan.encoder_digests[key.substr(kEncoderKey.size())] = value;
  }
  if (!reader.error().empty()) return damaged_plan(reader.error());
  return plan;
}

// Reads the base, which the plan writes as "append 1 <digest of the manifest>".
Status read_base_of_plan(const Configuration& configuration, PreparePlan& plan, const Location& output) {
  const std::string text = PlanReader(configuration).text(kContinuesKey);
  if (text.empty()) return {};
  const std::vector<std::string> words = split(text, ' ');
  const auto number = words.size() == 3 ? parse_number<std::uint64_t>(words[1]) : std::nullopt;
  for (const Continuation choice : {Continuation::kAppend, Continuation::kRetryFailed}) {
    if (number && words[0] == continuation_name(choice)) plan.continuation = choice;
  }
  if (plan.continuation == Continuation::kNone)
    return damaged_plan(concat("it continues \"", printable_line(text, 80), "\""));
  HEADRACE_TRY(plan.base, read_base(output, plan.continuation, number));
  return {};
}

}  // namespace

Result<PreparePlan> parse_plan(const Configuration& configuration, std::vector<Slice> slices,
                               const Location& output, InputKinds kinds) {
  HEADRACE_TRY(PreparePlan plan, read_plan(configuration, kinds));
  plan.input.slices = std::move(slices);
  HEADRACE_CHECK(read_base_of_plan(configuration, plan, output));
  // If this program would write the plan differently, its shards would differ too.
  if (plan_configuration(plan) == configuration) return plan;
  return Error{Code::kFailedPrecondition,
               "the plan was made by another version of Headrace, or of its libraries (zlib, libdeflate, "
               "libjpeg): all processes that execute a plan must use the same versions"};
}

Result<PreparePlan> continue_plan(const Location& output, Continuation continuation, InputKinds kinds) {
  HEADRACE_TRY(std::shared_ptr<const BaseDataset> base, read_base(output, continuation));
  HEADRACE_TRY(const std::optional<Configuration> configuration,
               configuration_of(output, base->manifest, kPlanKey));
  if (!configuration) {
    return Error{Code::kFailedPrecondition,
                 concat(output.describe(), " was not made by headrace prepare: its plan is not there")};
  }
  HEADRACE_TRY(PreparePlan plan, read_plan(*configuration, kinds));
  plan.input = {};
  plan.continuation = continuation;
  plan.base = std::move(base);
  return plan;
}

std::string slices_to_json(const Input& input) {
  Json out = Json::array();
  for (const Slice& slice : input.slices) {
    Json document = {{"after", slice.after},           {"last", slice.last},     {"objects", slice.objects},
                     {"size_bytes", slice.size_bytes}, {"digest", slice.digest}, {"files", Json::array()}};
    if (!slice.name.empty()) {
      document["name"] = slice.name;
      document["place"] = base64(as_bytes(slice.place));
    }
    for (const InputFile& file : slice.files)
      document["files"].push_back(
          {{"url", file.url}, {"size_bytes", file.size_bytes}, {"version", file.version}});
    out.push_back(std::move(document));
  }
  return out.dump() + "\n";
}

Result<std::vector<Slice>> parse_slices(std::string_view text) {
  const auto read = [](const Json& list) -> Result<std::vector<Slice>> {
    std::vector<Slice> slices;
    for (const Json& document : list.values()) {
      Slice& slice = slices.emplace_back();
      document.get_to("after", slice.after);
      document.get_to("last", slice.last);
      document.get_to("objects", slice.objects);
      document.get_to("size_bytes", slice.size_bytes);
      document.get_to("digest", slice.digest);
      slice.name = document.get_or("name", "");
      const std::string place = document.get_or("place", "");
      const auto bytes = place.empty() ? Bytes() : parse_base64(place);
      if (!bytes) return Error{Code::kDataLoss, concat(kDamagedSlices, ": a place is not base64")};
      slice.place = to_string(*bytes);
      for (const Json& file : document.at("files").values()) {
        slice.files.push_back({file.get<std::string>("url"), file.get<std::uint64_t>("size_bytes"),
                               file.get<std::string>("version")});
      }
    }
    return slices;
  };
  return read_json(text, kDamagedSlices, read);
}

}  // namespace headrace
