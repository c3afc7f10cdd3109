#include "headrace/prepare/extract/extract.h"

#include <algorithm>

#include "headrace/base/json.h"
#include "headrace/base/text.h"
#include "headrace/os/parallel.h"
#include "headrace/prepare/extract/column_finder.h"
#include "headrace/prepare/extract/order_keys.h"
#include "headrace/prepare/extract/report.h"
#include "headrace/prepare/extract/row_batch.h"
#include "headrace/prepare/map/mapped_source.h"
#include "headrace/prepare/row/byte_strings.h"
#include "headrace/prepare/schema/label_value.h"
#include "headrace/prepare/schema/split_name.h"
#include "headrace/prepare/schema/text_encoding.h"
#include "headrace/prepare/sort/rows_builder.h"
#include "headrace/prepare/sort/spill_store.h"
#include "headrace/prepare/source/rejects.h"
#include "headrace/store/registry.h"
#include "headrace/track/created_once.h"

namespace headrace {
namespace {

constexpr SizeLimit kPastLimit{
    .bytes = 1 << 30,
    .what_to_do =
        "a slice has too many rows to retry, or too many objects to append to: prepare the dataset "
        "again with --overwrite"};
constexpr int kPastWriters = 16;
constexpr std::uint64_t kProgressBytes = 1 << 20;
constexpr std::size_t kMostLabelValues = 100'000;
constexpr std::size_t kMostIdBytes = 0xffff;

std::optional<ColumnFinder> finder_of(const std::optional<std::string>& column, const Schema& schema) {
  return column ? std::optional<ColumnFinder>({*column, schema.cells.missing}) : std::nullopt;
}

// Returns why a row was rejected before, or null if it was not.
const std::string* find_rejection(const SlicePast& past, const Slice& slice, const SourceRow& row) {
  const std::string source = source_of(slice, row.place);
  const std::string id = replace_invalid_utf8(row.id).text;
  return past.rejected.find({source, row.place.row, id});
}

// The extraction of one slice.
class Extraction {
 public:
  Extraction(const TaskContext& context, std::uint64_t number, const SlicePast& past)
      : context_(context),
        number_(number),
        past_(past),
        plan_(context.plan),
        encoding_(text_encoding_from_name(plan_.schema.cells.encoding)),
        sample_bound_(hash_bound(plan_.sample)),
        references_(context.stores, plan_.cell_limit_bytes, {.stop = context.stop}),
        batch_(plan_.schema, references_),
        id_(finder_of(plan_.schema.id, plan_.schema)),
        split_(finder_of(plan_.schema.split, plan_.schema)),
        group_(finder_of(plan_.schema.group, plan_.schema)) {
    const std::vector<std::string>& missing = plan_.schema.cells.missing;
    for (const std::string& column : feature_columns(plan_.schema)) columns_.emplace_back(column, missing);
    for (const FeatureDefinition& feature : plan_.schema.features) {
      if (feature.type == SchemaType::kLabel)
        labels_.push_back(
            {&feature, ColumnFinder(feature.columns.front(), missing), &receipt_.label_values[feature.name]});
    }
    double share = 0;
    for (const auto& [name, part] : plan_.schema.splits)
      split_bounds_.push_back({name, hash_bound(share += part)});
    if (!split_bounds_.empty()) split_bounds_.back().second = ~std::uint64_t{0};
  }

  Status take(const SourceRow& row) {
    if (plan_.retries()) count_retried(row);
    ++receipt_.counts.in;
    if (row.object)
      HEADRACE_CHECK(record_input(row.object->url, *row.object->size_bytes, row.object->version));
    if (row.verdict == RowVerdict::kIgnored) return ignore(row, row.reason);
    if (row.verdict == RowVerdict::kRejected) return reject(row, row.reason, row.detail);
    HEADRACE_CHECK(check_header(row));
    OrderedRow ordered{.place = row.place};
    std::string reason, detail;
    if (!find_id(row, ordered, reason, detail)) return reject(row, reason, detail);
    std::string_view group = ordered.id;
    if (group_ && !find_text(*group_, row, group_text_, group, reason, detail))
      return reject(row, reason, detail);
    if (plan_.sample < 1 && keyed_hash(plan_.seed, OrderKey::kSample, group) >= sample_bound_)
      return ignore(row, "not in the sample");
    std::string_view split;
    if (!find_split(row, group, split, reason, detail)) return reject(row, reason, detail);
    if (split == "discard") return ignore(row, "DISCARD");
    HEADRACE_CHECK(count_labels(split, row));
    ordered.order = keyed_hash(plan_.seed, OrderKey::kOrder, ordered.id);
    ordered.tie = keyed_hash(plan_.seed, OrderKey::kTie, ordered.id);
    cells_.clear();
    for (ColumnFinder& column : columns_) {
      const Cell* const cell = column.find(row.cells);
      cells_.push_back(cell != nullptr ? *cell : Cell{});
    }
    ordered.cells = cells_;
    return keep(split, ordered);
  }

