#include "headrace/predict/raw_input.h"

#include <algorithm>
#include <functional>
#include <set>
#include <utility>

#include "headrace/base/text.h"
#include "headrace/evaluate/answers.h"
#include "headrace/evaluate/evaluation.h"
#include "headrace/prepare/extract/column_finder.h"
#include "headrace/prepare/extract/row_batch.h"
#include "headrace/prepare/row/byte_strings.h"
#include "headrace/prepare/schema/label_value.h"
#include "headrace/prepare/schema/schema.h"
#include "headrace/prepare/schema/text_encoding.h"
#include "headrace/prepare/source/input_kind.h"
#include "headrace/prepare/source/input_names.h"
#include "headrace/prepare/source/rejects.h"
#include "headrace/prepare/write/record_maker.h"
#include "headrace/stream/batch_maker.h"
#include "headrace/stream/batch_tensors.h"

namespace headrace {
namespace {

constexpr std::uint64_t kPictureBytes = 256 << 20;
constexpr std::uint64_t kRecordBytes = 64 << 20;  // a batch ends with the record that exceeds this size
constexpr std::uint64_t kBatchBytes = 256 << 20;  // size of the numbers of a batch, in the types of the model

// How raw rows become the inputs of a model. Immutable.
struct Recipe {
  Schema schema;  // has only the features that the model takes
  Vocabularies vocabularies;
  TextEncoders encoders;
  LoaderOptions loader;         // options with which records of these features are read for the model
  std::uint64_t row_bytes = 1;  // size of the numbers of a row
};

// Returns the part of the schema that the model needs. Rows need no labels and no splits.
Result<Schema> pruned_schema(const ExportedModel& model) {
  const ModelContract& contract = model.contract;
  const std::string where = model.folder.describe();
  if (contract.schema.empty() && model.is_foreign()) {
    return Error{Code::kFailedPrecondition,
                 concat("Headrace did not train the model in ", where,
                        ", so it does not know how raw rows become inputs of the model: give their schema "
                        "with --schema, or name a dataset that was prepared from such rows with --like")};
  }
  if (contract.schema.empty()) {
    return Error{
        Code::kFailedPrecondition,
        concat("the model in ", where,
               " was trained on data without a schema, so Headrace does not know how raw rows become "
               "its inputs: prepare the rows with headrace prepare, and give the dataset to headrace "
               "predict --data")};
  }
  HEADRACE_TRY(Schema schema, parse_schema(contract.schema, concat("the schema of the model in ", where)));
  schema.split.reset();
  schema.group.reset();
  schema.splits.clear();
  std::set<std::string> wanted;
  for (const ModelInput& input : contract.binding.inputs) wanted.insert(input.feature.name);
  std::set<std::string> kept = wanted;
  for (const FeatureDefinition& feature : schema.features) {
    if (wanted.contains(feature.name) && !feature.image_feature.empty()) kept.insert(feature.image_feature);
  }
  std::erase_if(schema.features,
                [&](const FeatureDefinition& feature) { return !kept.contains(feature.name); });
  for (const FeatureDefinition& feature : schema.features) wanted.erase(feature.name);
  if (wanted.empty()) return schema;
  return Error{Code::kFailedPrecondition,
               concat("the schema of the model in ", where, " does not say how its input ", *wanted.begin(),
                      " is made: prepare the rows with headrace prepare, and give the dataset to headrace "
                      "predict --data")};
}

// Returns the columns that every row must have: those of features that are not optional and have no default.
std::vector<std::string> needed_columns(const Schema& schema) {
  Schema needed = schema;
  std::erase_if(needed.features, [](const FeatureDefinition& feature) {
    return feature.is_optional || feature.default_text.has_value();
  });
  return feature_columns(needed);
}

bool is_image_model(const ExportedModel& model) {
  const std::vector<ModelInput>& inputs = model.contract.binding.inputs;
  return inputs.size() == 1 && inputs.front().feature.type == DataType::kUint8;
}

// Checks that the model takes no other columns than those of a layout, if the rows are files of a layout.
Status check_layout(const ExportedModel& model, const Schema& schema, const Input& input) {
  const auto layout = layout_of(input.format);
  if (!layout) return {};
  const std::vector<std::string> columns = {holds_images(*layout) ? "image" : "text", "label", "split", "id"};
  for (const std::string& column : needed_columns(schema)) {
    if (std::ranges::find(columns, column) != columns.end()) continue;
    const bool takes_images = is_image_model(model) && holds_images(*layout);
    return Error{Code::kInvalidArgument,
                 concat("the model in ", model.folder.describe(), " takes a column ", column,
                        ", which the files of ", input.url, " do not have: each is a row with the columns ",
                        join(columns, ", "), ". Give ", takes_images ? "the images with --image, or " : "",
                        "a table with a column ", column, " with --data")};
  }
  return {};
}

bool has_one_file(const Input& input) {
  return input.slices.size() == 1 && input.slices.front().files.size() <= 1;
}

class SliceReader final : public PieceReader {
 public:
  SliceReader(const Recipe& recipe, const Input& input, const Slice& slice, std::unique_ptr<RowSource> source,
              bool is_stream, StoreRegistry& stores, const RawInputOptions& options,
              const OnLeftOut& on_left_out, BatchMaker maker, std::uint64_t batch_size, std::stop_token stop)
      : recipe_(recipe),
        input_(input),
        is_stream_(is_stream),
        slice_(slice),
        source_(std::move(source)),
        options_(options),
        on_left_out_(on_left_out),
        stop_(std::move(stop)),
        encoding_(text_encoding_from_name(recipe.schema.cells.encoding)),
        references_(stores, options.cell_limit_bytes, {.stop = stop_}),
        rows_(recipe.schema, references_),
        records_(recipe.schema, recipe.vocabularies, recipe.encoders, false),
        batches_(std::move(maker)),
        pool_(BatchPool::create(batch_columns(recipe.loader.columns, recipe.loader.images), batch_size)),
        batch_size_(batch_size) {
    const std::vector<std::string>& missing = recipe.schema.cells.missing;
    for (const std::string& column : feature_columns(recipe.schema)) columns_.emplace_back(column, missing);
    if (recipe.schema.id) id_column_.emplace(*recipe.schema.id, missing);
  }

