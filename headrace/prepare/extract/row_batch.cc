#include "headrace/prepare/extract/row_batch.h"

#include <algorithm>
#include <cstring>

#include "headrace/base/text.h"
#include "headrace/prepare/row/byte_strings.h"
#include "headrace/prepare/table/staged_rows.h"
#include "headrace/store/url.h"

namespace headrace {
namespace {

constexpr std::size_t kMostRows = 256;
constexpr std::uint64_t kMostBytes = 8 << 20;
constexpr std::uint64_t kLeastUnknownBytes = 16 << 10;

}  // namespace

std::vector<std::string> feature_columns(const Schema& schema) {
  std::vector<std::string> columns;
  for (const FeatureDefinition& feature : schema.features)
    columns.insert(columns.end(), feature.columns.begin(), feature.columns.end());
  std::sort(columns.begin(), columns.end());
  columns.erase(std::unique(columns.begin(), columns.end()), columns.end());
  return columns;
}

FeatureCells feature_cells(const Schema& schema) {
  const std::vector<std::string> columns = feature_columns(schema);
  FeatureCells out{.column_count = columns.size()};
  for (const FeatureDefinition& feature : schema.features) {
    std::vector<std::size_t>& places = out.places.emplace_back();
    for (const std::string& column : feature.columns) {
      const auto place = std::lower_bound(columns.begin(), columns.end(), column);
      places.push_back(static_cast<std::size_t>(place - columns.begin()));
    }
    if (!feature.is_uri) continue;
    out.uri_columns.push_back(places.front());
    places.front() = columns.size() + out.uri_columns.size() - 1;
  }
  return out;
}

RowBatch::RowBatch(const Schema& schema, ReferenceReader& references)
    : columns_(feature_columns(schema)), places_(feature_cells(schema)), references_(references) {}

std::string_view RowBatch::copy(std::string_view text) {
  if (text.empty()) return {};
  auto* const memory = static_cast<char*>(memory_.allocate(text.size(), 1));
  std::memcpy(memory, text.data(), text.size());
  bytes_ += text.size();
  return {memory, text.size()};
}

Status RowBatch::add(const OrderedRow& row, std::uint32_t slice) {
  if (row.cells.size() != places_.column_count) {
    return Error{Code::kDataLoss,
                 concat("the sorted row ", row.id, " has ", row.cells.size(), " cells, but the schema ",
                        "has ", places_.column_count, " columns; start over with --overwrite")};
  }
  const std::size_t count = places_.column_count + places_.uri_columns.size();
  auto* const cells = static_cast<Cell*>(memory_.allocate(count * sizeof(Cell), alignof(Cell)));
  std::uninitialized_default_construct_n(cells, count);
  for (std::size_t i = 0; i < row.cells.size(); ++i) {
    Cell& cell = cells[i] = row.cells[i];
    cell.data = as_bytes(copy(as_text(cell.data)));
    if (cell.kind != CellKind::kReference) continue;
    has_references_ = true;
    cell.reference.url = copy(cell.reference.url);
    cell.reference.version = copy(cell.reference.version);
    bytes_ += cell.reference.size_bytes.value_or(unknown_bytes_);
  }
  bytes_ += places_.uri_columns.size() * unknown_bytes_;
  has_references_ = has_references_ || !places_.uri_columns.empty();
  rows_.push_back({.order = row.order,
                   .tie = row.tie,
                   .id = copy(row.id),
                   .slice = slice,
                   .place = row.place,
                   .cells = {cells, count}});
  return {};
}

bool RowBatch::is_full() const { return rows_.size() >= kMostRows || bytes_ >= kMostBytes; }

void RowBatch::clear() {
  rows_.clear();
  memory_.release();
  bytes_ = 0;
}

void RowBatch::refer(std::size_t row, std::size_t cell, std::size_t column, const Reference& reference) {
  wanted_.push_back(reference);
  followed_.push_back({row, cell, column});
}

void RowBatch::refer_to_uri(std::size_t row, std::size_t cell, std::size_t column, std::string_view base) {
  const Cell uri = single_value(rows_[row].cells[column]);
  if (uri.kind == CellKind::kReference) return refer(row, cell, column, uri.reference);
  if (uri.kind == CellKind::kByteStrings) rows_[row].cells[cell] = uri;  // is rejected later, as a list
  if (uri.kind != CellKind::kBytes) return;
  Result<std::string> url = resolve_url(as_text(uri.data), base);
  if (!url) return fail(rows_[row], column, std::move(url).error());
  refer(row, cell, column, {.url = copy(*url)});
}

void RowBatch::fail(BatchRow& row, std::size_t column, Error error) {
  if (row.failure) return;
  row.failed_column = columns_[column];
  row.failure = std::move(error);
}

// Learns the mean size of fetched objects, so that the next batch has as many references as fit.
void RowBatch::learn_size(std::span<const FetchedReference> fetched) {
  std::uint64_t bytes = 0, count = 0;
  for (std::size_t i = 0; i < fetched.size(); ++i) {
    if (wanted_[i].size_bytes) continue;
    bytes += fetched[i].data.size();
    ++count;
  }
  if (count > 0) unknown_bytes_ = std::max(kLeastUnknownBytes, bytes / count);
}

Status RowBatch::follow(const BaseUrl& base) {
  wanted_.clear();
  followed_.clear();
  for (std::size_t row = 0; row < rows_.size(); ++row) {
    const std::span<const Cell> cells = rows_[row].cells;
    for (std::size_t i = 0; i < places_.uri_columns.size(); ++i) {
      refer_to_uri(row, places_.column_count + i, places_.uri_columns[i],
                   base(rows_[row].slice, rows_[row].place));
    }
    for (std::size_t column = 0; column < places_.column_count; ++column) {
      if (cells[column].kind == CellKind::kReference) refer(row, column, column, cells[column].reference);
    }
  }
  if (wanted_.empty()) return {};
  HEADRACE_TRY(const std::span<const FetchedReference> fetched, references_.fetch(wanted_));
  for (std::size_t i = 0; i < fetched.size(); ++i) {
    BatchRow& row = rows_[followed_[i].row];
    if (fetched[i].error) {
      fail(row, followed_[i].column, *fetched[i].error);
    } else {
      row.cells[followed_[i].cell] = {.kind = CellKind::kBytes, .data = fetched[i].data};
    }
  }
  learn_size(fetched);
  return {};
}

Result<std::string> resolve_url(std::string_view text, std::string_view base) {
  const std::string_view url = trim(text);
  const std::string_view folder = base.substr(0, base.rfind('/'));
  const std::optional<StagedPart> staged = staged_part(base);
  const std::string scheme = scheme_of(url), base_scheme = scheme_of(base);
  const bool is_local_table = staged ? !staged->is_from_store : base_scheme.empty() || base_scheme == "file";
  const bool is_local = url.starts_with('/') || scheme == "file";
  if (is_local && !is_local_table) {
    return Error{Code::kPermissionDenied, concat(printable_line(url, 200),
                                                 " is a file of this machine, which a "
                                                 "table in a store must not name")};
  }
  if (is_local || url.find("://") != url.npos) return std::string(url);
  if (is_staged_folder(folder)) {
    return Error{
        Code::kInvalidArgument,
        concat(printable_line(url, 200), " is relative, but rows of Python lie nowhere: write it as a URL")};
  }
  return concat(folder, "/", url.starts_with("./") ? url.substr(2) : url);
}

}  // namespace headrace
