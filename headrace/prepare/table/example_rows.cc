// Rows of tf.Examples.

#include <algorithm>
#include <utility>
#include <vector>

#include "headrace/base/text.h"
#include "headrace/prepare/row/byte_strings.h"
#include "headrace/prepare/row/row_cells.h"
#include "headrace/prepare/table/record_rows.h"
#include "headrace/record/example_wire.h"

namespace headrace {
namespace {

constexpr std::size_t kQuotedBytes = 60;

RowProblem problem_of(std::string_view reason, std::string_view feature, std::string_view what = {}) {
  return {std::string(reason), concat("feature \"", printable_line(feature, kQuotedBytes), "\"", what)};
}

RowProblem no_example(std::string_view detail) { return {"not a tf.Example", std::string(detail)}; }

// The values of a feature. A single run of packed floats and a single byte string are borrowed.
struct Values {
  Bytes& made;
  std::uint64_t limit_bytes;  // largest size of `made`
  BytesView borrowed{};
  std::uint64_t byte_strings = 0;
  bool is_made = false;
  bool is_too_large = false;

  void bytes(BytesView value) {
    if (++byte_strings == 1) {
      borrowed = value;
      return;
    }
    if (byte_strings == 2) make_byte_string(borrowed);
    make_byte_string(value);
  }
  void floats(BytesView packed) {
    if (!is_made && borrowed.empty()) {
      borrowed = packed;
      return;
    }
    if (!is_made) make(borrowed);
    make(packed);
  }
  void int64(std::int64_t value) {
    std::byte bytes_of_value[sizeof value];
    store_little_endian(bytes_of_value, value);
    make(bytes_of_value);
  }
  void make(BytesView value) {
    is_made = true;
    is_too_large = is_too_large || made.size() + value.size() > limit_bytes;
    if (!is_too_large) append(made, value);
  }
  void make_byte_string(BytesView value) {
    is_made = true;
    const std::uint64_t size = sizeof(std::uint32_t) + value.size();
    is_too_large = is_too_large || value.size() > kMostByteStringBytes || made.size() + size > limit_bytes;
    if (!is_too_large) append_byte_string(made, value);
  }
};

CellKind cell_kind_of(DataType type, std::uint64_t byte_strings) {
  if (type == DataType::kFloat32) return CellKind::kFloats;
  if (type == DataType::kInt64) return CellKind::kInt64s;
  return byte_strings == 1 ? CellKind::kBytes : CellKind::kByteStrings;
}

class ExampleRows final : public RecordRows {
 public:
  explicit ExampleRows(std::uint64_t cell_limit_bytes) : cell_limit_bytes_(cell_limit_bytes) {}

  std::optional<RowProblem> begin(BytesView record) override {
    cells_.clear();
    if (auto problem = find_features(record)) return problem;
    for (const Feature& feature : features_) {
      if (auto problem = read_feature(feature)) return problem;
    }
    return std::nullopt;
  }
  std::uint64_t rows() const override { return 1; }
  std::optional<RowProblem> read(std::uint64_t) override { return std::nullopt; }
  std::span<const NamedCell> cells() override { return cells_.cells(); }

 private:
  struct Feature {
    std::string_view name;
    BytesView message;
  };
  std::optional<RowProblem> find_features(BytesView record);
  std::optional<RowProblem> read_feature(const Feature& feature);

  const std::uint64_t cell_limit_bytes_;
  std::vector<Feature> features_;
  RowCells cells_;
};

// If a name occurs twice, its last feature counts.
std::optional<RowProblem> ExampleRows::find_features(BytesView record) {
  features_.clear();
  const bool is_sound = walk_features(record, [&](std::string_view name, BytesView message) {
    features_.push_back({name, message});
    return features_.size() <= kMaxColumns;
  });
  if (features_.size() > kMaxColumns)
    return RowProblem{"too many columns", concat("more than ", kMaxColumns)};
  if (!is_sound) return no_example("malformed message");
  std::sort(features_.begin(), features_.end(), [](const Feature& a, const Feature& b) {
    return a.name != b.name ? a.name < b.name : a.message.data() < b.message.data();
  });
  const auto end = std::unique(features_.rbegin(), features_.rend(),
                               [](const Feature& a, const Feature& b) { return a.name == b.name; });
  features_.erase(features_.begin(), end.base());
  return std::nullopt;
}

std::optional<RowProblem> ExampleRows::read_feature(const Feature& feature) {
  const auto malformed = [&] { return problem_of("not a tf.Example", feature.name, ": malformed message"); };
  FeatureKind kind;
  if (!find_feature_kind(feature.message, kind)) return malformed();
  if (!kind.type) {
    cells_.add_missing(feature.name);
    return std::nullopt;
  }
  const std::size_t begin = cells_.made().size();
  const std::uint64_t row_left_bytes = row_limit_bytes(cell_limit_bytes_) - begin;
  Values values{.made = cells_.made(), .limit_bytes = begin + std::min(cell_limit_bytes_, row_left_bytes)};
  const bool is_sound =
      walk_lists(kind, [&](BytesView list) { return walk_list_values(*kind.type, list, values); });
  if (!is_sound) return malformed();
  if (values.is_too_large || values.borrowed.size() > cell_limit_bytes_) {
    return row_left_bytes < cell_limit_bytes_ ? problem_of("row larger than the limit", feature.name)
                                              : problem_of("cell larger than the limit", feature.name);
  }
  const CellKind cell_kind = cell_kind_of(*kind.type, values.byte_strings);
  if (values.is_made) {
    cells_.add_made(feature.name, cell_kind, begin);
  } else {
    cells_.add(feature.name, cell_kind, values.borrowed);
  }
  return std::nullopt;
}

}  // namespace

std::unique_ptr<RecordRows> make_example_rows(std::uint64_t cell_limit_bytes) {
  return std::make_unique<ExampleRows>(cell_limit_bytes);
}

}  // namespace headrace
