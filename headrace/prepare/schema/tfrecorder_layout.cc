#include "headrace/prepare/schema/tfrecorder_layout.h"

#include <algorithm>

#include "headrace/base/text.h"

namespace headrace {
namespace {

bool has_feature(const Schema& schema, std::string_view name) {
  return std::any_of(schema.features.begin(), schema.features.end(),
                     [&](const FeatureDefinition& feature) { return feature.name == name; });
}

void add_if_absent(Schema& schema, FeatureDefinition feature) {
  if (!has_feature(schema, feature.name)) schema.features.push_back(std::move(feature));
}

// Returns the only image feature, or null if there is none.
Result<FeatureDefinition*> find_image(Schema& schema) {
  FeatureDefinition* image = nullptr;
  for (FeatureDefinition& feature : schema.features) {
    if (feature.type != SchemaType::kImage) continue;
    if (image != nullptr) {
      return Error{Code::kInvalidArgument,
                   concat("--compat tfrecorder is for records with one image; the schema has ", image->name,
                          " and ", feature.name)};
    }
    image = &feature;
  }
  if (image != nullptr && image->name != "image" && has_feature(schema, "image")) {
    return Error{Code::kInvalidArgument,
                 concat("--compat tfrecorder stores ", image->name,
                        " as the feature image, but another feature has that name; rename that feature")};
  }
  return image;
}

// `image` is a copy of a feature of the schema, because adding features moves the schema's features.
void add_image_features(const FeatureDefinition& image, Schema& schema) {
  constexpr std::pair<const char*, SchemaType> kSizes[] = {{"image_height", SchemaType::kImageHeight},
                                                           {"image_width", SchemaType::kImageWidth},
                                                           {"image_channels", SchemaType::kImageChannels}};
  for (const auto& [name, type] : kSizes) {
    add_if_absent(schema, {.name = name,
                           .type = type,
                           .columns = image.columns,
                           .is_optional = image.is_optional,
                           .image_feature = image.name});
  }
  FeatureDefinition image_name{
      .name = "image_name", .type = SchemaType::kString, .columns = image.columns, .is_file_name = true};
  image_name.is_optional = image.is_optional;
  if (!image.is_uri) {
    std::erase_if(schema.features, [](const FeatureDefinition& feature) {
      return feature.name == "id" && feature.columns.front() == "id";
    });
    image_name.columns = {"id"};
  }
  add_if_absent(schema, std::move(image_name));
}

}  // namespace

Result<Schema> in_tfrecorder_layout(Schema schema) {
  HEADRACE_TRY(FeatureDefinition* const image, find_image(schema));
  const bool has_uris = image == nullptr || image->is_uri;
  if (image != nullptr) {
    image->name = "image";
    image->image.output = ImageOutput::kRawBase64;
    image->image.quality = ImageSteps{}.quality;
    add_image_features(FeatureDefinition(*image), schema);
  }
  if (schema.split) {
    FeatureDefinition split{.name = "split", .type = SchemaType::kString, .columns = {*schema.split}};
    if (!has_uris) split.default_text = "TRAIN";  // for images that lie in no split's folder
    add_if_absent(schema, std::move(split));
  }
  std::sort(schema.features.begin(), schema.features.end(),
            [](const FeatureDefinition& a, const FeatureDefinition& b) { return a.name < b.name; });
  return schema;
}

}  // namespace headrace
