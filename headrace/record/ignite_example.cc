#include "headrace/record/ignite_example.h"

#include <utility>
#include <variant>

#include "headrace/record/example.h"
#include "headrace/record/ignite_row_features.h"

namespace headrace {
namespace {

using Int64s = std::vector<std::int64_t>;
using Floats = std::vector<float>;
using Texts = std::vector<std::string>;

struct Describe {
  std::string_view name;

  IgniteFeature of(DataType type, std::size_t count) const {
    return {.name = std::string(name), .type = type, .value_count = count};
  }
  IgniteFeature operator()(std::monostate) const { return of(DataType::kInt64, 0); }
  IgniteFeature operator()(std::int64_t) const { return of(DataType::kInt64, 1); }
  IgniteFeature operator()(const Int64s& integers) const { return of(DataType::kInt64, integers.size()); }
  IgniteFeature operator()(float) const { return of(DataType::kFloat32, 1); }
  IgniteFeature operator()(IgniteFloats floats) const { return of(DataType::kFloat32, floats.size()); }
  IgniteFeature operator()(const Floats& floats) const { return of(DataType::kFloat32, floats.size()); }
  IgniteFeature operator()(BytesView) const { return of(DataType::kBytes, 1); }
  IgniteFeature operator()(const Texts& texts) const { return of(DataType::kBytes, texts.size()); }
};

/// Passes a feature to a builder, which keeps a reference to the values.
struct AddTo {
  ExampleBuilder& builder;
  std::vector<std::vector<BytesView>>& views;
  std::string_view name;

  void operator()(std::monostate) const {}
  void operator()(const std::int64_t& integer) const { builder.add_int64s(name, {&integer, 1}); }
  void operator()(const Int64s& integers) const { builder.add_int64s(name, integers); }
  void operator()(const float& value) const { builder.add_floats(name, {&value, 1}); }
  void operator()(IgniteFloats floats) const { builder.add_packed_floats(name, floats.bytes); }
  void operator()(const Floats& floats) const { builder.add_floats(name, floats); }
  void operator()(BytesView bytes) const { builder.add_bytes(name, bytes); }
  void operator()(const Texts& texts) const {
    std::vector<BytesView>& list = views.emplace_back();
    for (const std::string& text : texts) list.push_back(as_bytes(text));
    builder.add_bytes_list(name, list);
  }
};

void append_features(std::span<const IgniteRowFeature> features, ExampleBuilder& builder, Bytes& out) {
  std::vector<std::vector<BytesView>> views;
  for (const IgniteRowFeature& feature : features)
    std::visit(AddTo{builder, views, feature.name}, feature.values);
  builder.append_to(out);
}

std::vector<IgniteFeature> described(std::span<const IgniteRowFeature> features) {
  std::vector<IgniteFeature> all;
  for (const IgniteRowFeature& feature : features)
    all.push_back(std::visit(Describe{feature.name}, feature.values));
  return all;
}

}  // namespace

Status append_ignite_row(std::span<const std::string> names, std::span<const ignite::Value> values,
                         Bytes& out) {
  const ignite::FieldPaths all({});
  IgniteFlattener flattener(all);
  for (std::size_t i = 0; i < names.size() && i < values.size(); ++i)
    HEADRACE_CHECK(flattener.add(names[i], values[i]));
  ExampleBuilder builder;
  append_features(flattener.features(), builder, out);
  return {};
}

Status append_ignite_example(const ignite::Value& key, const ignite::Value& value,
                             const std::vector<std::string>& columns, Bytes& out) {
  const ignite::FieldPaths paths(columns);
  IgniteFlattener flattener(paths);
  HEADRACE_CHECK(flattener.add("key", key));
  HEADRACE_CHECK(flattener.add("val", value));
  ExampleBuilder builder;
  append_features(flattener.features(), builder, out);
  return {};
}

Status append_formed_ignite_example(const ignite::Value& key, const ignite::Value& value, Bytes& out,
                                    IgniteFeatures& found) {
  const ignite::FieldPaths all({});
  std::vector<std::string> unsupported;
  IgniteFlattener flattener(all, &unsupported);
  HEADRACE_CHECK(flattener.add("key", key));
  HEADRACE_CHECK(flattener.add("val", value));
  ExampleBuilder builder;
  append_features(flattener.features(), builder, out);
  found = {described(flattener.features()), std::move(unsupported)};
  return {};
}

class IgniteRowEncoder::Rows {
 public:
  Rows(std::vector<std::string> columns, std::shared_ptr<ignite::BinaryTypes> types)
      : reader_(std::move(columns), std::move(types)) {}

  Status append(BytesView key, BytesView value, Bytes& out) {
    HEADRACE_CHECK(reader_.read(key, value));
    append_features(reader_.features(), builder_, out);
    return {};
  }

 private:
  IgniteRowReader reader_;
  ExampleBuilder builder_;
};

IgniteRowEncoder::IgniteRowEncoder(std::vector<std::string> columns,
                                   std::shared_ptr<ignite::BinaryTypes> types)
    : rows_(std::make_unique<Rows>(std::move(columns), std::move(types))) {}
IgniteRowEncoder::~IgniteRowEncoder() = default;

Status IgniteRowEncoder::append(BytesView key, BytesView value, Bytes& out) {
  return rows_->append(key, value, out);
}

}  // namespace headrace
