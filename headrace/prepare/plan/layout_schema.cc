#include "headrace/prepare/plan/layout_schema.h"

namespace headrace {
namespace {

FeatureDefinition feature(std::string name, SchemaType type, std::string column) {
  return {.name = std::move(name), .type = type, .columns = {std::move(column)}};
}

Schema text_schema(const LayoutSchemaOptions& options, bool has_labels) {
  Schema schema{.replaces_text = true};
  if (options.keeps_text) schema.features.push_back(feature("id", SchemaType::kString, "id"));
  if (has_labels) {
    schema.split = "split";
    schema.features.push_back(feature("label", SchemaType::kLabel, "label"));
    schema.features.back().one_hot = true;
  }
  FeatureDefinition sentence = feature("sentence", SchemaType::kVector, "text");
  sentence.encoder = options.encoder;
  schema.features.push_back(std::move(sentence));
  if (options.keeps_text) schema.features.push_back(feature("text", SchemaType::kString, "text"));
  return schema;
}

Schema image_schema(const LayoutSchemaOptions& options, bool has_labels) {
  Schema schema;
  schema.features = {feature("id", SchemaType::kString, "id"), feature("image", SchemaType::kImage, "image")};
  schema.features.back().image = options.image;
  if (!has_labels) return schema;
  schema.split = "split";
  schema.features.push_back(feature("label", SchemaType::kLabel, "label"));
  return schema;
}

}  // namespace

std::optional<Schema> layout_schema(InputFormat format, const LayoutSchemaOptions& options) {
  switch (format) {
    case InputFormat::kAclImdb: {
      Schema schema = text_schema(options, true);
      schema.features[options.keeps_text ? 1 : 0].vocabulary = {"pos", "neg"};
      return schema;
    }
    case InputFormat::kTextFolder:
    case InputFormat::kTextFiles:
      return text_schema(options, format == InputFormat::kTextFolder);
    case InputFormat::kImageFolder:
    case InputFormat::kImageFiles:
      return image_schema(options, format == InputFormat::kImageFolder);
    default:
      return std::nullopt;
  }
}

}  // namespace headrace
