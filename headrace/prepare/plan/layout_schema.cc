#include "headrace/prepare/plan/layout_schema.h"

namespace headrace {
namespace {

FeatureDefinition feature(std::string name, SchemaType type, std::string column) {
  return {.name = std::move(name), .type = type, .columns = {std::move(column)}};
}

Schema text_schema(const LayoutSchemaOptions& options) {
  Schema schema{.split = "split", .replaces_text = true};
  if (options.keeps_text) schema.features.push_back(feature("id", SchemaType::kString, "id"));
  FeatureDefinition label = feature("label", SchemaType::kLabel, "label");
  label.one_hot = true;
  schema.features.push_back(std::move(label));
  FeatureDefinition sentence = feature("sentence", SchemaType::kVector, "text");
  sentence.encoder = options.encoder;
  schema.features.push_back(std::move(sentence));
  if (options.keeps_text) schema.features.push_back(feature("text", SchemaType::kString, "text"));
  return schema;
}

}  // namespace

std::optional<Schema> layout_schema(InputFormat format, const LayoutSchemaOptions& options) {
  switch (format) {
    case InputFormat::kAclImdb: {
      Schema schema = text_schema(options);
      schema.features[options.keeps_text ? 1 : 0].vocabulary = {"pos", "neg"};
      return schema;
    }
    case InputFormat::kTextFolder:
      return text_schema(options);
    case InputFormat::kImageFolder: {
      FeatureDefinition image = feature("image", SchemaType::kImage, "image");
      image.image = options.image;
      Schema schema{.split = "split"};
      schema.features = {feature("id", SchemaType::kString, "id"), std::move(image),
                         feature("label", SchemaType::kLabel, "label")};
      return schema;
    }
    default:
      return std::nullopt;
  }
}

}  // namespace headrace