  Result<std::optional<PredictRows>> next() override {
    drop_used();
    while (made_.size() < batch_size_ && examples_.size() < kRecordBytes && !has_ended_)
      HEADRACE_CHECK(make_some());
    if (!made_.empty()) return make_batch();
    has_ended_ = false;  // a stream may have more rows at the next call
    return std::optional<PredictRows>();
  }

  std::uint64_t left_out() const override { return left_out_; }
  std::vector<std::string> remarks() const override { return remarks_; }

 private:
  struct Made {
    std::size_t begin = 0, end = 0;  // place of its record in `examples_`
    RowName name;
    RowPlace place;
  };

  // Drops the records of the last batch.
  void drop_used() {
    const std::size_t begin = used_ < made_.size() ? made_[used_].begin : examples_.size();
    examples_.erase(examples_.begin(), examples_.begin() + static_cast<std::ptrdiff_t>(begin));
    made_.erase(made_.begin(), made_.begin() + static_cast<std::ptrdiff_t>(used_));
    for (Made& made : made_) made.begin -= begin, made.end -= begin;
    used_ = 0;
  }

  bool is_table() const { return input_.format == InputFormat::kCsv || input_.format == InputFormat::kTsv; }

  // Reads rows until there are as many as are made into records at once.
  Status make_some() {
    rows_.clear();
    names_.clear();
    while (!rows_.is_full()) {
      if (stop_.stop_requested()) return Error{Code::kCancelled, "reading rows was stopped"};
      HEADRACE_TRY(const std::optional<SourceRow> row, source_->next());
      has_ended_ = !row;
      if (!row) break;
      HEADRACE_CHECK(take(*row));
    }
    std::string base;
    HEADRACE_CHECK(rows_.follow([&](std::uint32_t, RowPlace place) -> std::string_view {
      base = base_of(slice_, place);
      return base;
    }));
    return make_records();
  }

  Status take(const SourceRow& row) {
    if (row.verdict == RowVerdict::kIgnored) return {};
    if (row.verdict == RowVerdict::kRejected) return leave_out(row.id, row.place, row.reason, row.detail);
    if (is_table() && !has_seen_header_) HEADRACE_CHECK(take_header(row));
    cells_.clear();
    for (ColumnFinder& column : columns_) {
      const Cell* const cell = column.find(row.cells);
      cells_.push_back(cell != nullptr ? *cell : Cell{});
    }
    names_.push_back(name_of(row));
    return rows_.add({.id = row.id, .place = row.place, .cells = cells_}, 0);
  }