  Result<SliceReceipt> finish() {
    HEADRACE_CHECK(follow_batch());
    HEADRACE_CHECK(end_run());
    for (const InputFile& file : slice().files)
      HEADRACE_CHECK(record_input(file.url, file.size_bytes, file.version));
    if (!slice().name.empty()) HEADRACE_CHECK(record_input(slice().name, slice().size_bytes, slice().digest));
    HEADRACE_TRY(receipt_.inputs,
                 inputs_.write_work(context_.work_folder(), slice_inputs_name(number_), kInputsRole));
    HEADRACE_TRY(receipt_.report, report_.write_work(context_.work_folder(), slice_report_name(number_)));
    return std::move(receipt_);
  }
  bool is_in_memory() const { return is_in_memory_; }
  std::uint64_t taken_rows() const { return receipt_.counts.in; }

 private:
  struct LabelColumn {
    const FeatureDefinition* feature;
    ColumnFinder column;
    std::map<std::string, LabelCounts>* splits;
  };

  const Slice& slice() const { return plan_.input.slices[number_]; }

  // Checks the header of a table once: every row of a file has the same columns.
  Status check_header(const SourceRow& row) {
    const bool is_table = plan_.input.format == InputFormat::kCsv || plan_.input.format == InputFormat::kTsv;
    if (!is_table || has_seen_header_ || !plan_.map.empty()) return {};
    has_seen_header_ = true;
    std::vector<std::string> wanted = feature_columns(plan_.schema);
    for (const auto& column : {plan_.schema.id, plan_.schema.split, plan_.schema.group}) {
      if (column) wanted.push_back(*column);
    }
    return headrace::check_header(wanted, row.cells, source_of(slice(), row.place), "the schema names");
  }

  void count_retried(const SourceRow& row) {
    const std::string* const reason = find_rejection(past_, slice(), row);
    if (reason != nullptr) ++receipt_.retried[*reason];
  }

  Status record_input(std::string_view url, std::uint64_t size_bytes, std::string_view version) {
    const Json line = {{"url", url}, {"size_bytes", size_bytes}, {"version", version}};
    return inputs_.add(line.dump());
  }

  Status ignore(const SourceRow& row, const std::string& reason) {
    ++receipt_.counts.ignored;
    ++receipt_.reasons[reason];
    return plan_.retries() ? report(row, "ignored", reason, "") : Status{};
  }

  Status reject(const SourceRow& row, const std::string& reason, const std::string& detail) {
    ++receipt_.counts.rejected;
    ++receipt_.reasons[reason];
    if (receipt_.first_rejection.empty()) {
      receipt_.first_rejection =
          describe_rejection(replace_invalid_utf8(row.id).text, slice(), row.place, reason, detail);
    }
    if (receipt_.counts.rejected > context_.max_rejects)
      return too_many_rejects(receipt_.first_rejection, context_.max_rejects);
    return report(row, "rejected", reason, detail);
  }

  Status report(const SourceRow& row, std::string_view status, std::string_view reason,
                std::string_view detail) {
    const std::string source = source_of(slice(), row.place);
    return report_.add({.id = replace_invalid_utf8(row.id).text,
                        .status = status,
                        .reason = reason,
                        .detail = detail,
                        .source = source,
                        .row = source.empty() ? 0 : row.place.row});
  }

  // Finds the text of a column. Returns false and sets the reason if there is none.
  bool find_text(ColumnFinder& column, const SourceRow& row, std::string& storage, std::string_view& text,
                 std::string& reason, std::string& detail) {
    const Cell* const found = column.find(row.cells);
    const Cell cell = found != nullptr ? single_value(*found) : Cell{};
    if (const auto number = whole_number(cell)) {
      storage = concat(*number);
      text = storage;
      return true;
    }
    if (cell.kind != CellKind::kBytes) {
      reason = "missing value";
      detail = concat("column ", column.name(), ": there is no text");
      return false;
    }
    text = decode_text(as_text(cell.data), encoding_, storage).text;
    return true;
  }

