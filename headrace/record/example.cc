#include "headrace/record/example.h"

#include <algorithm>
#include <array>

#include "headrace/base/text.h"
#include "headrace/record/example_wire.h"

namespace headrace {
namespace {

// The tag of a length-delimited field with number 1, 2 or 3.
constexpr std::byte tag_of(std::size_t field) { return static_cast<std::byte>(field << 3 | 2); }

std::size_t delimited_size(std::size_t bytes) { return 1 + varint_size(bytes) + bytes; }

// Collects the tags and lengths of nested fields, to append them in one step.
class Header {
 public:
  Header& add(std::size_t field, std::size_t bytes) {
    bytes_[size_++] = tag_of(field);
    for (; bytes >= 0x80; bytes >>= 7) bytes_[size_++] = static_cast<std::byte>(bytes | 0x80);
    bytes_[size_++] = static_cast<std::byte>(bytes);
    return *this;
  }
  void append_to(Bytes& out) const { append(out, BytesView(bytes_).first(size_)); }

 private:
  std::array<std::byte, std::size_t{3} * 11> bytes_{};  // for three fields
  std::size_t size_ = 0;
};

std::size_t packed_size(std::span<const std::int64_t> values) {
  std::size_t bytes = 0;
  for (const std::int64_t value : values) bytes += varint_size(static_cast<std::uint64_t>(value));
  return bytes;
}

struct ValueCollector {
  Feature& feature;

  void bytes(BytesView value) { std::get<std::vector<BytesView>>(feature.values).push_back(value); }
  void floats(BytesView packed) {
    auto& values = std::get<std::vector<float>>(feature.values);
    for (std::size_t at = 0; at < packed.size(); at += 4) {
      values.push_back(load_little_endian<float>(packed.data() + at));
    }
  }
  void int64(std::int64_t value) { std::get<std::vector<std::int64_t>>(feature.values).push_back(value); }
};

bool parse_feature(BytesView message, Feature& feature) {
  FeatureKind kind;
  if (!find_feature_kind(message, kind)) return false;
  if (!kind.type) return true;
  switch (*kind.type) {
    case DataType::kBytes:
      feature.values.emplace<std::vector<BytesView>>();
      break;
    case DataType::kFloat32:
      feature.values.emplace<std::vector<float>>();
      break;
    default:
      feature.values.emplace<std::vector<std::int64_t>>();
  }
  return walk_lists(
      kind, [&](BytesView list) { return walk_list_values(*kind.type, list, ValueCollector{feature}); });
}

}  // namespace

void ExampleBuilder::add_floats(std::string_view name, std::span<const float> values) {
  add_packed_floats(name, std::as_bytes(values));
}
void ExampleBuilder::add_packed_floats(std::string_view name, BytesView values) {
  add({name, PackedFloats{values}});
}
void ExampleBuilder::add_int64s(std::string_view name, std::span<const std::int64_t> values) {
  add({name, values});
}
void ExampleBuilder::add_bytes(std::string_view name, BytesView value) { add({name, value}); }
void ExampleBuilder::add_bytes_list(std::string_view name, std::span<const BytesView> values) {
  add({name, values});
}

void ExampleBuilder::add(Entry entry) {
  const auto place =
      std::lower_bound(entries_.begin(), entries_.end(), entry.name,
                       [](const Entry& other, std::string_view name) { return other.name < name; });
  if (place != entries_.end() && place->name == entry.name) {
    *place = entry;
  } else {
    entries_.insert(place, entry);
  }
}

// Computes the sizes of the map entry's content and of its list.
void ExampleBuilder::measure(Entry& entry) {
  entry.content_bytes = 0;
  if (const auto* value = std::get_if<BytesView>(&entry.values)) {
    entry.content_bytes = value->size();
    entry.list_bytes = delimited_size(value->size());
  } else if (const auto* values = std::get_if<std::span<const BytesView>>(&entry.values)) {
    entry.list_bytes = 0;
    for (const BytesView item : *values) entry.list_bytes += delimited_size(item.size());
  } else {
    const auto* floats = std::get_if<PackedFloats>(&entry.values);
    entry.content_bytes = floats != nullptr
                              ? floats->bytes.size()
                              : packed_size(std::get<std::span<const std::int64_t>>(entry.values));
    entry.list_bytes = entry.content_bytes == 0 ? 0 : delimited_size(entry.content_bytes);
  }
  entry.entry_bytes = delimited_size(entry.name.size()) + delimited_size(delimited_size(entry.list_bytes));
}

// Writes the map entry.
void ExampleBuilder::write(const Entry& entry, Bytes& out) {
  Header().add(1, entry.entry_bytes).add(1, entry.name.size()).append_to(out);
  append(out, as_bytes(entry.name));
  // The alternatives BytesView and span of BytesView are field 1. Then come float (2) and int64 (3).
  const std::size_t kind = std::max<std::size_t>(entry.values.index(), 1);
  Header header;
  header.add(2, delimited_size(entry.list_bytes)).add(kind, entry.list_bytes);
  if (const auto* values = std::get_if<std::span<const BytesView>>(&entry.values)) {
    header.append_to(out);
    for (const BytesView item : *values) {
      Header().add(1, item.size()).append_to(out);
      append(out, item);
    }
    return;
  }
  if (entry.list_bytes > 0) header.add(1, entry.content_bytes);
  header.append_to(out);
  if (const auto* value = std::get_if<BytesView>(&entry.values)) append(out, *value);
  if (const auto* floats = std::get_if<PackedFloats>(&entry.values)) append(out, floats->bytes);
  if (const auto* integers = std::get_if<std::span<const std::int64_t>>(&entry.values)) {
    for (const std::int64_t integer : *integers) append_varint(out, static_cast<std::uint64_t>(integer));
  }
}

void ExampleBuilder::append_to(Bytes& out) {
  if (entries_.empty()) return;
  std::size_t features_bytes = 0;
  for (Entry& entry : entries_) {
    measure(entry);
    features_bytes += delimited_size(entry.entry_bytes);
  }
  Header().add(1, features_bytes).append_to(out);
  for (const Entry& entry : entries_) write(entry, out);
  entries_.clear();
}

Result<std::vector<Feature>> parse_example(BytesView record) {
  std::vector<Feature> features;
  std::string failed;
  const bool sound = walk_features(record, [&](std::string_view name, BytesView message) {
    features.push_back({std::string(name), {}});
    if (parse_feature(message, features.back())) return true;
    failed = concat(" (feature \"", name, "\")");
    return false;
  });
  if (!sound) return Error{Code::kDataLoss, concat("not a tf.Example: malformed message", failed)};
  // If a name occurs twice, the last feature is kept: a stable sort of the reversed list puts it first.
  std::reverse(features.begin(), features.end());
  std::stable_sort(features.begin(), features.end(),
                   [](const Feature& a, const Feature& b) { return a.name < b.name; });
  const auto end = std::unique(features.begin(), features.end(),
                               [](const Feature& a, const Feature& b) { return a.name == b.name; });
  features.erase(end, features.end());
  return features;
}

}  // namespace headrace