  // Called for the first row only, because all files of a table have the same header.
  Status take_header(const SourceRow& row) {
    has_seen_header_ = true;
    const std::string source = source_of(slice_, row.place);
    HEADRACE_CHECK(check_header(needed_columns(recipe_.schema), row.cells, source, "the model takes"));
    std::vector<std::string> names;
    for (const NamedCell& cell : row.cells) names.emplace_back(cell.name);
    for (const ColumnFinder& column : columns_) {
      if (std::ranges::find(names, column.name()) != names.end()) continue;
      const auto nearest = nearest_name(column.name(), names);
      add_remark(remarks_, concat(source, " has no column ", column.name(),
                                  ", so each of its rows lacks that value, which the model's schema allows",
                                  nearest ? concat("; did you mean ", *nearest, "?") : ""));
    }
    return {};
  }

  RowName name_of(const SourceRow& row) {
    if (layout_of(input_.format)) return {.id = std::string(row.id)};  // the path, also within an archive
    const Cell* const found = id_column_ ? id_column_->find(row.cells) : nullptr;
    const Cell cell = found != nullptr ? single_value(*found) : Cell{};
    if (const auto number = whole_number(cell)) return {.id = concat(*number)};
    std::string text;
    if (cell.kind == CellKind::kBytes)
      return {.id = std::string(decode_text(as_text(cell.data), encoding_, text).text)};
    // The id is the sample's key, or the id that another kind of input gives to the row.
    if (input_.format == InputFormat::kWebDataset || input_.format == InputFormat::kRows)
      return {.id = std::string(row.id)};
    return {.source = has_one_file(input_) ? "" : source_of(slice_, row.place), .row = row.place.row};
  }

  Status make_records() {
    chosen_.clear();
    given_.clear();
    for (std::size_t i = 0; i < rows_.rows().size(); ++i) {
      const BatchRow& row = rows_.rows()[i];
      if (row.failure) {
        HEADRACE_CHECK(leave_out(row.id, row.place, reason_of_fetch(*row.failure),
                                 concat("column ", row.failed_column, ": ", row.failure->message)));
        continue;
      }
      chosen_.push_back(i);
      given_.emplace_back(row.cells);
    }
    return records_.make(given_, [&](const MadeRecord& record) -> Status {
      const std::size_t i = chosen_[record.row];
      if (record.remark.is_rejection) {
        const BatchRow& row = rows_.rows()[i];
        return leave_out(row.id, row.place, record.remark.reason, record.remark.detail);
      }
      const std::size_t begin = examples_.size();
      append(examples_, record.example);
      made_.push_back({begin, examples_.size(), std::move(names_[i]), rows_.rows()[i].place});
      return {};
    });
  }

  std::string describe(std::string_view id, RowPlace place) const {
    if (is_stream_) return concat("row ", place.row, " of standard input");
    return describe_row(replace_invalid_utf8(id).text, slice_, place);
  }

  Status leave_out(std::string_view id, RowPlace place, std::string_view reason, std::string_view detail) {
    const std::string why = concat(reason, detail.empty() ? "" : concat(" (", detail, ")"));
    if (on_left_out_) {
      on_left_out_(place.row, why);
      return {};
    }
    const std::string described = concat(describe(id, place), " is rejected: ", why);
    if (options_.on_corrupt == CorruptionPolicy::kFail) {
      return Error{Code::kInvalidArgument,
                   concat(described, "; leave such rows out with --on-corrupt skip-record")};
    }
    ++left_out_;
    add_remark(remarks_, described);
    return {};
  }