  bool find_id(const SourceRow& row, OrderedRow& ordered, std::string& reason, std::string& detail) {
    ordered.id = row.id;
    if (id_ && !find_text(*id_, row, id_text_, ordered.id, reason, detail)) return false;
    if (ordered.id.size() <= kMostIdBytes) return true;
    reason = "id that is too long";
    detail = concat("column ", id_ ? id_->name() : "id", ": it has ", ordered.id.size(), " bytes, at most ",
                    kMostIdBytes, " are kept");
    return false;
  }

  bool find_split(const SourceRow& row, std::string_view group, std::string_view& split, std::string& reason,
                  std::string& detail) {
    if (!split_bounds_.empty()) {
      const std::uint64_t hash = keyed_hash(plan_.seed, OrderKey::kSplit, group);
      split = std::find_if(split_bounds_.begin(), split_bounds_.end() - 1, [&](const auto& bound) {
                return hash < bound.second;
              })->first;
      return true;
    }
    split = "train";
    if (!split_) return true;
    const Cell* const cell = split_->find(row.cells);
    const bool may_be_missing =
        plan_.input.format == InputFormat::kImageFolder || plan_.input.format == InputFormat::kTextFolder;
    if (may_be_missing && (cell == nullptr || cell->kind == CellKind::kMissing)) return true;
    if (!find_text(*split_, row, split_text_, split, reason, detail)) return false;
    if (to_lower(trim(split)) == "discard") {
      split = "discard";
      return true;
    }
    if (!plan_.splits_as_they_are) {
      split_text_ = usual_split_name(split);
      split = split_text_;
    }
    if (is_usable_split_name(split)) return true;
    reason = "split with a name that cannot be used";
    detail = concat("\"", printable_line(split, 60), "\": letters, digits, \"_\", \"-\" and \".\" can");
    return false;
  }

  Status count_labels(std::string_view split, const SourceRow& row) {
    for (LabelColumn& label : labels_) {
      const Cell* const cell = label.column.find(row.cells);
      const auto value =
          label_value(cell != nullptr ? *cell : Cell{}, *label.feature, encoding_, label_text_);
      if (!value) continue;
      LabelCounts& values = (*label.splits)[std::string(split)];
      ++values[std::string(*value)];
      const std::size_t most = kMostLabelValues + label.feature->vocabulary.size();
      if (values.size() > most) {
        return Error{Code::kInvalidArgument,
                     concat("column ", label.column.name(), " has more than ", most,
                            " different values, too many for a label; give its feature the type string")};
      }
    }
    return {};
  }

  Status keep(std::string_view split, const OrderedRow& row) {
    if (plan_.duplicates == Duplicates::kKeep) return store(split, row, std::nullopt);
    HEADRACE_CHECK(batch_.add(row, 0));
    batch_splits_.emplace_back(split);
    return batch_.is_full() ? follow_batch() : Status{};
  }

  // For rows whose content is compared: reads the objects that they refer to now, and keeps them with the
  // rows.
  Status follow_batch() {
    if (batch_.is_empty()) return {};
    HEADRACE_CHECK(batch_.follow([&](std::uint32_t, RowPlace place) -> std::string_view {
      base_ = base_of(slice(), place);
      return base_;
    }));
    for (std::size_t i = 0; i < batch_.rows().size(); ++i) {
      const BatchRow& row = batch_.rows()[i];
      const OrderedRow ordered{row.order, row.tie, row.id, row.place, row.cells.first(columns_.size())};
      const auto content = row.failure ? std::nullopt : content_of(row);
      HEADRACE_CHECK(store(batch_splits_[i], ordered, content));
    }
    batch_.clear();
    batch_splits_.clear();
    return {};
  }

  // Labels and ids are not part of the content: a picture that occurs under two labels is a duplicate.
  std::optional<ContentDigest> content_of(const BatchRow& row) {
    content_.clear();
    for (std::size_t i = 0; i < plan_.schema.features.size(); ++i) {
      const FeatureDefinition& feature = plan_.schema.features[i];
      const bool counts = feature.type != SchemaType::kLabel && !is_of_image(feature.type) &&
                          feature.columns.front() != plan_.schema.id && feature.columns.front() != "id";
      if (!counts) continue;
      for (const std::size_t place : places_.places[i]) {
        const Cell& cell = row.cells[place];
        append_little_endian<std::uint64_t>(content_,
                                            cell.data.size() * 8 + static_cast<std::uint64_t>(cell.kind));
        append(content_, cell.data);
      }
    }
    return content_.empty() ? std::nullopt : std::optional(digest_content(content_));
  }

