#include "headrace/prepare/plan/infer_schema.h"

#include <algorithm>
#include <deque>
#include <set>
#include <unordered_map>

#include "headrace/base/hash.h"
#include "headrace/base/text.h"
#include "headrace/codec/sample_path.h"
#include "headrace/prepare/plan/odd_texts.h"
#include "headrace/prepare/row/byte_strings.h"
#include "headrace/prepare/schema/missing_cell.h"
#include "headrace/prepare/schema/numbers.h"
#include "headrace/prepare/schema/split_name.h"
#include "headrace/prepare/schema/text_encoding.h"
#include "headrace/prepare/source/rejects.h"
#include "headrace/prepare/source/stretch.h"

namespace headrace {
namespace {

constexpr std::uint64_t kRowsLookedAt = 1000;
constexpr std::uint64_t kBytesLookedAt = 64 << 20;
constexpr std::uint64_t kSlicesLookedAt = 16;
constexpr std::uint64_t kStretches = 8;  // in a file that is larger than its share
constexpr std::size_t kIdsCompared = 100'000;
constexpr std::size_t kLongestSplitName = 100;
constexpr std::size_t kQuotedBytes = 60;
constexpr std::string_view kClassField = "cls";

// The kinds of values. Each kind includes the kinds before it.
enum class Content : std::uint8_t { kInt64s, kFloats, kText, kBytes };

// How many values cells have.
struct Counts {
  bool has_lists = false;
  std::uint64_t least = ~std::uint64_t{0};
  std::uint64_t most = 0;

  void add(std::uint64_t count, bool is_list) {
    has_lists = has_lists || is_list;
    least = std::min(least, count);
    most = std::max(most, count);
  }
};

struct Column {
  std::string name;
  bool is_image_field = false;  // according to its name
  bool is_text_field = false;
  bool is_split_name = false;
  bool is_id_name = false;

