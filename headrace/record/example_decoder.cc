#include "headrace/record/example_decoder.h"

#include <algorithm>
#include <cstring>

#include "headrace/base/text.h"
#include "headrace/record/example_wire.h"

namespace headrace {
namespace {

// Places beyond are looked up instead of predicted, so that strange records do not fill the memory.
constexpr std::size_t kMaxExpected = 256;
constexpr std::size_t kMaxExpectedName = 256;

// Counts all values; keeps those for which there is room.
template <typename T>
struct FixedSink {
  T* out;
  std::size_t room;
  std::size_t count = 0;

  void put(T value) {
    if (count < room) out[count] = value;
    ++count;
  }
  void floats(BytesView packed) {
    if constexpr (std::is_same_v<T, float>) {
      const std::size_t added = packed.size() / 4;
      if (added > 0 && added <= room - std::min(count, room))
        std::memcpy(out + count, packed.data(), packed.size());
      count += added;
    }
  }
  void int64(std::int64_t value) {
    if constexpr (std::is_same_v<T, std::int64_t>) put(value);
  }
  void bytes(BytesView value) {
    if constexpr (std::is_same_v<T, BytesView>) put(value);
  }
};

template <typename T>
struct RaggedSink {
  std::vector<T>& out;

  void floats(BytesView packed) {
    if constexpr (std::is_same_v<T, float>) {
      const std::size_t before = out.size();
      out.resize(before + packed.size() / 4);
      if (!packed.empty()) std::memcpy(out.data() + before, packed.data(), packed.size());
    }
  }
  void int64(std::int64_t value) {
    if constexpr (std::is_same_v<T, std::int64_t>) out.push_back(value);
  }
  void bytes(BytesView value) {
    if constexpr (std::is_same_v<T, BytesView>) out.push_back(value);
  }
};

template <typename Sink>
bool walk_values(const FeatureKind& kind, Sink& sink) {
  return walk_lists(kind, [&](BytesView list) { return walk_list_values(*kind.type, list, sink); });
}

struct CountingSink {
  std::size_t count = 0;
  void floats(BytesView packed) { count += packed.size() / 4; }
  void int64(std::int64_t) { ++count; }
  void bytes(BytesView) { ++count; }
};

Error mismatch(const Column& column, std::string_view found) {
  return {Code::kInvalidArgument,
          concat("feature \"", column.name, "\": ", describe_column(column), " is wanted, ", found)};
}

Error wrong_count(const Column& column, std::size_t found) {
  return mismatch(column, concat(data_type_name(column.type), "[", found, "] was found"));
}

Error malformed_feature(const Column& column) {
  return {Code::kDataLoss, concat("not a tf.Example: malformed feature \"", column.name, "\"")};
}

// The default, or the type's empty value.
template <typename T>
T default_of(const Column& column) {
  const T* value = std::get_if<T>(&column.default_value);
  return value != nullptr ? *value : T{};
}
template <>
BytesView default_of(const Column& column) {
  const auto* value = std::get_if<std::string>(&column.default_value);
  return value != nullptr ? as_bytes(*value) : BytesView();
}

Status fill_missing(const Column& column, const ColumnBuffer& buffer, std::size_t row) {
  if (column.required && column.default_value.index() == 0) {
    const std::string_view separator = column.advice.empty() ? "" : "; ";
    return mismatch(column, concat("but the example does not have it", separator, column.advice));
  }
  const std::size_t length = column.length.value_or(0);  // a ragged column gets an empty row
  const auto fill = [&]<typename T>(T* target) {
    std::fill_n(target + row * length, length, default_of<T>(column));
  };
  if (const auto* floats = std::get_if<float*>(&buffer)) fill(*floats);
  if (const auto* integers = std::get_if<std::int64_t*>(&buffer)) fill(*integers);
  if (const auto* texts = std::get_if<BytesView*>(&buffer)) fill(*texts);
  return {};
}

template <typename T>
Status decode_fixed(const Column& column, const FeatureKind& kind, T* target) {
  FixedSink<T> sink{target, *column.length};
  if (!walk_values(kind, sink)) return malformed_feature(column);
  if (sink.count == *column.length) return {};
  return wrong_count(column, sink.count);
}

template <typename T>
Status decode_ragged(const Column& column, const FeatureKind& kind, std::vector<T>& target) {
  const std::size_t before = target.size();
  RaggedSink<T> sink{target};
  if (!walk_values(kind, sink)) return malformed_feature(column);
  const std::size_t count = target.size() - before;
  if (count == 0 || !column.count_if_present || count == *column.count_if_present) return {};
  return wrong_count(column, count);
}

Status decode_column(const Column& column, const std::optional<BytesView>& feature,
                     const ColumnBuffer& buffer, std::size_t row) {
  FeatureKind kind;
  if (feature && !find_feature_kind(*feature, kind)) return malformed_feature(column);
  if (!kind.type) return fill_missing(column, buffer, row);
  if (*kind.type != column.type) {
    CountingSink counted;
    if (!walk_values(kind, counted)) return malformed_feature(column);
    return mismatch(column, concat(data_type_name(*kind.type), "[", counted.count, "] was found"));
  }
  const std::size_t first = row * column.length.value_or(0);
  switch (buffer.index()) {
    case 0:
      return decode_fixed(column, kind, std::get<0>(buffer) + first);
    case 1:
      return decode_fixed(column, kind, std::get<1>(buffer) + first);
    case 2:
      return decode_fixed(column, kind, std::get<2>(buffer) + first);
    case 3:
      return decode_ragged(column, kind, *std::get<3>(buffer));
    case 4:
      return decode_ragged(column, kind, *std::get<4>(buffer));
    default:
      return decode_ragged(column, kind, *std::get<5>(buffer));
  }
}

// Index of the alternative of ColumnBuffer that a column needs.
std::size_t buffer_index(const Column& column) {
  const std::size_t type = column.type == DataType::kFloat32 ? 0 : column.type == DataType::kInt64 ? 1 : 2;
  return column.length ? type : type + 3;
}

Status check_default(const Column& column) {
  constexpr DataType kTypes[] = {DataType::kFloat32, DataType::kInt64, DataType::kBytes};
  const std::size_t index = column.default_value.index();
  if (index == 0 || (column.length && kTypes[index - 1] == column.type)) return {};
  return Error{Code::kInvalidArgument,
               concat("feature \"", column.name, "\": ", describe_column(column),
                      " cannot have a default of type ", data_type_name(kTypes[index - 1]))};
}

// The vector of a ragged column as what can be asked for its size and cut back to it.
template <typename Use>
void with_ragged(const ColumnBuffer& buffer, Use&& use) {
  if (const auto* floats = std::get_if<3>(&buffer)) use(**floats);
  if (const auto* integers = std::get_if<4>(&buffer)) use(**integers);
  if (const auto* texts = std::get_if<5>(&buffer)) use(**texts);
}

}  // namespace

std::string describe_column(const Column& column) {
  const std::string_view type = data_type_name(column.type);
  if (!column.length && column.count_if_present) return concat(type, "[0 or ", *column.count_if_present, "]");
  if (!column.length) return concat(type, "[any]");
  return *column.length == 1 ? std::string(type) : concat(type, "[", *column.length, "]");
}

ExampleDecoder::ExampleDecoder(std::vector<Column> columns)
    : columns_(std::move(columns)),
      by_name_(columns_.size()),
      found_(columns_.size()),
      sizes_before_(columns_.size()) {
  for (std::size_t i = 0; i < columns_.size(); ++i) by_name_[i] = static_cast<int>(i);
  std::sort(by_name_.begin(), by_name_.end(),
            [this](int a, int b) { return columns_[a].name < columns_[b].name; });
}

Result<ExampleDecoder> ExampleDecoder::create(std::vector<Column> columns) {
  for (const Column& column : columns) HEADRACE_CHECK(check_default(column));
  ExampleDecoder decoder(std::move(columns));
  for (std::size_t i = 1; i < decoder.by_name_.size(); ++i) {
    const std::string& name = decoder.columns_[decoder.by_name_[i]].name;
    if (name == decoder.columns_[decoder.by_name_[i - 1]].name) {
      return Error{Code::kInvalidArgument, concat("feature \"", name, "\" is selected twice")};
    }
  }
  return decoder;
}

int ExampleDecoder::column_of(std::string_view name, std::size_t place) {
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

bool ExampleDecoder::gather(BytesView record) {
  std::fill(found_.begin(), found_.end(), std::nullopt);
  std::size_t place = 0;
  return walk_features(record, [&](std::string_view name, BytesView feature) {
    const int column = column_of(name, place++);
    if (column != kNoColumn) found_[column] = feature;
    return true;
  });
}

Status ExampleDecoder::decode(BytesView record, std::span<const ColumnBuffer> buffers, std::size_t row) {
  if (buffers.size() != columns_.size()) {
    return Error{Code::kInvalidArgument,
                 concat(buffers.size(), " buffers for ", columns_.size(), " columns")};
  }
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (buffers[i].index() != buffer_index(columns_[i])) {
      return Error{Code::kInvalidArgument, concat("feature \"", columns_[i].name, "\": the buffer is not of ",
                                                  describe_column(columns_[i]))};
    }
    with_ragged(buffers[i], [&](const auto& values) { sizes_before_[i] = values.size(); });
  }
  if (!gather(record)) return Error{Code::kDataLoss, "not a tf.Example: malformed message"};
  Status status = decode_columns(buffers, row);
  if (!status) {
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      with_ragged(buffers[i], [&](auto& values) { values.resize(sizes_before_[i]); });
    }
  }
  return status;
}

Status ExampleDecoder::decode_columns(std::span<const ColumnBuffer> buffers, std::size_t row) const {
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    HEADRACE_CHECK(decode_column(columns_[i], found_[i], buffers[i], row));
  }
  return {};
}

}  // namespace headrace