  Status store(std::string_view split, const OrderedRow& row, const std::optional<ContentDigest>& content) {
    ++receipt_.counts.kept;
    SplitTotals& totals = totals_of(split);
    ++totals.rows;
    totals.bytes += row.id.size();
    for (const Cell& cell : row.cells) {
      totals.bytes += cell.data.size();
      totals.referenced_bytes +=
          cell.kind == CellKind::kReference ? cell.reference.size_bytes.value_or(0) : 0;
    }
    HEADRACE_CHECK(builder_.add(split, row, content));
    return builder_.size_bytes() < kRunBytes ? Status{} : end_run();
  }

  SplitTotals& totals_of(std::string_view split) {
    if (last_totals_ == nullptr || last_split_ != split) {
      last_split_ = split;
      last_totals_ = &receipt_.splits[last_split_];
    }
    return *last_totals_;
  }

  Status end_run() {
    if (builder_.size_bytes() == 0) return {};
    const std::string name =
        concat("rows-", zero_padded(number_, 5), "-", zero_padded(receipt_.spills.size(), 5));
    HEADRACE_TRY(SpillStore::Kept kept, context_.spills.keep(name, std::move(builder_).finish()));
    is_in_memory_ = is_in_memory_ || kept.is_in_memory;
    receipt_.spills.push_back(std::move(kept.spill));
    builder_ = RowsBuilder();
    return {};
  }

  const TaskContext& context_;
  const std::uint64_t number_;
  const SlicePast& past_;
  const PreparePlan& plan_;
  const TextEncoding encoding_;
  const std::uint64_t sample_bound_;
  const FeatureCells places_ = feature_cells(plan_.schema);
  ReferenceReader references_;
  RowBatch batch_;
  std::vector<std::string> batch_splits_;
  std::vector<ColumnFinder> columns_;
  std::optional<ColumnFinder> id_, split_, group_;
  std::vector<LabelColumn> labels_;
  std::vector<std::pair<std::string, std::uint64_t>> split_bounds_;
  std::string id_text_, split_text_, group_text_, label_text_, base_;
  std::vector<Cell> cells_;
  Bytes content_;
  SliceReceipt receipt_;
  std::string last_split_;
  SplitTotals* last_totals_ = nullptr;
  RowsBuilder builder_;
  JsonLinesBuilder inputs_;
  ReportBuilder report_;
  bool is_in_memory_ = false;
  bool has_seen_header_ = false;
};

// The rows of a slice that were rejected before.
class RetriedRows final : public RowSource {
 public:
  RetriedRows(const SlicePast& past, const Slice& slice, std::unique_ptr<RowSource> rows)
      : past_(past), slice_(slice), rows_(std::move(rows)) {}

  Result<std::optional<SourceRow>> next() override {
    while (true) {
      HEADRACE_TRY(std::optional<SourceRow> row, rows_->next());
      if (!row || find_rejection(past_, slice_, *row) != nullptr) return row;
    }
  }

  std::uint64_t consumed_bytes() const override { return rows_->consumed_bytes(); }

