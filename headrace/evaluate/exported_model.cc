#include "headrace/evaluate/exported_model.h"

#include "headrace/base/json.h"
#include "headrace/base/text.h"
#include "headrace/record/example_decoder.h"
#include "headrace/track/published_folder.h"
#include "headrace/track/stage_output.h"

namespace headrace {
namespace {

constexpr std::string_view kModelKind = "saved_model";

Column features_column(const ExportAttributes& attributes) {
  return {.name = attributes.features,
          .type = DataType::kFloat32,
          .length = static_cast<std::uint32_t>(attributes.features_width)};
}

std::string describe_schema(const FeatureSchema& schema) {
  if (!schema.shape) return schema.dtype + "[any]";
  std::vector<std::string> sizes;
  for (const std::int64_t size : *schema.shape) sizes.push_back(concat(size));
  return concat(schema.dtype, "[", join(sizes, ", "), "]");
}

std::string describe_encoder(const std::string& name, const std::string& weights_digest) {
  return concat(name.empty() ? "no encoder" : name, " (weights ",
                weights_digest.empty() ? "none" : weights_digest.substr(0, 16), ")");
}

// The export's manifest, wherever `run` leads to it.
Result<PublishedFolder> find_export(const Location& run) {
  HEADRACE_TRY(std::optional<PublishedFolder> published, read_published(run.at("export"), kModelKind));
  if (published) return *std::move(published);
  HEADRACE_TRY(published, read_published(run));
  if (published && published->manifest.kind == kModelKind) return *std::move(published);
  if (published) {
    return Error{Code::kInvalidArgument, concat(run.describe(), " is a ", published->manifest.kind,
                                                " folder, not a run of training")};
  }
  HEADRACE_TRY(const bool was_begun, is_begun(run));
  if (!was_begun)
    return Error{Code::kNotFound,
                 concat("there is no run in ", run.describe(), ": headrace train makes one")};
  return Error{Code::kFailedPrecondition,
               concat("the run in ", run.describe(),
                      " has exported no model yet: its training has not "
                      "finished. The headrace train command that began it continues it")};
}

// Throws JsonError where a member is missing or of another type.
ExportAttributes attributes_from(const Json& from) {
  const Json& encoder = from.at("encoder");
  const auto feature = from.at("features").members().begin();
  return {.labels = from.get<std::vector<std::string>>("labels"),
          .encoder = {.name = encoder.get<std::string>("name"),
                      .weights_digest = encoder.get<std::string>("weights_digest"),
                      .dimension = encoder.get<int>("dimension")},
          .features = feature->first,
          .features_width = feature->second.at("shape").at(0).as<std::uint64_t>("a width"),
          .label_feature = from.get<std::string>("label_feature"),
          .metrics = from.get<std::vector<std::string>>("metrics")};
}

}  // namespace

Result<ExportAttributes> parse_export_attributes(std::string_view text) {
  return read_json(text, "attributes", [](const Json& from) -> Result<ExportAttributes> {
    if (from.at("features").members().size() != 1) return Error{Code::kDataLoss, "features: one is wanted"};
    ExportAttributes out = attributes_from(from);
    if (out.labels.size() >= 2 && !out.metrics.empty() && out.features_width > 0) return out;
    return Error{Code::kDataLoss, "labels, metrics or the features' shape is empty"};
  });
}

Result<ExportedModel> open_exported_model(const Location& run, Engine& engine,
                                          const std::string& temporary_folder) {
  HEADRACE_TRY(const PublishedFolder published, find_export(run));
  auto attributes = parse_export_attributes(published.manifest.attributes_json);
  if (!attributes) {
    return std::move(attributes)
        .error()
        .in(concat("the manifest of ", published.folder.describe(),
                   " is not as docs/formats/manifest.md says"));
  }
  HEADRACE_TRY(StagedFolder files, StagedFolder::create(temporary_folder));
  HEADRACE_CHECK(
      download_published(published, folder_of_part(published.manifest, "saved_model.pb"), files.path()));
  auto model = engine.load(files.path(), {});
  if (!model) return std::move(model).error().in(concat("loading ", published.folder.describe()));
  return ExportedModel{published.folder, published.digest, *std::move(attributes), std::move(files),
                       *std::move(model)};
}

Status check_encoder(const ExportAttributes& attributes, const TextEncoder& encoder) {
  const EncoderDescription& wanted = attributes.encoder;
  if (encoder.name() == wanted.name && encoder.weights_digest() == wanted.weights_digest &&
      static_cast<std::uint64_t>(encoder.dimension()) == attributes.features_width)
    return {};
  return Error{
      Code::kFailedPrecondition,
      concat("the model was trained on vectors of ", describe_encoder(wanted.name, wanted.weights_digest),
             ", but the encoder here is ", describe_encoder(encoder.name(), encoder.weights_digest()),
             "; give the folder with the right weights by --encoder-weights")};
}

Status check_dataset(const ExportedModel& model, const Dataset& dataset) {
  if (!dataset.attributes()) return {};
  const DatasetAttributes& data = *dataset.attributes();
  const ExportAttributes& wanted = model.attributes;
  const auto found = data.features.find(wanted.features);
  const std::vector<std::int64_t> shape = {static_cast<std::int64_t>(wanted.features_width)};
  if (found == data.features.end() || found->second.dtype != "float32" || found->second.shape != shape) {
    return Error{
        Code::kInvalidArgument,
        concat("the model in ", model.folder.describe(), " takes ", wanted.features, " as ",
               describe_column(features_column(wanted)), ", but ", dataset.location().describe(),
               found == data.features.end() ? std::string(" has no such feature")
                                            : concat(" has it as ", describe_schema(found->second)))};
  }
  if (data.encoder.name != wanted.encoder.name ||
      data.encoder.weights_digest != wanted.encoder.weights_digest) {
    return Error{Code::kFailedPrecondition,
                 concat("the model in ", model.folder.describe(), " was trained on vectors of ",
                        describe_encoder(wanted.encoder.name, wanted.encoder.weights_digest), ", but ",
                        dataset.location().describe(), " was prepared with ",
                        describe_encoder(data.encoder.name, data.encoder.weights_digest))};
  }
  if (data.labels == wanted.labels) return {};
  return Error{
      Code::kInvalidArgument,
      concat("the model in ", model.folder.describe(), " has the classes ", join(wanted.labels, ", "),
             ", but the classes of ", dataset.location().describe(), " are ", join(data.labels, ", "))};
}

}  // namespace headrace
