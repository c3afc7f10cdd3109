#pragma once

/// \file tf.Example, the message in a TFRecord of a dataset: named features, each a list of byte strings, of
/// float32 or of int64. Writing, and reading whole. For decoding into batches see example_decoder.h.
///
///   message Example { Features features = 1; }
///   message Features { map<string, Feature> feature = 1; }
///   message Feature { oneof kind { BytesList bytes_list = 1; FloatList float_list = 2; Int64List int64_list
///   = 3; } } message …List { repeated … value = 1 [packed = true]; }
///
/// Source: tensorflow/core/example/{example,feature}.proto.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "headrace/base/bytes.h"
#include "headrace/base/data_type.h"
#include "headrace/base/result.h"

namespace headrace {

/// The types of a feature, in the order of the fields of Feature, which count from 1.
inline constexpr DataType kFeatureTypes[] = {DataType::kBytes, DataType::kFloat32, DataType::kInt64};

/// The field of Feature that has lists of `type`. REQUIRES: one of kFeatureTypes
constexpr std::uint32_t feature_field(DataType type) {
  return type == DataType::kBytes ? 1 : type == DataType::kFloat32 ? 2 : 3;
}

/// Serializes Examples, one after another. The bytes depend on the features alone, not on the order in which
/// they were added: ascending by name, number lists packed, as protobuf's deterministic serialization in C++
/// writes. Borrows names and values until `append_to`. One thread at a time.
class ExampleBuilder {
 public:
  /// A name that was added before is replaced.
  void add_floats(std::string_view name, std::span<const float> values);
  /// Little-endian float32 at any alignment. REQUIRES: a multiple of four bytes
  void add_packed_floats(std::string_view name, BytesView values);
  void add_int64s(std::string_view name, std::span<const std::int64_t> values);
  void add_bytes(std::string_view name, BytesView value);
  void add_bytes_list(std::string_view name, std::span<const BytesView> values);

  /// Appends the message (unframed) and forgets the features. Allocates only what `out` grows by.
  void append_to(Bytes& out);
  /// Forgets the features.
  void clear() { entries_.clear(); }

 private:
  struct PackedFloats {
    BytesView bytes;
  };
  struct Entry {
    std::string_view name;
    std::variant<BytesView, std::span<const BytesView>, PackedFloats, std::span<const std::int64_t>> values;
    std::size_t content_bytes = 0;  // of the one byte string, or of the packed numbers
    std::size_t list_bytes = 0;     // of the …List message
    std::size_t entry_bytes = 0;    // of the map entry's content
  };
  void add(Entry entry);
  static void measure(Entry& entry);
  static void write(const Entry& entry, Bytes& out);

  std::vector<Entry> entries_;
};

/// A feature of a parsed Example. `monostate`: present, but of no kind (written so by some for "missing").
struct Feature {
  std::string name;
  std::variant<std::monostate, std::vector<BytesView>, std::vector<float>, std::vector<std::int64_t>> values;
};

/// Reads a whole Example of any content, for inspecting and for finding out a schema: features ascending by
/// name, of equal names the last. Accepts packed and unpacked lists and unknown fields. Byte strings view
/// `record`. Memory: at most some 100 times the record, for one of nothing but empty features.
/// \error kDataLoss  not a tf.Example; the message names the feature where one is to blame
Result<std::vector<Feature>> parse_example(BytesView record);

}  // namespace headrace