  Result<std::optional<PredictRows>> make_batch() {
    used_ = std::min<std::size_t>(batch_size_, made_.size());
    places_.clear();
    PredictRows out{.batch = pool_->take(), .names = {}};
    for (std::size_t i = 0; i < used_; ++i) {
      places_.push_back({BytesView(examples_).subspan(made_[i].begin, made_[i].end - made_[i].begin)});
      out.names.push_back(std::move(made_[i].name));
      out.numbers.push_back(made_[i].place.row);
    }
    out.names.resize(batch_size_);
    const auto find = [&](std::uint64_t number) {
      return number < places_.size() ? std::optional(places_[number]) : std::nullopt;
    };
    const auto describe_made = [&](std::size_t row) {
      const std::string& id = out.names[row].id;
      return describe(id.empty() ? "the row" : id, made_[row].place);
    };
    HEADRACE_CHECK(batches_.make(
        {.places = places_, .first = 0, .find = find, .describe = describe_made, .stop = stop_}, out.batch));
    const std::uint64_t bad = batches_.take_corrupt_records();
    for (std::string& remark : batches_.take_remarks()) add_remark(remarks_, std::move(remark));
    left_out_ += bad;
    return std::optional(std::move(out));
  }

  const Recipe& recipe_;
  const Input& input_;
  const bool is_stream_;
  const Slice& slice_;
  const std::unique_ptr<RowSource> source_;
  const RawInputOptions& options_;
  const OnLeftOut& on_left_out_;
  const std::stop_token stop_;
  const TextEncoding encoding_;
  std::vector<ColumnFinder> columns_;
  std::optional<ColumnFinder> id_column_;
  ReferenceReader references_;
  RowBatch rows_;
  RecordMaker records_;
  BatchMaker batches_;
  const std::shared_ptr<BatchPool> pool_;
  const std::uint64_t batch_size_;
  bool has_ended_ = false;
  bool has_seen_header_ = false;
  std::vector<Cell> cells_;                   // cells of the row that is being added
  std::vector<RowName> names_;                // names of `rows_`
  std::vector<std::size_t> chosen_;           // the rows among `rows_` that records are made from
  std::vector<std::span<const Cell>> given_;  // cells of the chosen rows
  Bytes examples_;
  std::vector<Made> made_;
  std::size_t used_ = 0;  // how many of `made_` the last batch has used
  std::vector<Window::Place> places_;
  std::uint64_t left_out_ = 0;
  std::vector<std::string> remarks_;
};

// Opens the rows of a slice.
using OpenSource = std::function<Result<std::unique_ptr<RowSource>>(const Input& input, const Slice& slice)>;

class RawInput final : public PredictInput {
 public:
  RawInput(Recipe recipe, Input input, OpenSource open_source, StoreRegistry& stores,
           const RawInputOptions& options, bool is_stream = false, OnLeftOut on_left_out = {})
      : recipe_(std::move(recipe)),
        input_(std::move(input)),
        is_stream_(is_stream),
        open_source_(std::move(open_source)),
        stores_(stores),
        options_(options),
        on_left_out_(std::move(on_left_out)) {}

  Configuration configuration() const override {
    Configuration out = {{"data", input_.url},
                         {"data version", input_.version},
                         {"data format", std::string(input_name(input_))},
                         {"on-corrupt", std::string(policy_name(options_.on_corrupt))}};
    if (input_.delimiter != 0) out["delimiter"] = input_.delimiter;
    return out;
  }
  std::vector<std::string> names() const override {
    if (layout_of(input_.format) || input_.format == InputFormat::kWebDataset ||
        input_.format == InputFormat::kRows)
      return {"id"};
    std::vector<std::string> out = {"row"};
    if (!has_one_file(input_)) out.insert(out.begin(), "source");
    if (recipe_.schema.id) out.insert(out.begin(), "id");
    return out;
  }
  std::size_t pieces() const override { return input_.slices.size(); }
  std::uint64_t records() const override { return 0; }
  std::vector<std::string> remarks() const override { return {}; }

  Result<std::unique_ptr<PieceReader>> open(std::size_t piece, std::uint64_t batch_size,
                                            const std::stop_token& stop) const override {
    const Slice& slice = input_.slices[piece];
    HEADRACE_TRY(std::unique_ptr<RowSource> source, open_source_(input_, slice));
    LoaderOptions loader = recipe_.loader;
    loader.batch_size = std::clamp<std::uint64_t>(kBatchBytes / recipe_.row_bytes, 1, batch_size);
    HEADRACE_TRY(BatchMaker maker, BatchMaker::create(loader, pictures_));
    return std::unique_ptr<PieceReader>(
        std::make_unique<SliceReader>(recipe_, input_, slice, std::move(source), is_stream_, stores_,
                                      options_, on_left_out_, std::move(maker), loader.batch_size, stop));
  }

