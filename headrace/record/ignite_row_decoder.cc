#include "headrace/record/ignite_row_decoder.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "headrace/net/ignite/object_size.h"

namespace headrace {
namespace {

/// Writes the values of a feature to its row of the column.
class ValueWriter {
 public:
  ValueWriter(const Column& column, const ColumnBuffer& buffer, std::size_t row,
              std::deque<std::string>& texts)
      : column_(column), buffer_(buffer), row_(row), texts_(texts) {}

  Status operator()(std::monostate) const { return fill_missing(column_, buffer_, row_); }
  Status operator()(std::int64_t integer) const { return copy(std::span<const std::int64_t>(&integer, 1)); }
  Status operator()(const std::vector<std::int64_t>& integers) const { return copy(std::span(integers)); }
  Status operator()(float number) const { return copy(std::span<const float>(&number, 1)); }
  Status operator()(const std::vector<float>& floats) const { return copy(std::span(floats)); }
  Status operator()(IgniteFloats floats) const {
    HEADRACE_TRY(float* const to, room_for<float>(DataType::kFloat32, floats.size()));
    if (floats.size() > 0) std::memcpy(to, floats.bytes.data(), floats.size() * sizeof(float));
    return {};
  }
  Status operator()(BytesView bytes) const { return copy(std::span<const BytesView>(&bytes, 1)); }
  Status operator()(const std::vector<std::string>& texts) const {
    HEADRACE_TRY(BytesView* const to, room_for<BytesView>(DataType::kBytes, texts.size()));
    for (std::size_t i = 0; i < texts.size(); ++i) to[i] = as_bytes(texts_.emplace_back(texts[i]));
    return {};
  }

 private:
  template <typename T>
  static constexpr DataType type_of() {
    if constexpr (std::is_same_v<T, float>) return DataType::kFloat32;
    if constexpr (std::is_same_v<T, std::int64_t>) return DataType::kInt64;
    return DataType::kBytes;
  }

  template <typename T>
  Status copy(std::span<const T> values) const {
    HEADRACE_TRY(T* const to, room_for<T>(type_of<T>(), values.size()));
    std::copy(values.begin(), values.end(), to);
    return {};
  }

  /// The place for `count` values, if the column takes so many values of this type.
  template <typename T>
  Result<T*> room_for(DataType type, std::size_t count) const {
    if (type != column_.type) return wrong_values(column_, type, count);
    if (column_.length) {
      if (count != *column_.length) return wrong_values(column_, type, count);
      return std::get<T*>(buffer_) + row_ * count;
    }
    if (count > 0 && column_.count_if_present && count != *column_.count_if_present)
      return wrong_values(column_, type, count);
    std::vector<T>& values = *std::get<std::vector<T>*>(buffer_);
    values.resize(values.size() + count);
    return values.data() + values.size() - count;
  }

  const Column& column_;
  const ColumnBuffer& buffer_;
  const std::size_t row_;
  std::deque<std::string>& texts_;
};

}  // namespace

IgniteRowDecoder::IgniteRowDecoder(std::vector<Column> columns, std::shared_ptr<ignite::BinaryTypes> types)
    : RecordDecoder(std::move(columns)),
      reader_(column_names(this->columns()), std::move(types)),
      found_(this->columns().size()) {}

Result<std::unique_ptr<RecordDecoder>> IgniteRowDecoder::create(std::vector<Column> columns,
                                                                std::shared_ptr<ignite::BinaryTypes> types) {
  HEADRACE_CHECK(check_columns(columns));
  return std::unique_ptr<RecordDecoder>(new IgniteRowDecoder(std::move(columns), std::move(types)));
}

Status IgniteRowDecoder::find_features(BytesView record) {
  HEADRACE_TRY(const std::size_t key_bytes, ignite::object_size(record));
  HEADRACE_CHECK(reader_.read(record.first(key_bytes), record.subspan(key_bytes)));
  std::fill(found_.begin(), found_.end(), nullptr);
  std::size_t place = 0;
  for (const IgniteRowFeature& feature : reader_.features()) {
    const int column = column_of(feature.name, place++);
    if (column != kNoColumn) found_[column] = &feature.values;
  }
  return {};
}

Status IgniteRowDecoder::write(std::size_t column, const ColumnBuffer& buffer, std::size_t row) {
  static constexpr IgniteValues kMissing;
  const IgniteValues& values = found_[column] != nullptr ? *found_[column] : kMissing;
  return std::visit(ValueWriter(columns()[column], buffer, row, texts_), values);
}

}  // namespace headrace
