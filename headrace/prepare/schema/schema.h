#pragma once

/// \file The schema: the features of a record, and the input columns that they come from. docs/prepare.md,
/// "Schema".

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headrace/base/result.h"
#include "headrace/prepare/schema/image_steps.h"

namespace headrace {

enum class SchemaType : std::uint8_t {
  kImage,
  kBytes,
  kString,
  kInt64,
  kFloat32,
  kLabel,
  kVector,
  kImageHeight,
  kImageWidth,
  kImageChannels
};

/// True if a feature of this type describes another feature: height, width or channels of a stored image.
bool is_of_image(SchemaType type);

/// How many values a feature has: one, exactly `size`, or any number.
struct FeatureShape {
  enum class Kind : std::uint8_t { kScalar, kFixed, kRagged } kind = Kind::kScalar;
  std::uint64_t size = 1;

  bool operator==(const FeatureShape&) const = default;
};

struct FeatureDefinition {
  std::string name;
  SchemaType type = SchemaType::kBytes;
  std::vector<std::string> columns;  // one, or one for each number of a fixed shape
  FeatureShape shape{};
  bool is_uri = false;        // cells are URLs or paths of objects whose bytes are the value
  bool is_file_name = false;  // of a string: only the part after its last `/` is stored
  bool is_optional = false;   // a missing cell leaves the feature out
  std::optional<std::string> default_text{};
  std::vector<std::string> vocabulary{};  // of a label; empty: the values that occur
  std::string vocabulary_url{};           // the vocabulary is read from here instead
  bool one_hot = false;
  std::string encoder{};  // of a vector
  /// If this feature describes an image: the image's feature. Both have the same columns and `is_optional`.
  std::string image_feature{};
  ImageSteps image{};
};

/// How the texts of cells are read.
struct CellRules {
  std::string encoding = "utf-8";      // or "latin-1", "windows-1252"
  std::vector<std::string> missing{};  // a cell with one of these texts is missing
  char decimal = '.';                  // begins the fraction of a number; or ','

  bool operator==(const CellRules&) const = default;
};

struct Schema {
  std::optional<std::string> id;  // names a column, as `split` and `group` do
  std::optional<std::string> split;
  std::optional<std::string> group;
  CellRules cells{};
  bool replaces_text = false;                          // invalid bytes become U+FFFD
  std::vector<std::pair<std::string, double>> splits;  // shares by hash, in this order; they sum to 1
  std::vector<FeatureDefinition> features;             // ascending by name
};

/// Reads a schema from TOML. Messages call it `source_name`.
/// \error kInvalidArgument  names the line and the key, and suggests what was meant
Result<Schema> parse_schema(std::string_view toml, std::string_view source_name);

/// TOML that `parse_schema` reads as the same schema. Equal schemas give equal texts. Defaults are left out.
std::string schema_to_toml(const Schema& schema);

/// "image", "int64", …
std::string_view schema_type_name(SchemaType type);

}  // namespace headrace
