#include "headrace/record/example_decoder.h"

#include <algorithm>
#include <cstring>

#include "headrace/base/text.h"
#include "headrace/record/example_wire.h"

namespace headrace {
namespace {

// Counts all values, and keeps as many as there is room for.
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

Error malformed_feature(const Column& column) {
  return {Code::kDataLoss, concat("not a tf.Example: malformed feature \"", column.name, "\"")};
}

template <typename T>
Status decode_fixed(const Column& column, const FeatureKind& kind, T* target) {
  FixedSink<T> sink{target, *column.length};
  if (!walk_values(kind, sink)) return malformed_feature(column);
  if (sink.count == *column.length) return {};
  return wrong_values(column, *kind.type, sink.count);
}

template <typename T>
Status decode_ragged(const Column& column, const FeatureKind& kind, std::vector<T>& target) {
  const std::size_t before = target.size();
  RaggedSink<T> sink{target};
  if (!walk_values(kind, sink)) return malformed_feature(column);
  const std::size_t count = target.size() - before;
  if (count == 0 || !column.count_if_present || count == *column.count_if_present) return {};
  return wrong_values(column, *kind.type, count);
}

Status decode_column(const Column& column, const std::optional<BytesView>& feature,
                     const ColumnBuffer& buffer, std::size_t row) {
  FeatureKind kind;
  if (feature && !find_feature_kind(*feature, kind)) return malformed_feature(column);
  if (!kind.type) return fill_missing(column, buffer, row);
  if (*kind.type != column.type) {
    CountingSink counted;
    if (!walk_values(kind, counted)) return malformed_feature(column);
    return wrong_values(column, *kind.type, counted.count);
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

}  // namespace

ExampleDecoder::ExampleDecoder(std::vector<Column> columns)
    : RecordDecoder(std::move(columns)), found_(this->columns().size()) {}

Result<ExampleDecoder> ExampleDecoder::create(std::vector<Column> columns) {
  HEADRACE_CHECK(check_columns(columns));
  return ExampleDecoder(std::move(columns));
}

Status ExampleDecoder::find_features(BytesView record) {
  std::fill(found_.begin(), found_.end(), std::nullopt);
  std::size_t place = 0;
  const bool is_example = walk_features(record, [&](std::string_view name, BytesView feature) {
    const int column = column_of(name, place++);
    if (column != kNoColumn) found_[column] = feature;
    return true;
  });
  if (is_example) return {};
  return Error{Code::kDataLoss, "not a tf.Example: malformed message"};
}

Status ExampleDecoder::write(std::size_t column, const ColumnBuffer& buffer, std::size_t row) {
  return decode_column(columns()[column], found_[column], buffer, row);
}

}  // namespace headrace