 private:
  const Recipe recipe_;
  const Input input_;
  const bool is_stream_;
  const OpenSource open_source_;
  StoreRegistry& stores_;
  const RawInputOptions options_;
  const OnLeftOut on_left_out_;
  mutable PictureMemory pictures_{kPictureBytes};
};

// Checks that the model's manifest has the encoders and vocabularies that its schema needs.
Status check_recipe(const Recipe& recipe, const std::string& where) {
  for (const FeatureDefinition& feature : recipe.schema.features) {
    const bool lacks_encoder =
        feature.type == SchemaType::kVector && !recipe.encoders.contains(feature.encoder);
    const bool lacks_vocabulary =
        feature.type == SchemaType::kLabel && !recipe.vocabularies.contains(feature.name);
    if (!lacks_encoder && !lacks_vocabulary) continue;
    return Error{Code::kFailedPrecondition,
                 concat("the model in ", where, " names no ", lacks_encoder ? "encoder" : "vocabulary",
                        " for its feature ", feature.name,
                        ": prepare the rows with headrace prepare, and give the dataset to headrace "
                        "predict --data")};
  }
  return {};
}

Result<Recipe> make_recipe(const ExportedModel& model, TextEncoders encoders,
                           const RawInputOptions& options) {
  Recipe recipe{.schema = {}, .vocabularies = model.contract.vocabularies, .encoders = std::move(encoders)};
  HEADRACE_TRY(recipe.schema, pruned_schema(model));
  HEADRACE_CHECK(check_recipe(recipe, model.folder.describe()));
  recipe.loader = BatchTensors(model.contract.binding.input_features()).options_in_order();
  recipe.loader.on_corrupt = options.on_corrupt;
  for (const ModelInput& input : model.contract.binding.inputs) {
    const bool has_numbers = input.feature.type != DataType::kBytes && !input.feature.is_ragged;
    if (has_numbers) recipe.row_bytes += input.feature.size() * data_type_size_bytes(input.feature.type);
  }
  return recipe;
}

// Reads the rows of another source, which must outlive it.
class BorrowedSource final : public RowSource {
 public:
  explicit BorrowedSource(RowSource& source) : source_(source) {}
  Result<std::optional<SourceRow>> next() override { return source_.next(); }
  std::uint64_t consumed_bytes() const override { return source_.consumed_bytes(); }

 private:
  RowSource& source_;
};

class StreamSource final : public RowSource {
 public:
  explicit StreamSource(RowStream& stream) : stream_(stream) {}
  Result<std::optional<SourceRow>> next() override { return stream_.next(); }
  std::uint64_t consumed_bytes() const override { return stream_.consumed_bytes(); }

 private:
  RowStream& stream_;
};

// Makes a row of each URL. The only cell of the row refers to the object.
class UrlSource final : public RowSource {
 public:
  UrlSource(const std::vector<std::string>& urls, std::string column)
      : urls_(urls), column_(std::move(column)) {}

  Result<std::optional<SourceRow>> next() override {
    if (next_ == urls_.size()) return std::optional<SourceRow>();
    const std::string& url = urls_[next_++];
    const Reference object{.url = url};
    cell_ = {column_, {.kind = CellKind::kReference, .data = {}, .reference = object}};
    return std::optional(
        SourceRow{.place = {.row = next_}, .id = url, .object = object, .cells = {&cell_, 1}});
  }
  std::uint64_t consumed_bytes() const override { return 0; }

