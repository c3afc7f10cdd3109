#pragma once

/// \file The JSON text of a request, parsed fast into a tree that is read where it lies.
///
///   HEADRACE_TRY(const JsonDocument document, JsonDocument::parse(body));
///   const auto instances = document.root().find("instances");
///   if (instances && instances->kind() == JsonKind::kArray) … instances->elements() …
///
/// base/json.h is for documents of Headrace's own: that parser is strict, and ten times slower.

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "headrace/base/data_type.h"
#include "headrace/base/result.h"

namespace headrace {

/// Bytes that must be readable behind a text which is parsed without a copy.
inline constexpr std::size_t kJsonPaddingBytes = 64;

/// kInt64: an integer from −2^63 to 2^63 − 1, kUint64: a larger one below 2^64, kDouble: any other number,
/// NaN and the infinities too.
enum class JsonKind : std::uint8_t { kNull, kBool, kInt64, kUint64, kDouble, kString, kArray, kObject };

struct JsonNodeMember;

/// A value in a JsonDocument, which must outlive it. Small; copies are cheap. Constant functions may be
/// called together.
class JsonNode {
 public:
  JsonKind kind() const;
  bool is_array() const { return kind() == JsonKind::kArray; }
  bool is_object() const { return kind() == JsonKind::kObject; }
  bool is_string() const { return kind() == JsonKind::kString; }

  /// REQUIRES, for each: the value is of that kind.
  bool boolean() const;
  std::int64_t int64() const;
  std::uint64_t uint64() const;
  double number() const;
  /// Without escapes, in UTF-8. Valid as long as the document.
  std::string_view text() const;

  /// Elements of an array, members of an object. Time: constant, linear from 2^24 − 1 on.
  /// REQUIRES: an array or an object
  std::size_t size() const;
  /// REQUIRES: an array with elements
  JsonNode first() const;
  /// In order. REQUIRES: an array
  std::vector<JsonNode> elements() const;
  /// In order; names may repeat. REQUIRES: an object
  std::vector<JsonNodeMember> members() const;
  /// The first member of this name; none if there is none, or this is no object. Time: linear in the members.
  std::optional<JsonNode> find(std::string_view name) const;

 private:
  friend class JsonDocument;
  friend struct JsonAccess;
  std::array<std::uint64_t, 2> place_{};  // simdjson's own handle
  bool has_markers_ = false;              // strings may stand for NaN and infinities
};

struct JsonNodeMember {
  std::string_view name;
  JsonNode value;
};

/// A parsed text. A value, whose copies share the tree; threads may read it together.
class JsonDocument {
 public:
  /// Copies the text, unless `is_padded`: then kJsonPaddingBytes are readable behind it. The text is not
  /// needed afterwards. Beyond RFC 8259 it takes what TensorFlow Serving takes: NaN, Infinity, Inf, each
  /// with a minus or not; a byte order mark; integers of more than 64 bits, as doubles; any bytes behind the
  /// first value.
  /// \error kInvalidArgument    no JSON in UTF-8 (the message says where), nested deeper than
  ///                            kJsonDepthLimit, or a number beyond double's range
  /// \error kResourceExhausted  no memory, or 4 GiB or more
  /// Time: linear. Memory: at most 20 bytes for each byte of the text, of which those are touched that the
  /// values need.
  static Result<JsonDocument> parse(std::string_view text, bool is_padded = false);

  JsonNode root() const;
  /// Size of the text. No tensor in it has more elements.
  std::size_t text_bytes() const;

 private:
  struct Tree;
  explicit JsonDocument(std::shared_ptr<const Tree> tree) : tree_(std::move(tree)) {}
  std::shared_ptr<const Tree> tree_;
};

/// Writes lists that nest as `sizes` say (a scalar, if there are none) as a row-major tensor of `type` to
/// `out`, which has room for all elements, at any alignment of the type. Numbers are converted as TensorFlow
/// Serving does: integers become floating point only where none is lost (below 2^24 for float32, 2^53 for
/// float64), doubles never become integers, nothing wraps; booleans are no numbers.
/// Returns false at the first value that does not fit; `out` is then partly written.
/// REQUIRES: has_json_numbers(type)
bool read_json_numbers(const JsonNode& value, std::span<const std::int64_t> sizes, DataType type,
                       std::byte* out);

/// Whether a tensor of this type has numbers or booleans that JSON can express: not for complex numbers,
/// quantized types, and floating point of 16 bits or less, nor for byte strings.
bool has_json_numbers(DataType type);

}  // namespace headrace
