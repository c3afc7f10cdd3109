#pragma once

/// \file Writes tf.Examples and reads whole ones. A tf.Example is the message in a TFRecord of a dataset:
/// named features, each a list of byte strings, of float32 or of int64. For decoding into batches see
/// example_decoder.h.
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

/// The types of a feature, in the order of the fields of Feature, whose numbers begin at 1.
inline constexpr DataType kFeatureTypes[] = {DataType::kBytes, DataType::kFloat32, DataType::kInt64};

/// The number of the field of Feature that holds lists of `type`. REQUIRES: `type` is one of kFeatureTypes.
constexpr std::uint32_t feature_field(DataType type) {
  return type == DataType::kBytes ? 1 : type == DataType::kFloat32 ? 2 : 3;
}

/// Serializes Examples, one after another. The bytes depend only on the features, not on the order in which
/// they were added: features ascend by name and lists of numbers are packed, as in protobuf's deterministic
/// serialization in C++. Borrows names and values until `append_to` or `clear`. Not thread-safe.
class ExampleBuilder {
 public:
  /// Add a feature. A feature of the same name is replaced.
  void add_floats(std::string_view name, std::span<const float> values);
  /// `values` are little-endian float32 at any alignment. REQUIRES: a multiple of four bytes.
  void add_packed_floats(std::string_view name, BytesView values);
  void add_int64s(std::string_view name, std::span<const std::int64_t> values);
  void add_bytes(std::string_view name, BytesView value);
  void add_bytes_list(std::string_view name, std::span<const BytesView> values);

  /// Appends the message (unframed) to `out` and drops the features. Allocates only as much as `out` grows.
  void append_to(Bytes& out);
  /// Drops the features.
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

/// A feature of a parsed Example. `monostate`: the feature is present but has no kind, which some writers use
/// for "missing".
struct Feature {
  std::string name;
  std::variant<std::monostate, std::vector<BytesView>, std::vector<float>, std::vector<std::int64_t>> values;
};

/// Reads a whole Example of any content, to inspect it or to find out its schema. The features ascend by
/// name; if a name is repeated, the last feature is kept. Accepts packed and unpacked lists and unknown
/// fields. Byte strings view `record`. Memory: at most some 100 times the record, if it has only empty
/// features.
/// \error kDataLoss  not a tf.Example; the message names the malformed feature, if there is one
Result<std::vector<Feature>> parse_example(BytesView record);

}  // namespace headrace