 private:
  const std::vector<std::string>& urls_;
  const std::string column_;
  std::size_t next_ = 0;
  NamedCell cell_;
};

}  // namespace

Result<std::unique_ptr<PredictInput>> open_raw_input(const ExportedModel& model, Input input,
                                                     StoreRegistry& stores, TextEncoders encoders,
                                                     const RawInputOptions& options) {
  HEADRACE_TRY(Recipe recipe, make_recipe(model, std::move(encoders), options));
  HEADRACE_CHECK(check_layout(model, recipe.schema, input));
  const auto open_source = [&stores, limit = options.cell_limit_bytes](const Input& of, const Slice& slice) {
    return open_slice(of, slice, stores, {.cell_limit_bytes = limit});
  };
  return std::unique_ptr<PredictInput>(
      std::make_unique<RawInput>(std::move(recipe), std::move(input), open_source, stores, options));
}

Result<std::unique_ptr<PredictInput>> open_row_stream(const ExportedModel& model, RowStream& stream,
                                                      InputFormat format, StoreRegistry& stores,
                                                      TextEncoders encoders, const RawInputOptions& options) {
  HEADRACE_TRY(Recipe recipe, make_recipe(model, std::move(encoders), options));
  const auto open_source = [&stream](const Input&, const Slice&) -> Result<std::unique_ptr<RowSource>> {
    return std::unique_ptr<RowSource>(std::make_unique<StreamSource>(stream));
  };
  Input input{.format = format, .url = stream.url(), .slices = {Slice{.files = {{.url = stream.url()}}}}};
  return std::unique_ptr<PredictInput>(
      std::make_unique<RawInput>(std::move(recipe), std::move(input), open_source, stores, options, true));
}

Result<std::unique_ptr<PredictInput>> open_given_rows(const ExportedModel& model, RowSource& source,
                                                      StoreRegistry& stores, TextEncoders encoders,
                                                      OnLeftOut on_left_out) {
  const RawInputOptions options{.on_corrupt = CorruptionPolicy::kSkipRecord};
  HEADRACE_TRY(Recipe recipe, make_recipe(model, std::move(encoders), options));
  for (FeatureDefinition& feature : recipe.schema.features) feature.is_uri = false;
  const auto open_source = [&source](const Input&, const Slice&) -> Result<std::unique_ptr<RowSource>> {
    return std::unique_ptr<RowSource>(std::make_unique<BorrowedSource>(source));
  };
  Input input{.format = InputFormat::kJsonLines, .url = "", .slices = {Slice{.files = {{.url = ""}}}}};
  return std::unique_ptr<PredictInput>(std::make_unique<RawInput>(
      std::move(recipe), std::move(input), open_source, stores, options, true, std::move(on_left_out)));
}

Status check_first_rows(const PredictInput& input, const std::stop_token& stop) {
  for (std::size_t piece = 0; piece < input.pieces(); ++piece) {
    HEADRACE_TRY(const std::unique_ptr<PieceReader> reader, input.open(piece, 1, stop));
    HEADRACE_TRY(const std::optional<PredictRows> rows, reader->next());
    if (rows) return {};
  }
  return Error{Code::kInvalidArgument, "no row can become an input of the model"};
}

Result<std::vector<RawColumn>> raw_columns(const ExportedModel& model) {
  HEADRACE_TRY(const Schema schema, pruned_schema(model));
  const std::vector<std::string> needed = needed_columns(schema);
  std::vector<RawColumn> out;
  for (const std::string& name : feature_columns(schema)) {
    RawColumn& column = out.emplace_back(RawColumn{.name = name});
    for (const FeatureDefinition& feature : schema.features) {
      if (feature.columns.empty() || feature.columns.front() != name) continue;
      column.is_url |= feature.is_uri;
      column.is_image |= feature.type == SchemaType::kImage;
    }
    column.is_needed = std::ranges::find(needed, name) != needed.end();
  }
  return out;
}

Result<std::unique_ptr<PredictInput>> open_image_input(const ExportedModel& model,
                                                       std::vector<std::string> urls, StoreRegistry& stores,
                                                       const RawInputOptions& options) {
  if (!is_image_model(model)) {
    return Error{Code::kInvalidArgument,
                 concat("the model in ", model.folder.describe(), " ",
                        join(describe(model.contract.binding), ", "), ", not one image; give --data")};
  }
  HEADRACE_TRY(Recipe recipe, make_recipe(model, {}, options));
  const auto open_source = [urls = std::move(urls), column = recipe.schema.features.front().columns.front()](
                               const Input&, const Slice&) -> Result<std::unique_ptr<RowSource>> {
    return std::unique_ptr<RowSource>(std::make_unique<UrlSource>(urls, column));
  };
  return std::unique_ptr<PredictInput>(std::make_unique<RawInput>(
      std::move(recipe), Input{.format = InputFormat::kImageFiles, .slices = {Slice{}}}, open_source, stores,
      options));
}

}  // namespace headrace
