#pragma once

/// \file Walks the bytes of a tf.Example, for parse_example, ExampleDecoder and the source of records in
/// prepare/.

#include <optional>
#include <string_view>

#include "headrace/base/wire.h"
#include "headrace/record/example.h"

namespace headrace {

/// Calls `visit(name, feature_message)` for each entry of the map, in stored order. If a name is repeated,
/// its last entry counts. Within an entry, the last key and the last value count; a missing key or value is
/// empty. Returns false if the message is malformed or `visit` returns false.
template <typename Visit>
bool walk_features(BytesView record, Visit&& visit) {
  WireReader example(record);
  for (WireField features; example.next(features);) {
    if (features.number != 1 || features.type != WireType::kBytes) continue;
    WireReader map(features.bytes);
    for (WireField entry; map.next(entry);) {
      if (entry.number != 1 || entry.type != WireType::kBytes) continue;
      WireReader pair(entry.bytes);
      std::string_view name;
      BytesView feature = entry.bytes.first(0);
      for (WireField field; pair.next(field);) {
        if (field.type != WireType::kBytes) continue;
        if (field.number == 1) name = field.as_text();
        if (field.number == 2) feature = field.bytes;
      }
      if (pair.malformed() || !visit(name, feature)) return false;
    }
    if (map.malformed()) return false;
  }
  return !example.malformed();
}

/// The kind of list that a Feature message holds, and the part of the message from where that kind was last
/// chosen. All lists of the kind in that part are one list, because protobuf merges the occurrences of a
/// message.
struct FeatureKind {
  std::optional<DataType> type;
  BytesView lists;
};

/// Finds the kind of a Feature message; `kind.type` is none if it has none. Returns false if the message is
/// malformed.
inline bool find_feature_kind(BytesView feature, FeatureKind& kind) {
  kind = {std::nullopt, feature};
  WireReader reader(feature);
  std::size_t start = 0;
  for (WireField field; reader.next(field); start = reader.position()) {
    if (field.type != WireType::kBytes || field.number < 1 || field.number > 3) continue;
    const DataType type = kFeatureTypes[field.number - 1];
    if (kind.type != type) kind = {type, feature.subspan(start)};
  }
  return !reader.malformed();
}

/// Calls `visit(message)` for each …List message of `kind`. Returns false if the message is malformed or
/// `visit` returns false. REQUIRES: `kind` comes from `find_feature_kind` and has a type.
template <typename Visit>
bool walk_lists(const FeatureKind& kind, Visit&& visit) {
  WireReader reader(kind.lists);
  for (WireField field; reader.next(field);) {
    const bool is_list = field.type == WireType::kBytes && field.number == feature_field(*kind.type);
    if (is_list && !visit(field.bytes)) return false;
  }
  return !reader.malformed();
}

/// Passes the values of one …List message to `sink`. The sink has `floats(BytesView packed)` for a run of
/// little-endian float32 (a multiple of four bytes), and `int64(std::int64_t)` and `bytes(BytesView)` for
/// single values. A field 1 with a wire type that the list cannot have is unknown, and is skipped. Returns
/// false if the message is malformed.
template <typename Sink>
bool walk_list_values(DataType type, BytesView list, Sink&& sink) {
  WireReader reader(list);
  for (WireField field; reader.next(field);) {
    if (field.number != 1) continue;
    if (type == DataType::kBytes) {
      if (field.type == WireType::kBytes) sink.bytes(field.bytes);
    } else if (type == DataType::kFloat32) {
      if (field.type == WireType::kBytes) {
        if (field.bytes.size() % 4 != 0) return false;
        sink.floats(field.bytes);
      } else if (field.type == WireType::kFixed32) {
        sink.floats(list.subspan(reader.position() - 4, 4));
      }
    } else if (field.type == WireType::kVarint) {
      sink.int64(field.as_int64());
    } else if (field.type == WireType::kBytes) {
      std::uint64_t value = 0;
      for (std::size_t at = 0; at < field.bytes.size();) {
        if (!read_varint(field.bytes, at, value)) return false;
        sink.int64(static_cast<std::int64_t>(value));
      }
    }
  }
  return !reader.malformed();
}

}  // namespace headrace
