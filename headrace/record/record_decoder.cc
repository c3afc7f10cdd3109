#include "headrace/record/record_decoder.h"

#include <algorithm>

#include "headrace/base/text.h"

namespace headrace {
namespace {

// Features beyond these limits are looked up instead of predicted, so that unusual records do not fill the
// memory.
constexpr std::size_t kMaxExpected = 256;
constexpr std::size_t kMaxExpectedName = 256;

}  // namespace

bool is_error_of_record(Code code) {
  return code == Code::kDataLoss || code == Code::kInvalidArgument || code == Code::kResourceExhausted ||
         code == Code::kNotFound;
}

RecordDecoder::RecordDecoder(std::vector<Column> columns)
    : columns_(std::move(columns)), by_name_(columns_.size()), sizes_before_(columns_.size()) {
  for (std::size_t i = 0; i < columns_.size(); ++i) by_name_[i] = static_cast<int>(i);
  std::sort(by_name_.begin(), by_name_.end(),
            [this](int a, int b) { return columns_[a].name < columns_[b].name; });
}

int RecordDecoder::column_of(std::string_view name, std::size_t place) {
  if (place < expected_.size() && expected_[place].first == name) return expected_[place].second;
  const auto at = std::lower_bound(
      by_name_.begin(), by_name_.end(), name,
      [this](int column, std::string_view wanted) { return columns_[column].name < wanted; });
  const int column = at != by_name_.end() && columns_[*at].name == name ? *at : kNoColumn;
  if (place < kMaxExpected && name.size() <= kMaxExpectedName) {
    if (place == expected_.size()) expected_.emplace_back();
    if (place < expected_.size()) expected_[place] = {std::string(name), column};
  }
  return column;
}

Status RecordDecoder::decode(BytesView record, std::span<const ColumnBuffer> buffers, std::size_t row) {
  if (buffers.size() != columns_.size()) {
    return Error{Code::kInvalidArgument,
                 concat(buffers.size(), " buffers for ", columns_.size(), " columns")};
  }
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    HEADRACE_CHECK(check_buffer(columns_[i], buffers[i]));
    with_ragged(buffers[i], [&](const auto& values) { sizes_before_[i] = values.size(); });
  }
  HEADRACE_CHECK(find_features(record));
  Status status = write_columns(buffers, row);
  if (!status) {
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      with_ragged(buffers[i], [&](auto& values) { values.resize(sizes_before_[i]); });
    }
  }
  return status;
}

Status RecordDecoder::write_columns(std::span<const ColumnBuffer> buffers, std::size_t row) {
  for (std::size_t i = 0; i < columns_.size(); ++i) HEADRACE_CHECK(write(i, buffers[i], row));
  return {};
}

}  // namespace headrace
