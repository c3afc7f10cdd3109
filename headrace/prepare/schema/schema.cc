#include "headrace/prepare/schema/schema.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "headrace/base/text.h"
#include "headrace/base/toml.h"
#include "headrace/prepare/schema/split_name.h"

namespace headrace {
namespace {

constexpr std::int64_t kMostNumbers = 100'000'000;  // or texts, in a fixed shape
constexpr std::int64_t kLongestSide = 65'500;       // of an image; the limit of JPEG
constexpr std::size_t kMostSchemaBytes = 64 << 20;
constexpr double kSplitTolerance = 1e-9;

constexpr TomlWords<SchemaType, 10> kTypes = {{{"image", SchemaType::kImage},
                                               {"bytes", SchemaType::kBytes},
                                               {"string", SchemaType::kString},
                                               {"int64", SchemaType::kInt64},
                                               {"float32", SchemaType::kFloat32},
                                               {"label", SchemaType::kLabel},
                                               {"vector", SchemaType::kVector},
                                               {"image-height", SchemaType::kImageHeight},
                                               {"image-width", SchemaType::kImageWidth},
                                               {"image-channels", SchemaType::kImageChannels}}};
constexpr TomlWords<ResizeMethod, 2> kMethods = {
    {{"bilinear", ResizeMethod::kBilinear}, {"area", ResizeMethod::kArea}}};
constexpr TomlWords<ImageOutput, 4> kOutputs = {{{"jpeg", ImageOutput::kJpeg},
                                                 {"png", ImageOutput::kPng},
                                                 {"raw", ImageOutput::kRaw},
                                                 {"raw-base64", ImageOutput::kRawBase64}}};
constexpr std::array<std::string_view, 3> kEncodings = {"utf-8", "latin-1", "windows-1252"};

template <typename Value, std::size_t kCount>
std::string_view name_of(const TomlWords<Value, kCount>& names, Value value) {
  return std::find_if(names.begin(), names.end(), [&](const auto& pair) { return pair.second == value; })
      ->first;
}

Status read_image_steps(TomlKeys& keys, ImageSteps& steps) {
  const auto read_size = [&](std::string_view key, std::optional<ImageSize>& size) -> Status {
    std::optional<std::array<std::int64_t, 2>> sides;
    HEADRACE_CHECK(keys.integers(key, "[height, width]", 1, kLongestSide, sides));
    if (sides) {
      size = ImageSize{.width = static_cast<std::uint32_t>((*sides)[1]),
                       .height = static_cast<std::uint32_t>((*sides)[0])};
    }
    return {};
  };
  HEADRACE_CHECK(read_size("resize", steps.resize));
  HEADRACE_CHECK(read_size("crop", steps.crop));
  HEADRACE_CHECK(keys.word("method", kMethods, steps.method));
  HEADRACE_CHECK(keys.integer("channels", 1, 4, steps.channels));
  std::optional<std::array<std::int64_t, 3>> background;
  HEADRACE_CHECK(keys.integers("background", "[red, green, blue]", 0, 255, background));
  if (background) {
    steps.background.emplace();
    std::transform(background->begin(), background->end(), steps.background->begin(),
                   [](std::int64_t value) { return static_cast<std::uint8_t>(value); });
  }
  HEADRACE_CHECK(keys.word("encode", kOutputs, steps.output));
  HEADRACE_CHECK(keys.integer("quality", 1, 100, steps.quality));
  HEADRACE_CHECK(keys.flag("verify", steps.verify));
  HEADRACE_CHECK(keys.integer("max_pixels", 1, std::int64_t{1} << 40, steps.max_pixels));
  for (const char* const key : {"resize", "crop", "channels", "background"}) {
    const TomlNode* const node = keys.find(key);
    if (node != nullptr && steps.output == ImageOutput::kAsIs)
      return keys.error(
          *node, key, "needs encode = \"jpeg\", \"png\", \"raw\" or \"raw-base64\", since the pixels change");
  }
  if (const TomlNode* const quality = keys.find("quality"); quality && steps.output != ImageOutput::kJpeg)
    return keys.error(*quality, "quality", "is for JPEG only: it needs encode = \"jpeg\"");
  return {};
}

Status read_shape(TomlKeys& keys, FeatureShape& shape) {
  const TomlNode* const node = keys.find("shape");
  if (node == nullptr) return {};
  const auto* const array = node->get<TomlArray>();
  if (const auto* const word = node->get<std::string>(); word != nullptr && *word == "ragged") {
    shape.kind = FeatureShape::Kind::kRagged;
    return {};
  }
  if (array != nullptr && array->empty()) return {};
  const auto* const size =
      array != nullptr && array->size() == 1 ? array->front().get<std::int64_t>() : nullptr;
  if (size == nullptr || *size < 1 || *size > kMostNumbers)
    return keys.error(*node, "shape",
                      concat("must be [], [n] with n from 1 to ", kMostNumbers, ", or \"ragged\""));
  shape = {FeatureShape::Kind::kFixed, static_cast<std::uint64_t>(*size)};
  return {};
}

Status read_columns(TomlKeys& keys, FeatureDefinition& feature) {
  std::string column = feature.name;
  HEADRACE_CHECK(keys.text("column", column));
  const bool takes_several = feature.type == SchemaType::kInt64 || feature.type == SchemaType::kFloat32;
  if (takes_several) HEADRACE_CHECK(keys.texts("columns", feature.columns));
  if (feature.columns.empty()) {
    feature.columns = {column};
    return {};
  }
  const TomlNode& node = *keys.find("columns");
  if (keys.find("column") != nullptr) return keys.error(node, "columns", "and column exclude each other");
  const bool fits = feature.shape == FeatureShape{} ||
                    feature.shape == FeatureShape{FeatureShape::Kind::kFixed, feature.columns.size()};
  if (!fits)
    return keys.error(
        node, "columns",
        concat("has ", feature.columns.size(), " names, so shape must be [", feature.columns.size(), "]"));
  feature.shape = {FeatureShape::Kind::kFixed, feature.columns.size()};
  return {};
}

Status read_label(TomlKeys& keys, FeatureDefinition& feature) {
  const TomlNode* const node = keys.find("vocabulary");
  if (node != nullptr && node->get<std::string>() != nullptr) {
    HEADRACE_CHECK(keys.text("vocabulary", feature.vocabulary_url));
  } else {
    HEADRACE_CHECK(keys.texts("vocabulary", feature.vocabulary));
  }
  return keys.flag("one_hot", feature.one_hot);
}

Result<FeatureDefinition> read_feature(std::string_view name, const TomlNode& node,
                                       std::string_view source_name) {
  const std::string where = concat("[features.", name, "]");
  const auto* const table = node.get<TomlTable>();
  if (table == nullptr) {
    return Error{Code::kInvalidArgument,
                 concat(source_name, ", line ", node.line, ": ", where, " must be a table with a type")};
  }
  TomlKeys keys(*table, where, source_name);
  FeatureDefinition feature{.name = std::string(name)};
  if (table->find("type") == nullptr) {
    for (const auto& [key, value] : table->entries) {
      if (nearest_name(key, {"type"})) return keys.error(value, key, "is not a key; did you mean type?");
    }
    return keys.error(node, "type",
                      "is missing; write type = \"image\", \"bytes\", \"string\", \"int64\", \"float32\", "
                      "\"label\" or \"vector\"");
  }
  HEADRACE_CHECK(keys.word("type", kTypes, feature.type));
  if (is_of_image(feature.type)) {
    HEADRACE_CHECK(keys.text("image", feature.image_feature));
    if (feature.image_feature.empty())
      return keys.error(node, "image", "is missing: name the feature of the image");
    HEADRACE_CHECK(keys.finish());
    return feature;
  }
  const SchemaType type = feature.type;
  const bool is_number = type == SchemaType::kInt64 || type == SchemaType::kFloat32;
  const bool is_text = type == SchemaType::kBytes || type == SchemaType::kString;
  if (is_number || is_text) HEADRACE_CHECK(read_shape(keys, feature.shape));
  HEADRACE_CHECK(read_columns(keys, feature));
  HEADRACE_CHECK(keys.flag("optional", feature.is_optional));
  HEADRACE_CHECK(keys.text("default", feature.default_text));
  if (type == SchemaType::kImage || is_text) HEADRACE_CHECK(keys.flag("uri", feature.is_uri));
  if (type == SchemaType::kString) HEADRACE_CHECK(keys.flag("file_name", feature.is_file_name));
  const bool has_several = feature.shape.kind == FeatureShape::Kind::kFixed && feature.shape.size > 1;
  if (is_text && has_several && feature.default_text)
    return keys.error(node, "default", "is one text, but shape asks for several; leave one of them out");
  if (feature.is_uri && feature.shape != FeatureShape{})
    return keys.error(node, "uri", "and shape exclude each other: a URI is one value");
  if (type == SchemaType::kImage) HEADRACE_CHECK(read_image_steps(keys, feature.image));
  if (type == SchemaType::kLabel) HEADRACE_CHECK(read_label(keys, feature));
  if (type == SchemaType::kVector) {
    HEADRACE_CHECK(keys.text("encoder", feature.encoder));
    if (feature.encoder.empty())
      return keys.error(node, "encoder", "is missing; write, for example, \"hash:512\"");
  }
  HEADRACE_CHECK(keys.finish());
  return feature;
}

Status read_cell_rules(TomlKeys& keys, CellRules& cells) {
  HEADRACE_CHECK(keys.text("encoding", cells.encoding));
  if (std::find(kEncodings.begin(), kEncodings.end(), cells.encoding) == kEncodings.end()) {
    return keys.error(*keys.find("encoding"), "encoding",
                      concat("is \"", cells.encoding, "\"",
                             TomlKeys::or_nearest(cells.encoding, {kEncodings.begin(), kEncodings.end()})));
  }
  HEADRACE_CHECK(keys.texts("missing", cells.missing));
  constexpr TomlWords<char, 2> kDecimals = {{{".", '.'}, {",", ','}}};
  return keys.word("decimal", kDecimals, cells.decimal);
}

Status read_splits(const TomlNode& node, std::string_view source_name, Schema& schema) {
  const auto wrong = [&](std::string_view what) {
    return Error{Code::kInvalidArgument, concat(source_name, ", line ", node.line, ": [splits] ", what)};
  };
  const auto* const table = node.get<TomlTable>();
  if (table == nullptr || table->entries.empty())
    return wrong("must name splits and their shares, such as train = 0.8");
  if (schema.split)
    return wrong("and split exclude each other: splits come either from a column or from a hash");
  double sum = 0;
  for (const auto& [name, value] : table->entries) {
    const auto share = value.number();
    if (!is_usable_split_name(name))
      return wrong(
          "has a name that cannot be part of an object's name: use letters, digits, \"_\", \"-\" and \".\"");
    if (to_lower(name) == "discard")
      return wrong("cannot have a split called discard: that name leaves rows out");
    if (!share || !(*share > 0) || *share > 1)
      return wrong(concat("needs shares above 0 and up to 1: ", name));
    schema.splits.emplace_back(name, *share);
    sum += *share;
  }
  if (std::abs(sum - 1) > kSplitTolerance) return wrong(concat("sum to ", sum, "; they must sum to 1"));
  return {};
}

// Copies the columns of each image's feature to the features that describe the image.
Status join_images(std::string_view source_name, std::vector<FeatureDefinition>& features) {
  for (FeatureDefinition& feature : features) {
    if (!is_of_image(feature.type)) continue;
    const auto image = std::find_if(features.begin(), features.end(), [&](const FeatureDefinition& other) {
      return other.type == SchemaType::kImage && other.name == feature.image_feature;
    });
    if (image == features.end()) {
      return Error{Code::kInvalidArgument,
                   concat(source_name, ": [features.", feature.name, "]: image is \"", feature.image_feature,
                          "\", which is not a feature of type image")};
    }
    feature.columns = image->columns;
    feature.is_optional = image->is_optional;
  }
  return {};
}

// Writes a key without quotes where TOML allows that.
std::string key_text(std::string_view name) {
  const bool is_bare = !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
  return is_bare ? std::string(name) : quoted_toml(name);
}

bool is_json(std::string_view text) {
  const std::size_t begin = text.find_first_not_of("\xef\xbb\xbf \t\r\n");
  return begin != text.npos && text[begin] == '{';
}

std::string image_steps_to_toml(const ImageSteps& steps) {
  std::string out;
  const auto size = [&](std::string_view key, const std::optional<ImageSize>& sides) {
    if (sides) out += concat(key, " = [", sides->height, ", ", sides->width, "]\n");
  };
  size("resize", steps.resize);
  if (steps.method != ResizeMethod::kBilinear)
    out += concat("method = ", quoted_toml(name_of(kMethods, steps.method)), "\n");
  size("crop", steps.crop);
  if (steps.channels != 0) out += concat("channels = ", steps.channels, "\n");
  if (steps.background) {
    const RgbColor& color = *steps.background;
    out += concat("background = [", int{color[0]}, ", ", int{color[1]}, ", ", int{color[2]}, "]\n");
  }
  if (steps.output != ImageOutput::kAsIs)
    out += concat("encode = ", quoted_toml(name_of(kOutputs, steps.output)), "\n");
  const ImageSteps usual;
  if (steps.quality != usual.quality) out += concat("quality = ", steps.quality, "\n");
  if (steps.verify) out += "verify = true\n";
  if (steps.max_pixels != usual.max_pixels) out += concat("max_pixels = ", steps.max_pixels, "\n");
  return out;
}

std::string feature_to_toml(const FeatureDefinition& feature) {
  std::string out = concat("\n[features.", key_text(feature.name),
                           "]\ntype = ", quoted_toml(schema_type_name(feature.type)), "\n");
  if (is_of_image(feature.type)) return out + concat("image = ", quoted_toml(feature.image_feature), "\n");
  if (feature.columns.size() > 1) {
    out += concat("columns = ", quoted_toml(feature.columns), "\n");
  } else if (feature.columns.front() != feature.name) {
    out += concat("column = ", quoted_toml(feature.columns.front()), "\n");
  }
  if (feature.shape.kind == FeatureShape::Kind::kFixed) out += concat("shape = [", feature.shape.size, "]\n");
  if (feature.shape.kind == FeatureShape::Kind::kRagged) out += "shape = \"ragged\"\n";
  if (feature.is_uri) out += "uri = true\n";
  if (feature.is_file_name) out += "file_name = true\n";
  if (feature.is_optional) out += "optional = true\n";
  if (feature.default_text) out += concat("default = ", quoted_toml(*feature.default_text), "\n");
  if (!feature.vocabulary.empty()) out += concat("vocabulary = ", quoted_toml(feature.vocabulary), "\n");
  if (!feature.vocabulary_url.empty())
    out += concat("vocabulary = ", quoted_toml(feature.vocabulary_url), "\n");
  if (feature.one_hot) out += "one_hot = true\n";
  if (!feature.encoder.empty()) out += concat("encoder = ", quoted_toml(feature.encoder), "\n");
  return out + image_steps_to_toml(feature.image);
}

}  // namespace

std::string_view schema_type_name(SchemaType type) { return name_of(kTypes, type); }

bool is_of_image(SchemaType type) {
  return type == SchemaType::kImageHeight || type == SchemaType::kImageWidth ||
         type == SchemaType::kImageChannels;
}

Result<Schema> parse_schema(std::string_view toml, std::string_view source_name) {
  if (toml.size() > kMostSchemaBytes)
    return Error{Code::kInvalidArgument,
                 concat(source_name, ": larger than ", format_size(kMostSchemaBytes))};
  const Result<TomlTable> table = parse_toml(toml, source_name);
  if (!table && is_json(toml)) {
    return Error{
        Code::kInvalidArgument,
        concat(source_name,
               " begins with {, as JSON does: a schema is TOML, in which a feature is two lines such as "
               "[features.age] and type = \"float32\"; headrace prepare without --schema prints the "
               "schema that it infers, which you can start from")};
  }
  if (!table) return table.error();
  TomlKeys keys(*table, "", source_name);
  Schema schema;
  HEADRACE_CHECK(keys.text("id", schema.id));
  HEADRACE_CHECK(keys.text("split", schema.split));
  HEADRACE_CHECK(keys.text("group", schema.group));
  HEADRACE_CHECK(read_cell_rules(keys, schema.cells));
  constexpr TomlWords<bool, 2> kEncodingErrors = {{{"reject", false}, {"replace", true}}};
  HEADRACE_CHECK(keys.word("encoding_errors", kEncodingErrors, schema.replaces_text));
  if (const TomlNode* const node = keys.find("splits"))
    HEADRACE_CHECK(read_splits(*node, source_name, schema));
  if (schema.group && schema.splits.empty())
    return keys.error(*keys.find("group"), "group",
                      "needs [splits]: it says which rows must be in the same split");
  const TomlNode* const features = keys.find("features");
  HEADRACE_CHECK(keys.finish());
  if (features == nullptr || features->get<TomlTable>() == nullptr ||
      features->get<TomlTable>()->entries.empty()) {
    return Error{
        Code::kInvalidArgument,
        concat(source_name, ": no features; give each a table such as [features.image] with its type")};
  }
  for (const auto& [name, node] : features->get<TomlTable>()->entries) {
    HEADRACE_TRY(FeatureDefinition feature, read_feature(name, node, source_name));
    schema.features.push_back(std::move(feature));
  }
  HEADRACE_CHECK(join_images(source_name, schema.features));
  return schema;
}

std::string schema_to_toml(const Schema& schema) {
  std::string out;
  for (const auto& [key, value] :
       {std::pair("id", &schema.id), {"split", &schema.split}, {"group", &schema.group}}) {
    if (*value) out += concat(key, " = ", quoted_toml(**value), "\n");
  }
  const CellRules& cells = schema.cells;
  if (cells.encoding != CellRules{}.encoding) out += concat("encoding = ", quoted_toml(cells.encoding), "\n");
  if (schema.replaces_text) out += "encoding_errors = \"replace\"\n";
  if (!cells.missing.empty()) out += concat("missing = ", quoted_toml(cells.missing), "\n");
  if (cells.decimal != CellRules{}.decimal) out += "decimal = \",\"\n";
  if (!schema.splits.empty()) out += "\n[splits]\n";
  for (const auto& [name, share] : schema.splits)
    out += concat(key_text(name), " = ", share, share == 1 ? ".0\n" : "\n");
  for (const FeatureDefinition& feature : schema.features) out += feature_to_toml(feature);
  return out;
}

}  // namespace headrace
