#include "headrace/prepare/write/record_maker.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <unordered_map>

#include "headrace/base/text.h"
#include "headrace/engine/encoder.h"
#include "headrace/prepare/extract/row_batch.h"
#include "headrace/prepare/row/byte_strings.h"
#include "headrace/prepare/schema/label_value.h"
#include "headrace/prepare/schema/numbers.h"

namespace headrace {
namespace {

constexpr std::size_t kQuotedValueBytes = 60;

RowRemark rejection(std::string reason, const std::string& column, std::string_view what) {
  return {std::move(reason), concat("column ", column, ": ", what), true};
}

RowRemark rejected_image(const Error& error, const std::string& column) {
  std::string reason = "damaged image";
  if (error.code == Code::kResourceExhausted) reason = "image with too many pixels";
  if (error.code == Code::kUnimplemented) reason = "image of a kind that is not read";
  if (error.code == Code::kInvalidArgument) reason = "no image, or smaller than the crop";
  return rejection(std::move(reason), column, error.message);
}

RowRemark rejected_text(const std::string& encoding, std::uint64_t places, const std::string& column) {
  return rejection(
      concat("text that is not ", encoding), column,
      concat("in ", places, " places; if it is Latin-1, say --encoding latin-1, or encoding = ",
             "\"latin-1\" at the top of the schema; there, encoding_errors = \"replace\" takes it ",
             "with U+FFFD in these places"));
}

// Reads the number at `place` in a cell of numbers. Returns false if the type cannot hold it.
template <typename Number>
bool number_at(const Cell& cell, std::size_t place, Number& number) {
  if (cell.kind == CellKind::kInt64s) {
    number = static_cast<Number>(load_little_endian<std::int64_t>(cell.data.data() + 8 * place));
    return true;
  }
  const auto value = load_little_endian<float>(cell.data.data() + 4 * place);
  if constexpr (std::is_same_v<Number, std::int64_t>) {
    constexpr float kBeyond = 9223372036854775808.0F;  // 2^63
    if (!(value >= -kBeyond && value < kBeyond) || value != std::trunc(value)) return false;
  }
  number = static_cast<Number>(value);
  return true;
}

Status append_texts(std::string_view cell, bool is_list, char decimal, std::vector<std::int64_t>& numbers) {
  if (is_list) return parse_wholes(cell, numbers, decimal);
  HEADRACE_TRY(const std::int64_t number, parse_whole(cell, decimal));
  numbers.push_back(number);
  return {};
}
Status append_texts(std::string_view cell, bool is_list, char decimal, std::vector<float>& numbers) {
  if (is_list) return parse_floats(cell, numbers, decimal);
  HEADRACE_TRY(const float number, parse_float(cell, decimal));
  numbers.push_back(number);
  return {};
}

// Reads the values of a cell of bytes or of a list.
void read_byte_strings(const Cell& cell, std::vector<BytesView>& values) {
  values.clear();
  if (cell.kind == CellKind::kBytes) values.push_back(cell.data);
  if (cell.kind != CellKind::kByteStrings) return;
  BytesView rest = cell.data;
  while (const auto value = take_byte_string(rest)) values.push_back(*value);
}

BytesView file_name_of(BytesView uri) {
  const std::string_view text = as_text(uri);
  return uri.subspan(text.rfind('/') + 1);  // npos + 1 is 0
}

// An empty list of numbers can also be read as an empty list of texts.
bool is_empty_list_of_numbers(const Cell& cell) {
  return (cell.kind == CellKind::kInt64s || cell.kind == CellKind::kFloats) && cell.data.empty();
}

RowRemark rejected_list(const Cell& cell, const FeatureDefinition& definition) {
  const bool may_be_list = definition.type == SchemaType::kBytes || definition.type == SchemaType::kString;
  return rejection("a list where one value belongs", definition.columns.front(),
                   concat("holds ", count_byte_strings(cell.data).value_or(0), " texts or byte strings",
                          may_be_list && !definition.is_uri ? "; shape = \"ragged\" takes them" : ""));
}

// Appends the numbers of a cell. A cell that is not `is_list` must hold one number.
template <typename Number>
Status append_numbers(const Cell& cell, bool is_list, char decimal, std::vector<Number>& numbers) {
  if (cell.kind == CellKind::kBytes) return append_texts(as_text(cell.data), is_list, decimal, numbers);
  if (cell.kind == CellKind::kByteStrings) {
    std::vector<BytesView> texts;
    read_byte_strings(cell, texts);
    if (!is_list && texts.size() != 1)
      return Error{Code::kInvalidArgument,
                   concat("holds ", texts.size(), " texts, where one number belongs")};
    for (const BytesView text : texts) HEADRACE_CHECK(append_texts(as_text(text), false, decimal, numbers));
    return {};
  }
  const std::size_t count = cell.data.size() / (cell.kind == CellKind::kInt64s ? 8 : 4);
  if (!is_list && count != 1)
    return Error{Code::kInvalidArgument, concat("holds ", count, " numbers, where one belongs")};
  for (std::size_t place = 0; place < count; ++place) {
    Number number{};
    if (!number_at(cell, place, number))
      return Error{Code::kInvalidArgument, concat("number ", place + 1, " is not whole")};
    numbers.push_back(number);
  }
  return {};
}

// Returns a hint for a text that is not a number: how the schema can make it a number or a missing value.
std::string hint_of_rules(const Cell& cell, char decimal, const FeatureDefinition& feature) {
  constexpr std::size_t kLongestPlaceholder = 20;
  if (cell.kind != CellKind::kBytes) return "";
  const std::string_view text = trim(as_text(cell.data));
  if (decimal != ',' && parse_float(text, ','))
    return "; if its comma begins a fraction, say decimal = \",\" in the schema, or --decimal ,";
  if (text.size() > kLongestPlaceholder || text.find_first_of("0123456789") != text.npos) return "";
  const std::string shown = printable_line(text, kLongestPlaceholder);
  return concat("; if it stands for no value, say missing = [\"", shown, "\"] in the schema, or --missing ",
                shown,
                feature.is_optional || feature.default_text ? "" : "; and optional = true of the feature");
}

}  // namespace

struct RecordMaker::Feature {
  const FeatureDefinition* definition = nullptr;
  std::vector<std::size_t> places;  // places of its columns in a row's cells
  std::unordered_map<std::string_view, std::int64_t> ids;
  std::string shown_vocabulary;  // its first values, for messages
  std::int64_t vocabulary_size = 0;
  std::size_t label_number = 0;  // its number among the labels
  const TextEncoder* encoder = nullptr;
  TextEncoding encoding = TextEncoding::kUtf8;
  bool replaces_text = false;