 private:
  const SlicePast& past_;
  const Slice& slice_;
  const std::unique_ptr<RowSource> rows_;
};

// Opens the rows of a slice that the plan needs, mapped if the plan has a map.
Result<std::unique_ptr<RowSource>> open_rows(const TaskContext& context, const Slice& slice,
                                             const SlicePast& past) {
  const PreparePlan& plan = context.plan;
  if (context.map == nullptr && !plan.map.empty())
    return Error{Code::kInternal, "the plan has a map, but nothing was given to run it"};
  const KnownInputs* const known = plan.continuation == Continuation::kAppend ? &past.inputs : nullptr;
  HEADRACE_TRY(std::unique_ptr<RowSource> rows,
               open_slice(plan.input, slice, context.stores,
                          {plan.cell_limit_bytes, known, plan.only.get(), context.stop}));
  if (plan.retries()) rows = std::make_unique<RetriedRows>(past, slice, std::move(rows));
  if (context.map != nullptr)
    rows = map_rows(std::move(rows), plan.input.format, context.stores, *context.map);
  return rows;
}

constexpr std::string_view kReceiptPrefix = "slice-";

std::string receipt_name(std::uint64_t slice) { return concat(kReceiptPrefix, zero_padded(slice, 5)); }

std::string past_name(std::uint64_t slice) { return concat("past-", zero_padded(slice, 5)); }

Result<std::shared_ptr<const SlicePast>> find_past(const TaskContext& context, std::uint64_t slice) {
  const PreparePlan& plan = context.plan;
  if (!plan.pasts.empty()) return plan.pasts[slice];
  const auto past = std::make_shared<SlicePast>();
  if (plan.needs_past(plan.input.slices[slice])) {
    const Location place = context.work_folder().at(past_name(slice));
    HEADRACE_TRY(const ReadObject read, read_object(*place.store, place.key, kPastLimit.bytes));
    const Status parsed = past->read_json(as_text(read.data));
    if (!parsed) return parsed.error().in(place.describe());
  }
  return std::shared_ptr<const SlicePast>(past);
}

}  // namespace

std::string slice_inputs_name(std::uint64_t slice) {
  return concat("inputs-", zero_padded(slice, 5), ".jsonl.gz");
}

std::string slice_report_name(std::uint64_t slice) {
  return concat("report-", zero_padded(slice, 5), ".jsonl.gz");
}

Status write_pasts(const PreparePlan& plan, const Location& work) {
  return parallel_for(kPastWriters, plan.pasts.size(), [&](std::size_t slice) -> Status {
    if (!plan.needs_past(plan.input.slices[slice])) return {};
    const Location place = work.at(past_name(slice));
    const std::string past = plan.pasts[slice]->to_json();
    HEADRACE_CHECK(check_size(place, past.size(), kPastLimit));
    return write_unless_same(place, as_bytes(past));
  });
}

Result<std::optional<SliceReceipt>> find_slice(const TaskContext& context, std::uint64_t slice) {
  const Location place = context.work_folder().at(receipt_name(slice));
  const auto read = read_object(*place.store, place.key, kReceiptLimit.bytes);
  if (!read && read.error().code == Code::kNotFound) return std::optional<SliceReceipt>();
  if (!read) return read.error();
  auto receipt = parse_slice_receipt(as_text(read->data));
  if (!receipt) return std::move(receipt).error().in(place.describe());
  return std::optional(*std::move(receipt));
}

Result<std::vector<std::uint64_t>> unread_slices_of(const TaskContext& context) {
  std::vector<bool> is_read(context.plan.input.slices.size());
  const std::string prefix = context.work_folder().at(kReceiptPrefix).key;
  HEADRACE_CHECK(context.output.store->list(prefix, {}, [&](const ObjectInfo& object) {
    const auto slice = parse_number<std::uint64_t>(std::string_view(object.key).substr(prefix.size()));
    if (slice && *slice < is_read.size()) is_read[*slice] = true;
    return true;
  }));
  std::vector<std::uint64_t> unread;
  for (std::uint64_t slice = 0; slice < is_read.size(); ++slice) {
    if (!is_read[slice]) unread.push_back(slice);
  }
  return unread;
}

Result<SliceReceipt> extract_slice(const TaskContext& context, std::uint64_t slice,
                                   const std::function<void(std::uint64_t)>& progress) {
  const Location place = context.work_folder().at(receipt_name(slice));
  HEADRACE_TRY(std::optional<SliceReceipt> done, find_slice(context, slice));
  if (done) {
    progress(context.plan.input.slices[slice].size_bytes);
    return *std::move(done);
  }
  HEADRACE_TRY(const std::shared_ptr<const SlicePast> past, find_past(context, slice));
  Extraction extraction(context, slice, *past);
  HEADRACE_TRY(const std::unique_ptr<RowSource> source,
               open_rows(context, context.plan.input.slices[slice], *past));
  std::uint64_t told = 0;
  while (true) {
    if (context.stop.stop_requested()) return Error{Code::kCancelled, "reading the input was stopped"};
    HEADRACE_TRY(const std::optional<SourceRow> row, source->next());
    if (!row) break;
    HEADRACE_CHECK(extraction.take(*row));
    if (extraction.taken_rows() == context.trial_rows) break;
    if (source->consumed_bytes() < told + kProgressBytes) continue;
    progress(source->consumed_bytes() - told);
    told = source->consumed_bytes();
  }
  HEADRACE_TRY(SliceReceipt receipt, extraction.finish());
  progress(source->consumed_bytes() - told);
  // Rows in memory are lost with the process, so no receipt may outlive them.
  if (!extraction.is_in_memory()) {
    const std::string text = slice_receipt_to_json(receipt);
    HEADRACE_CHECK(check_size(place, text.size(), kReceiptLimit));
    HEADRACE_CHECK(write_unless_same(place, as_bytes(text)));
  }
  return receipt;
}

}  // namespace headrace
