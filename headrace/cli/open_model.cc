#include "headrace/cli/open_model.h"

#include <algorithm>

#include "headrace/base/text.h"
#include "headrace/cli/encoder_options.h"
#include "headrace/cli/model_options.h"
#include "headrace/evaluate/foreign_model.h"
#include "headrace/prepare/plan/planned_prepare.h"
#include "headrace/prepare/plan/schema_file.h"
#include "headrace/prepare/schema/described_features.h"
#include "headrace/store/staging.h"
#include "headrace/track/published_folder.h"

namespace headrace {
namespace {

constexpr std::string_view kForeignOptions[] = {"signature", "features", "labels", "like", "schema"};

// Not every command has every option.
bool is_given(const OptionValues& values, std::string_view option) {
  const auto found = std::ranges::find(values.table(), option, &Option::name);
  return found != values.table().end() && values.given(option);
}

std::string value_of(const OptionValues& values, std::string_view option) {
  return is_given(values, option) ? values.text(option) : "";
}

// Labels without a vocabulary are left out: their ids are not known.
Result<DatasetAttributes> attributes_of_schema(CommandContext& context, const OptionValues& values) {
  HEADRACE_TRY(Schema schema, schema_of_file(context.stores, values.text("schema"), context.stop));
  HEADRACE_CHECK(read_vocabularies(context.stores, schema, context.stop));
  std::erase_if(schema.features, [](const FeatureDefinition& feature) {
    return feature.type == SchemaType::kLabel && feature.vocabulary.empty();
  });
  DatasetAttributes out{.schema = schema_to_toml(schema)};
  for (const FeatureDefinition& feature : schema.features) {
    if (feature.type == SchemaType::kLabel) out.vocabularies[feature.name] = feature.vocabulary;
  }
  HEADRACE_TRY(const TextEncoders encoders,
               make_encoders(schema, encoder_sources(context, value_of(values, "encoder-weights"))));
  describe_features(schema, out.vocabularies, encoders, out);
  return out;
}

// None if nothing is published there.
Result<std::optional<DatasetAttributes>> attributes_at(const Location& data,
                                                       std::optional<std::uint64_t> version,
                                                       const CallOptions& call) {
  HEADRACE_TRY(const auto published, open_version(data, {.number = version, .call = call}));
  if (!published || published->manifest.kind != "dataset") return std::optional<DatasetAttributes>();
  auto attributes = parse_dataset_attributes(published->manifest.attributes_json);
  if (!attributes) return std::move(attributes).error().in(data.describe());
  return std::optional(*std::move(attributes));
}

// The attributes of the data that the model is used on; none if nobody has described them.
Result<std::optional<DatasetAttributes>> find_attributes(CommandContext& context,
                                                         const std::optional<Location>& data,
                                                         const OptionValues& values) {
  if (is_given(values, "schema") && is_given(values, "like"))
    return Error{Code::kInvalidArgument,
                 "--schema and --like both say how inputs are made; give one of them"};
  if (is_given(values, "schema")) {
    HEADRACE_TRY(DatasetAttributes attributes, attributes_of_schema(context, values));
    return std::optional(std::move(attributes));
  }
  if (!is_given(values, "like")) {
    if (!data) return std::optional<DatasetAttributes>();
    return attributes_at(*data, data_version(values), context.call());
  }
  HEADRACE_TRY(const Location like, context.stores.open(values.text("like")));
  HEADRACE_TRY(auto attributes, attributes_at(like, {}, context.call()));
  if (attributes) return attributes;
  return Error{Code::kInvalidArgument,
               concat("--like ", like.describe(), ": there is no dataset that headrace prepare published")};
}

void show_binding(Console& console, const ModelContract& contract) {
  for (const ModelInput& input : contract.binding.inputs)
    console.note(concat("the model takes ", describe(input.feature), " as ", input.name));
  for (const ModelTarget& target : contract.binding.targets)
    console.note(concat("the model's output ", target.output, " is compared with ", describe(target.label),
                        " (", target_kind_name(target.kind), ")"));
}

}  // namespace

Result<ExportedModel> open_model(CommandContext& context, const Location& run,
                                 const std::optional<Location>& data, const OptionValues& values,
                                 Engine& engine, bool needs_labels) {
  const std::string folder = temporary_folder(context.environment);
  HEADRACE_TRY(const bool is_foreign, is_foreign_model(run, context.call()));
  if (!is_foreign) {
    for (const std::string_view option : kForeignOptions) {
      if (is_given(values, option))
        return Error{Code::kInvalidArgument,
                     concat("--", option, " is for a SavedModel that Headrace did not write; the model in ",
                            run.describe(), " describes its own inputs. Leave the option out")};
    }
    return open_exported_model(run, engine, folder);
  }
  HEADRACE_TRY(const auto attributes, find_attributes(context, data, values));
  HEADRACE_TRY(ExportedModel model, open_foreign_model(run, attributes,
                                                       {.signature = values.text("signature"),
                                                        .features = value_of(values, "features"),
                                                        .labels = value_of(values, "labels"),
                                                        .needs_labels = needs_labels},
                                                       engine, folder));
  show_binding(context.console, model.contract);
  return model;
}

Status add_model_input(RunRecorder& recorder, const ExportedModel& model) {
  if (!model.is_foreign()) return recorder.add_input("model", model.folder);
  return recorder.add_input(
      {.url = recorded_url(model.folder), .kind = "folder", .digest = model.digest, .name = "model"});
}

}  // namespace headrace