  // Values of the current row or rows.
  std::vector<std::int64_t> int64s;
  std::vector<float> floats;
  std::vector<BytesView> byte_strings;
  std::deque<std::string> decoded;  // holds the texts that decoding has changed
  std::string text;
  ImageConverter converter;
  std::optional<ConvertedImage> image;
  const Feature* of_image = nullptr;  // the image feature that it describes

  const std::string& column() const { return definition->columns.front(); }
  bool is_list() const { return definition->shape.kind != FeatureShape::Kind::kScalar; }
};

RecordMaker::RecordMaker(const Schema& schema, const Vocabularies& vocabularies, const TextEncoders& encoders,
                         bool may_change_rules)
    : schema_(schema), may_change_rules_(may_change_rules) {
  FeatureCells cells = feature_cells(schema);
  std::size_t label_count = 0;
  for (std::size_t i = 0; i < schema.features.size(); ++i) {
    const FeatureDefinition& definition = schema.features[i];
    Feature& feature = features_.emplace_back();
    feature.definition = &definition;
    feature.places = std::move(cells.places[i]);
    feature.encoding = text_encoding_from_name(schema.cells.encoding);
    feature.replaces_text = schema.replaces_text;
    if (definition.type == SchemaType::kVector) feature.encoder = encoders.at(definition.encoder).get();
    if (definition.type != SchemaType::kLabel) continue;
    feature.label_number = label_count++;
    feature.shown_vocabulary =
        printable_line(join(vocabularies.at(definition.name), ", "), kQuotedValueBytes);
    for (const std::string& value : vocabularies.at(definition.name))
      feature.ids.emplace(value, feature.vocabulary_size++);
  }
  // Features that describe images come after the images.
  const auto describing =
      std::stable_partition(features_.begin(), features_.end(),
                            [](const Feature& feature) { return !is_of_image(feature.definition->type); });
  for (auto feature = describing; feature != features_.end(); ++feature) {
    const auto image = std::find_if(features_.begin(), describing, [&](const Feature& other) {
      return other.definition->name == feature->definition->image_feature;
    });
    feature->of_image = &*image;
  }
}
RecordMaker::~RecordMaker() = default;

Status RecordMaker::make(std::span<const std::span<const Cell>> rows,
                         const std::function<Status(const MadeRecord&)>& take) {
  HEADRACE_CHECK(encode_texts(rows));
  for (std::size_t row = 0; row < rows.size(); ++row) {
    MadeRecord record{.row = row};
    builder_.clear();
    label_features_.clear();
    labels_.clear();
    for (Feature& feature : features_) {
      RowRemark remark = add_feature(feature, row, rows[row], record);
      if (remark) record.remark = std::move(remark);
      if (record.remark.is_rejection) break;
    }
    example_.clear();
    if (!record.remark.is_rejection) {
      builder_.append_to(example_);
      record.example = example_;
      record.label_features = label_features_;
      record.labels = labels_;
    }
    HEADRACE_CHECK(take(record));
  }
  return {};
}

// Encodes the texts of all rows at once, which is faster. A cell that is not a text counts as an empty text
// here, and is rejected when its record is made.
Status RecordMaker::encode_texts(std::span<const std::span<const Cell>> rows) {
  std::vector<std::string_view> texts;
  std::vector<std::string> decoded;  // holds the texts that decoding has changed
  for (Feature& feature : features_) {
    if (feature.encoder == nullptr) continue;
    texts.clear();
    decoded.assign(rows.size(), {});
    for (const std::span<const Cell> row : rows) {
      const Cell cell = single_value(row[feature.places.front()]);
      const std::string_view fallback =
          feature.definition->default_text ? std::string_view(*feature.definition->default_text) : "";
      const bool is_given = cell.kind == CellKind::kBytes;
      texts.push_back(is_given ? decode_text(as_text(cell.data), feature.encoding, decoded[texts.size()]).text
                               : fallback);
    }
    feature.floats.resize(rows.size() * static_cast<std::size_t>(feature.encoder->dimension()));
    HEADRACE_CHECK(feature.encoder->encode(texts, feature.floats));
  }
  return {};
}

RowRemark RecordMaker::add_feature(Feature& feature, std::size_t row, std::span<const Cell> cells,
                                   MadeRecord& record) {
  const FeatureDefinition& definition = *feature.definition;
  const bool is_number = definition.type == SchemaType::kInt64 || definition.type == SchemaType::kFloat32;
  if (is_number) return add_numbers(feature, cells);
  if (feature.of_image != nullptr) {
    add_of_image(feature);
    return {};
  }
  feature.image.reset();
  const Cell& given = cells[feature.places.front()];
  Cell cell = feature.is_list() ? given : single_value(given);
  const bool is_default = cell.kind == CellKind::kMissing && definition.default_text;
  if (cell.kind == CellKind::kMissing && !is_default) {
    if (definition.is_optional) return {};
    return rejection("missing value", feature.column(), "there is nothing, and the feature is not optional");
  }
  const bool is_list =
      cell.kind == CellKind::kByteStrings || (feature.is_list() && is_empty_list_of_numbers(cell));
  if (is_list && !feature.is_list()) return rejected_list(cell, definition);
  if (definition.type == SchemaType::kLabel) return add_label(feature, cell);
  if (is_default) cell = {.kind = CellKind::kBytes, .data = as_bytes(*definition.default_text)};
  if (cell.kind != CellKind::kBytes && !is_list)
    return rejection("numbers where text or bytes belong", feature.column(), "holds numbers");
  switch (definition.type) {
    case SchemaType::kImage:
      return add_image(feature, cell, record);
    case SchemaType::kVector:
      return add_vector(feature, row, cell);
    default:
      // The schema's default is UTF-8, whatever the encoding of the table.
      return add_byte_strings(feature, cell, is_default ? TextEncoding::kUtf8 : feature.encoding);
  }
}

RowRemark RecordMaker::add_image(Feature& feature, const Cell& cell, MadeRecord& record) {
  const auto image = feature.converter.convert(cell.data, feature.definition->image);
  if (!image) return rejected_image(image.error(), feature.column());
  builder_.add_bytes(feature.definition->name, image->data);
  if (!record.image) record.image = *image;
  feature.image = *image;
  return {};
}

// Adds nothing if there is no image.
void RecordMaker::add_of_image(Feature& feature) {
  const std::optional<ConvertedImage>& image = feature.of_image->image;
  if (!image) return;
  const SchemaType type = feature.definition->type;
  const std::uint32_t value = type == SchemaType::kImageHeight  ? image->size.height
                              : type == SchemaType::kImageWidth ? image->size.width
                                                                : image->channels;
  feature.int64s.assign(1, value);
  builder_.add_int64s(feature.definition->name, feature.int64s);
}

RowRemark RecordMaker::add_label(Feature& feature, const Cell& cell) {
  const auto value = label_value(cell, *feature.definition, feature.encoding, feature.text);
  if (!value) {
    return rejection("no label", feature.column(),
                     concat("must hold a text of at most ", kMostLabelBytes, " bytes, or one whole number"));
  }
  const auto found = feature.ids.find(*value);
  if (found == feature.ids.end()) {
    return rejection("label that is not in the vocabulary", feature.column(),
                     concat("\"", printable_line(*value, kQuotedValueBytes),
                            "\" is not in the vocabulary: ", feature.shown_vocabulary));
  }
  label_features_.push_back(feature.label_number);
  labels_.push_back(found->second);
  if (!feature.definition->one_hot) {
    feature.int64s.assign(1, found->second);
  } else {
    feature.int64s.assign(static_cast<std::size_t>(feature.vocabulary_size), 0);
    feature.int64s[static_cast<std::size_t>(found->second)] = 1;
  }
  builder_.add_int64s(feature.definition->name, feature.int64s);
  return {};
}

// Adds a byte string, a list of byte strings, or an empty list of anything.
RowRemark RecordMaker::add_byte_strings(Feature& feature, const Cell& cell, TextEncoding encoding) {
  const FeatureDefinition& definition = *feature.definition;
  read_byte_strings(cell, feature.byte_strings);
  const std::size_t count = feature.byte_strings.size();
  if (definition.shape.kind == FeatureShape::Kind::kFixed && count != definition.shape.size) {
    return rejection(
        "another count of texts than the shape", feature.column(),
        concat("has ", count, " texts or byte strings, and the shape is [", definition.shape.size, "]"));
  }
  RowRemark remark;
  if (definition.type == SchemaType::kString) remark = decode_texts(feature, encoding);
  if (definition.is_file_name) {
    for (BytesView& text : feature.byte_strings) text = file_name_of(text);
  }
  if (!remark.is_rejection) builder_.add_bytes_list(definition.name, feature.byte_strings);
  return remark;
}

RowRemark RecordMaker::decode_texts(Feature& feature, TextEncoding encoding) {
  feature.decoded.clear();
  std::uint64_t replaced = 0;
  for (BytesView& bytes : feature.byte_strings) {
    const DecodedText decoded = decode_text(as_text(bytes), encoding, feature.text);
    replaced += decoded.replaced;
    if (decoded.text.data() != feature.text.data()) continue;
    bytes = as_bytes(feature.decoded.emplace_back(std::move(feature.text)));
    feature.text.clear();
  }
  if (replaced == 0) return {};
  if (!feature.replaces_text) return rejected_text(schema_.cells.encoding, replaced, feature.column());
  return {concat("text that is not ", schema_.cells.encoding, ", replaced"),
          concat("column ", feature.column(), ": in ", replaced, " places"), false};
}

RowRemark RecordMaker::add_vector(Feature& feature, std::size_t row, const Cell& cell) {
  const std::uint64_t places = decode_text(as_text(cell.data), feature.encoding, feature.text).replaced;
  if (places > 0 && !feature.replaces_text)
    return rejected_text(schema_.cells.encoding, places, feature.column());
  const auto dimension = static_cast<std::size_t>(feature.encoder->dimension());
  builder_.add_floats(feature.definition->name,
                      std::span(feature.floats).subspan(row * dimension, dimension));
  return {};
}

RowRemark RecordMaker::add_numbers(Feature& feature, std::span<const Cell> cells) {
  const FeatureDefinition& definition = *feature.definition;
  const bool is_float = definition.type == SchemaType::kFloat32;
  const bool is_list = feature.is_list() && feature.places.size() == 1;
  feature.floats.clear();
  feature.int64s.clear();
  for (std::size_t i = 0; i < feature.places.size(); ++i) {
    Cell cell = is_list ? cells[feature.places[i]] : single_value(cells[feature.places[i]]);
    const bool is_default = cell.kind == CellKind::kMissing && definition.default_text;
    if (is_default) cell = {.kind = CellKind::kBytes, .data = as_bytes(*definition.default_text)};
    if (cell.kind == CellKind::kMissing) {
      if (definition.is_optional) return {};
      return rejection("missing value", definition.columns[i],
                       "there is nothing, and the feature is not optional");
    }
    // The schema's default uses a decimal point, whatever the cells use.
    const char decimal = is_default ? CellRules{}.decimal : schema_.cells.decimal;
    const Status added = is_float ? append_numbers(cell, is_list, decimal, feature.floats)
                                  : append_numbers(cell, is_list, decimal, feature.int64s);
    if (!added)
      return rejection("not a number, or out of range", definition.columns[i],
                       concat(added.error().message,
                              is_list || !may_change_rules_ ? "" : hint_of_rules(cell, decimal, definition)));
  }
  const std::size_t count = is_float ? feature.floats.size() : feature.int64s.size();
  const bool is_fixed = definition.shape.kind == FeatureShape::Kind::kFixed;
  if (is_fixed && count != definition.shape.size) {
    return rejection("another count of numbers than the shape", feature.column(),
                     concat("has ", count, " numbers, and the shape is [", definition.shape.size, "]"));
  }
  if (is_float) {
    builder_.add_floats(definition.name, feature.floats);
  } else {
    builder_.add_int64s(definition.name, feature.int64s);
  }
  return {};
}

}  // namespace headrace