  // The following members describe its values.
  std::uint64_t values = 0;
  Content content = Content::kInt64s;
  Counts numbers{};
  Counts texts{};         // including texts that are numbers
  bool are_words = true;  // each value is a text or a whole number
  bool are_images = true;
  bool are_image_names = true;
  bool are_distinct = true;
  bool names_train = false;
  bool are_split_names = true;       // each value is a usual name of a split, or DISCARD
  std::set<std::uint64_t> hashes{};  // hashes of ids
  OddTexts odd_texts{};
  std::string not_of_encoding{};  // the place of the first text that is not in the encoding
};

bool is_one_of(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

Column make_column(std::string_view name, InputFormat format) {
  const std::string lower = to_lower(name);
  const std::string field = lower.substr(lower.rfind('.') + 1);
  const bool is_field = format == InputFormat::kWebDataset;
  return {.name = std::string(name),
          .is_image_field = is_field && is_one_of(field, {"jpg", "jpeg", "png"}),
          .is_text_field = is_field && is_one_of(field, {"txt", "text", "json"}),
          .is_split_name = lower == "split",
          .is_id_name = lower == "id"};
}

struct Numbers {
  Content content = Content::kInt64s;
  std::uint64_t count = 1;
  bool is_list = false;
};

// The number, or the list of numbers, that a text consists of; none if it is any other text.
std::optional<Numbers> numbers_in(std::string_view cell, char decimal) {
  const std::string_view text = trim(cell);
  if (parse_int64(text)) return Numbers{};
  const bool is_list = text.starts_with('[') || text.starts_with('(');
  if (!is_list) {
    // A whole number that is too large for int64 stays text, because float32 would lose digits, of an id for
    // example.
    const bool is_whole = text.find_first_not_of("+-0123456789") == text.npos;
    return !is_whole && parse_float(text, decimal) ? std::optional(Numbers{Content::kFloats}) : std::nullopt;
  }
  std::vector<std::int64_t> whole;
  if (parse_int64s(text, whole, decimal)) return Numbers{Content::kInt64s, whole.size(), true};
  std::vector<float> floats;
  if (parse_floats(text, floats, decimal)) return Numbers{Content::kFloats, floats.size(), true};
  return std::nullopt;
}

// How texts are decoded, and the place that is being read.
struct Reading {
  const CellRules& cells;
  const TextEncoding encoding = text_encoding_from_name(cells.encoding);
  const Slice* slice = nullptr;
  const SourceRow* row = nullptr;
  std::optional<std::uint64_t> stretch{};  // offset of the stretch in the slice's only file
  std::string decoded{};

  bool is_text(std::string_view text) { return decode_text(text, encoding, decoded).replaced == 0; }
  std::string place() const {
    if (stretch) return concat("a row after byte ", *stretch, " of ", slice->files.front().url);
    const std::string source = source_of(*slice, row->place);
    return source.empty() ? replace_invalid_utf8(row->id).text
                          : concat("row ", row->place.row, " of ", source);
  }
};

bool begins_as_image(std::string_view bytes) {
  return bytes.starts_with("\xff\xd8\xff") || bytes.starts_with("\x89PNG\r\n\x1a\n");
}

bool ends_as_image(std::string_view cell) {
  const std::string_view text = trim(cell);
  const std::string ending = to_lower(text.substr(text.size() - std::min<std::size_t>(text.size(), 5)));
  return ending.ends_with(".jpg") || ending.ends_with(".png") || ending == ".jpeg";
}

void add_content(Column& column, Content content) { column.content = std::max(column.content, content); }

void add_numbers(Column& column, const Numbers& numbers) {
  add_content(column, numbers.content);
  column.numbers.add(numbers.count, numbers.is_list);
}

void add_split_name(Column& column, std::string_view text) {
  const std::string name = text.size() <= kLongestSplitName ? usual_split_name(text) : std::string();
  column.names_train = column.names_train || name == "train";
  const bool is_usual = is_one_of(name, {"train", "validation", "test"}) || to_lower(name) == "discard";
  column.are_split_names = column.are_split_names && is_usual;
}

void add_text(Column& column, std::string_view text, Reading& reading) {
  column.are_images = column.are_images && (column.is_image_field || begins_as_image(text));
  column.are_image_names = column.are_image_names && ends_as_image(text);
  if (column.is_split_name) add_split_name(column, text);
  column.texts.add(1, false);
  if (column.content == Content::kBytes) return;
  const bool may_be_numbers = column.content < Content::kText || column.odd_texts.may_be_few();
  if (const auto numbers = may_be_numbers ? numbers_in(text, reading.cells.decimal) : std::nullopt) {
    column.odd_texts.add_number();
    return add_numbers(column, *numbers);
  }
  const bool is_text = reading.is_text(text);
  add_content(column, is_text ? Content::kText : Content::kBytes);
  if (may_be_numbers) column.odd_texts.add_text(text, reading.place());
  if (!is_text) column.not_of_encoding = reading.place();
}

// Adds a list of texts. They are never taken for numbers.
void add_texts(Column& column, BytesView list, Reading& reading) {
  std::uint64_t count = 0;
  add_content(column, Content::kText);
  for (; const auto text = take_byte_string(list); ++count) {
    if (column.content == Content::kBytes || reading.is_text(as_text(*text))) continue;
    add_content(column, Content::kBytes);
    column.not_of_encoding = reading.place();
  }
  column.texts.add(count, true);
  column.are_words = column.are_images = column.are_image_names = false;
}

void add_id(Column& column, std::string_view text) {
  constexpr HashKey kIdKey{0x696e666572726564, 0x636f6c756d6e6964};
  if (column.hashes.size() == kIdsCompared) return;
  column.are_distinct = column.are_distinct && column.hashes.insert(siphash(kIdKey, as_bytes(text))).second;
}

void add_value(Column& column, const Cell& cell, Reading& reading) {
  ++column.values;
  switch (cell.kind) {
    case CellKind::kMissing:
      break;
    case CellKind::kBytes:
      add_text(column, as_text(cell.data), reading);
      if (column.is_id_name) add_id(column, as_text(cell.data));
      return;
    case CellKind::kReference:
      column.are_images = column.are_images && column.is_image_field;
      column.are_words = column.are_image_names = false;
      column.texts.add(1, false);
      return add_content(column, column.is_text_field ? Content::kText : Content::kBytes);
    case CellKind::kByteStrings:
      return add_texts(column, cell.data, reading);
    case CellKind::kFloats:
    case CellKind::kInt64s: {
      const bool is_whole = cell.kind == CellKind::kInt64s;
      const std::uint64_t count = cell.data.size() / (is_whole ? sizeof(std::int64_t) : sizeof(float));
      const bool is_word = is_whole && count == 1;
      column.are_images = column.are_image_names = false;
      column.are_words = column.are_words && is_word;
      column.texts.add(count, false);
      if (column.is_id_name && is_word)
        add_id(column, concat(load_little_endian<std::int64_t>(cell.data.data())));
      add_numbers(column, {is_whole ? Content::kInt64s : Content::kFloats, count, count != 1});
    }
  }
}

SchemaType type_of(Content content) {
  constexpr SchemaType kTypes[] = {SchemaType::kInt64, SchemaType::kFloat32, SchemaType::kString,
                                   SchemaType::kBytes};
  return kTypes[static_cast<std::size_t>(content)];
}

FeatureShape shape_of(const Column& column) {
  const Counts& counts = column.content <= Content::kFloats ? column.numbers : column.texts;
  if (!counts.has_lists) return {};
  const bool is_fixed = counts.least == counts.most && counts.most >= 2;
  return is_fixed ? FeatureShape{FeatureShape::Kind::kFixed, counts.most}
                  : FeatureShape{FeatureShape::Kind::kRagged};
}

bool is_classes(const Column& column, InputFormat format) {
  const bool is_named =
      to_lower(column.name) == "label" || (format == InputFormat::kWebDataset && column.name == kClassField);
  const bool are_whole = column.content == Content::kInt64s && !column.numbers.has_lists;
  return is_named && column.are_words && (are_whole || column.content == Content::kText);
}

std::string without_uri_ending(std::string_view name) {
  for (const std::string_view ending : {"_uri", "_url", "_path"}) {
    if (name.size() > ending.size() && to_lower(name).ends_with(ending))
      return std::string(name.substr(0, name.size() - ending.size()));
  }
  return std::string(name);
}

// Collects the columns of the rows that are looked at, and infers features from them.
class Inference {
 public:
  Inference(const Input& input, const InferenceOptions& options)
      : input_(input), is_mapped_(options.map != nullptr), reading_{.cells = options.cells} {
    schema_.cells = options.cells;
  }

  Status take(const SourceRow& row) {
    if (row.verdict == RowVerdict::kRejected) {
      if (first_rejection_.empty()) {
        first_rejection_ = concat(replace_invalid_utf8(row.id).text, " is rejected: ", row.reason,
                                  row.detail.empty() ? "" : concat(" (", row.detail, ")"));
      }
      return {};
    }
    ++rows_;
    reading_.row = &row;
    for (const NamedCell& cell : row.cells) {
      HEADRACE_TRY(Column* const column, find_column(cell.name));
      if (!is_missing(cell.cell, reading_.cells.missing)) add_value(*column, cell.cell, reading_);
    }
    return {};
  }

  void ignore() { ++ignored_; }

  /// Tells that the following rows belong to a slice, or to a stretch that begins at an offset in its only
  /// file.
  void begin(const Slice& slice, std::optional<std::uint64_t> stretch = std::nullopt) {
    reading_.slice = &slice;
    reading_.stretch = stretch;
  }

  Result<InferredSchema> finish() {
    if (rows_ == 0 && ignored_ > 0 && is_mapped_) {
      return invalid(concat("the function of --map drops all ", ignored_,
                            " rows that were looked at to infer a schema; correct it, or name a --schema"));
    }
    if (rows_ == 0) {
      return invalid(concat("no row can be read to infer a schema from; ",
                            first_rejection_.empty() ? "its first files have no rows" : first_rejection_,
                            ". Correct the input, name its format, or name a --schema"));
    }
    find_roles();
    if (is_table()) add_remark_of_header();
    for (const Column& column : columns_) {
      if (column.values > 0 && &column != split_) HEADRACE_CHECK(add_feature(column));
      add_remarks(column);
    }
    if (schema_.features.empty())
      return invalid(
          "no column of the rows that were looked at has a value to infer a feature from; name a --schema");
    std::sort(schema_.features.begin(), schema_.features.end(),
              [](const FeatureDefinition& a, const FeatureDefinition& b) { return a.name < b.name; });
    return InferredSchema{std::move(schema_), std::move(remarks_)};
  }

 private:
  Error invalid(std::string_view what) const {
    return {Code::kInvalidArgument, concat(input_.url, ": ", what)};
  }

  Result<Column*> find_column(std::string_view name) {
    const auto found = by_name_.find(name);
    if (found != by_name_.end()) return found->second;
    if (columns_.size() == kMaxColumns) {
      return invalid(concat("the rows that were looked at have more than ", kMaxColumns,
                            " columns together; name the columns that you want in a --schema"));
    }
    Column& column = columns_.emplace_back(make_column(name, input_.format));
    by_name_.emplace(column.name, &column);
    return &column;
  }

  // The first rows, or all rows, may belong to the split "test".
  static bool is_split_by_values(const Column& column) {
    const bool are_texts = column.content == Content::kText && column.are_words;
    return column.names_train || (column.is_split_name && are_texts && column.are_split_names);
  }

  bool is_split_of_layout(const Column& column) const {
    const bool is_layout = input_.format == InputFormat::kAclImdb ||
                           input_.format == InputFormat::kTextFolder ||
                           input_.format == InputFormat::kImageFolder;
    return is_layout && column.name == "split";
  }

  void find_roles() {
    const bool has_keys = by_name_.contains(kSampleKeyFeature);
    for (const Column& column : columns_) {
      if (split_ == nullptr && (is_split_by_values(column) || is_split_of_layout(column))) split_ = &column;
      const bool is_id = column.is_id_name && column.values == rows_ && column.are_distinct &&
                         column.are_words && column.content <= Content::kText;
      if (id_ == nullptr && is_id && !has_keys) id_ = &column;
      has_images_ = has_images_ || column.are_images;
    }
    if (split_ != nullptr) schema_.split = split_->name;
    if (id_ != nullptr) schema_.id = id_->name;
  }

  Status add_feature(const Column& column) {
    if (!is_valid_utf8(column.name)) {
      return invalid(concat("the name of column \"", printable_line(column.name, kQuotedBytes),
                            "\" is not UTF-8, so no schema can name it; rename the column"));
    }
    FeatureDefinition feature{.name = column.name, .columns = {column.name}};
    feature.is_optional = column.values < rows_;
    if (column.name == kSampleKeyFeature) {
      feature.name = "id";
      feature.type = SchemaType::kString;
    } else if (is_classes(column, input_.format)) {
      feature.type = SchemaType::kLabel;
    } else if (column.are_images) {
      feature.type = SchemaType::kImage;
    } else if (column.are_image_names && !has_images_ && &column != id_) {
      feature.name = without_uri_ending(column.name);
      feature.type = SchemaType::kImage;
      feature.is_uri = true;
    } else {
      feature.type = type_of(column.content);
      feature.shape = shape_of(column);
    }
    feature.name = unused_name(feature.name);
    schema_.features.push_back(std::move(feature));
    return {};
  }

  void add_remark_of_header() {
    const auto number = std::ranges::find_if(
        columns_, [](const Column& column) { return parse_float(column.name).has_value(); });
    if (number == columns_.end()) return;
    remarks_.push_back(concat("a column is called ", number->name,
                              ", which is a number: if the first line of the table is data, put a line with "
                              "the column names above it"));
  }

  void add_remarks(const Column& column) {
    const bool may_be_other_encoding = is_table() || input_.format == InputFormat::kJsonLines;
    if (column.values == 0) {
      remarks_.push_back(
          concat("column ", column.name, " is empty in all ", rows_,
                 " rows that were looked at, so no feature is inferred; a --schema can name the column"));
    } else if (!column.not_of_encoding.empty() && may_be_other_encoding && !is_mapped_) {
      remarks_.push_back(concat("column ", column.name, " is stored as bytes, because ",
                                column.not_of_encoding, " is not ", reading_.cells.encoding,
                                " there. If its text is in another encoding, say --encoding latin-1 or "
                                "--encoding windows-1252"));
    } else if (column.is_split_name && &column != split_) {
      remarks_.push_back(concat("column ", column.name,
                                " does not hold the usual names of splits (train, validation, test), so it "
                                "becomes a feature and splits nothing; in a --schema, split = \"",
                                column.name, "\" makes it the split"));
    } else if (column.content == Content::kText && &column != id_ && !column.are_image_names) {
      if (const auto remark = column.odd_texts.remark(column.name)) remarks_.push_back(*remark);
    }
  }

  bool is_table() const { return input_.format == InputFormat::kCsv || input_.format == InputFormat::kTsv; }

  std::string unused_name(const std::string& name) {
    std::string unused = name;
    for (std::uint64_t number = 2; !names_.insert(unused).second; ++number)
      unused = concat(name, "_", number);
    return unused;
  }

  const Input& input_;
  const bool is_mapped_;
  Reading reading_;
  std::uint64_t rows_ = 0;
  std::uint64_t ignored_ = 0;
  std::string first_rejection_;
  std::deque<Column> columns_;  // in the order in which they were found
  std::unordered_map<std::string_view, Column*> by_name_;
  const Column* split_ = nullptr;
  const Column* id_ = nullptr;
  bool has_images_ = false;
  std::set<std::string> names_;  // names of features
  Schema schema_;
  std::vector<std::string> remarks_;
};

// How much of each slice is looked at.
struct Share {
  std::uint64_t rows;
  std::uint64_t bytes;
};

// Takes rows until the source ends, or the share of rows and bytes is used up.
Status take_rows(RowSource& source, const Share& share, Inference& inference) {
  for (std::uint64_t seen = 0; seen < share.rows || source.consumed_bytes() < share.bytes;) {
    HEADRACE_TRY(const std::optional<SourceRow> row, source.next());
    if (!row) break;
    if (row->verdict == RowVerdict::kIgnored) {
      inference.ignore();
      continue;
    }
    ++seen;
    HEADRACE_CHECK(inference.take(*row));
  }
  return {};
}

// Looks at stretches of a large file, which are spread from byte `begin` to its end and have `begin` bytes in
// all.
Status look_at_stretches(const Input& input, const Slice& slice, StoreRegistry& stores,
                         const InferenceOptions& options, std::uint64_t begin, Inference& inference) {
  const InputFile& file = slice.files.front();
  const std::uint64_t size = begin / kStretches;
  for (std::uint64_t i = 1; i <= kStretches; ++i) {
    const std::uint64_t offset = begin + (file.size_bytes - begin) * i / kStretches - size;
    HEADRACE_TRY(const std::unique_ptr<RowSource> source,
                 open_stretch(input, file, offset, size, stores, options.cell_limit_bytes));
    if (source == nullptr) continue;
    inference.begin(slice, offset);
    HEADRACE_CHECK(take_rows(*source, {.rows = ~std::uint64_t{0}, .bytes = 0}, inference));
  }
  return {};
}

Status look_at(const Input& input, const Slice& slice, StoreRegistry& stores, const InferenceOptions& options,
               Share share, Inference& inference) {
  const bool has_stretches =
      options.map == nullptr && slice.files.size() == 1 && slice.size_bytes > share.bytes;
  if (has_stretches) share.bytes /= 2;
  HEADRACE_TRY(std::unique_ptr<RowSource> source,
               open_slice(input, slice, stores, {.cell_limit_bytes = options.cell_limit_bytes}));
  if (options.map != nullptr) source = map_rows(std::move(source), input.format, stores, *options.map);
  inference.begin(slice);
  HEADRACE_CHECK(take_rows(*source, share, inference));
  return has_stretches ? look_at_stretches(input, slice, stores, options, share.bytes, inference) : Status{};
}

}  // namespace

Result<InferredSchema> infer_schema(const Input& input, StoreRegistry& stores,
                                    const InferenceOptions& options) {
  Inference inference(input, options);
  const std::uint64_t all = input.slices.size();
  const std::uint64_t count = std::min(all, kSlicesLookedAt);
  for (std::uint64_t i = 0; i < count; ++i) {
    const Slice& slice = input.slices[count == 1 ? 0 : i * (all - 1) / (count - 1)];
    const Share share{.rows = (kRowsLookedAt + count - 1) / count,
                      .bytes = options.map == nullptr ? kBytesLookedAt / count : 0};
    HEADRACE_CHECK(look_at(input, slice, stores, options, share, inference));
  }
  return inference.finish();
}

}  // namespace headrace
