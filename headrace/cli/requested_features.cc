#include "headrace/cli/requested_features.h"

#include <algorithm>

#include "headrace/prepare/extract/row_batch.h"
#include "headrace/prepare/row/byte_strings.h"
#include "headrace/prepare/schema/missing_cell.h"

namespace headrace {
namespace {

const Vocabularies kNoVocabularies;
const TextEncoders kNoEncoders;

template <typename Number>
std::vector<Number> numbers_of(BytesView data) {
  std::vector<Number> out;
  for (std::size_t at = 0; at + sizeof(Number) <= data.size(); at += sizeof(Number))
    out.push_back(load_little_endian<Number>(data.data() + at));
  return out;
}

// The value as it was given.
Feature feature_of(std::string name, const Cell& cell) {
  Feature out{std::move(name), {}};
  if (cell.kind == CellKind::kBytes) out.values = std::vector<BytesView>{cell.data};
  if (cell.kind == CellKind::kFloats) out.values = numbers_of<float>(cell.data);
  if (cell.kind == CellKind::kInt64s) out.values = numbers_of<std::int64_t>(cell.data);
  if (cell.kind == CellKind::kByteStrings) {
    std::vector<BytesView> texts;
    for (BytesView rest = cell.data; const auto text = take_byte_string(rest);) texts.push_back(*text);
    out.values = std::move(texts);
  }
  return out;
}

Schema schema_of_numbers(const CellRules& rules, FeatureDefinition definition) {
  definition.is_optional = true;
  definition.default_text.reset();
  Schema out;
  out.cells = rules;
  out.features.push_back(std::move(definition));
  return out;
}

}  // namespace

RequestedFeatures::NumberFeature::NumberFeature(const CellRules& rules, const FeatureDefinition& definition)
    : schema(schema_of_numbers(rules, definition)),
      columns(feature_columns(schema)),
      maker(schema, kNoVocabularies, kNoEncoders) {}

RequestedFeatures::RequestedFeatures(const Schema& schema) : missing_(schema.cells.missing) {
  for (const FeatureDefinition& feature : schema.features) {
    columns_.insert(feature.columns.begin(), feature.columns.end());
    if (feature.type == SchemaType::kFloat32 || feature.type == SchemaType::kInt64) {
      numbers_.emplace_back(schema.cells, feature);
    } else if (!is_of_image(feature.type)) {
      others_.emplace(feature.columns.front(), feature.name);
    }
  }
}

Cell RequestedFeatures::given(const Cell& cell) const { return is_missing(cell, missing_) ? Cell{} : cell; }

void RequestedFeatures::add_numbers(NumberFeature& feature, const SourceRow& row,
                                    std::vector<Feature>& out) const {
  std::vector<Cell> cells;
  for (const std::string& column : feature.columns) {
    const auto found = std::ranges::find(row.cells, column, &NamedCell::name);
    cells.push_back(found == row.cells.end() ? Cell{} : given(found->cell));
  }
  bool is_read = false;
  const std::span<const Cell> rows[] = {cells};
  // Without an encoder, the only errors are those of the function.
  const Status made = feature.maker.make(rows, [&](const MadeRecord& record) -> Status {
    if (record.remark.is_rejection) return {};
    HEADRACE_TRY(std::vector<Feature> features, parse_example(record.example));
    std::ranges::move(features, std::back_inserter(out));
    is_read = true;
    return {};
  });
  if (made && is_read) return;
  if (cells.size() == 1) out.push_back(feature_of(feature.schema.features.front().name, cells.front()));
}

std::vector<Feature> RequestedFeatures::of(const SourceRow& row) {
  std::vector<Feature> out;
  for (NumberFeature& feature : numbers_) add_numbers(feature, row, out);
  for (const NamedCell& cell : row.cells) {
    if (!columns_.contains(cell.name)) out.push_back(feature_of(std::string(cell.name), given(cell.cell)));
    const auto [begin, end] = others_.equal_range(cell.name);
    for (auto each = begin; each != end; ++each) out.push_back(feature_of(each->second, given(cell.cell)));
  }
  return out;
}

}  // namespace headrace
