#include "headrace/prepare/schema/described_features.h"

#include "headrace/engine/encoder.h"

namespace headrace {
namespace {

FeatureSchema describe_values(const char* type, const FeatureShape& shape) {
  FeatureSchema out{type, std::vector<std::int64_t>{}};
  if (shape.kind == FeatureShape::Kind::kRagged) out.shape.reset();
  if (shape.kind == FeatureShape::Kind::kFixed) out.shape->push_back(static_cast<std::int64_t>(shape.size));
  return out;
}

// Whether a feature holds an image that readers can decode. Raw pixels have no image format.
bool is_encoded_image(const FeatureDefinition& feature) {
  return feature.type == SchemaType::kImage && feature.image.output != ImageOutput::kRaw &&
         feature.image.output != ImageOutput::kRawBase64;
}

FeatureSchema describe_feature(const FeatureDefinition& feature, const Vocabularies& vocabularies,
                               const TextEncoders& encoders) {
  using Shape = std::vector<std::int64_t>;
  switch (feature.type) {
    case SchemaType::kLabel: {
      const auto values = static_cast<std::int64_t>(vocabularies.at(feature.name).size());
      return {"int64", feature.one_hot ? Shape{values} : Shape{}};
    }
    case SchemaType::kVector:
      return {"float32", Shape{encoders.at(feature.encoder)->dimension()}};
    case SchemaType::kInt64:
      return describe_values("int64", feature.shape);
    case SchemaType::kFloat32:
      return describe_values("float32", feature.shape);
    case SchemaType::kImageHeight:
    case SchemaType::kImageWidth:
    case SchemaType::kImageChannels:
      return {"int64", Shape{}};
    default:
      break;
  }
  FeatureSchema out = describe_values("bytes", feature.shape);
  out.is_image = is_encoded_image(feature);
  return out;
}

}  // namespace

void describe_features(const Schema& schema, const Vocabularies& vocabularies, const TextEncoders& encoders,
                       DatasetAttributes& out) {
  for (const FeatureDefinition& feature : schema.features) {
    FeatureSchema& described = out.features[feature.name];
    described = describe_feature(feature, vocabularies, encoders);
    if (feature.columns.size() > 1) described.columns = feature.columns;
    described.is_optional = feature.is_optional && !feature.default_text;
    described.is_id = schema.id && feature.columns.size() == 1 && feature.columns.front() == *schema.id;
    if (feature.type != SchemaType::kVector) continue;
    const TextEncoder& encoder = *encoders.at(feature.encoder);
    out.encoders[feature.name] = {encoder.name(), encoder.weights_digest(), encoder.dimension()};
  }
}

}  // namespace headrace
