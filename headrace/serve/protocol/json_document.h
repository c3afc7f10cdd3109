#pragma once

/// \file A fast JSON parser for requests. It makes a tree that is read in place.
///
///   HEADRACE_TRY(const JsonDocument document, JsonDocument::parse(body));
///   const auto instances = document.root().find("instances");
///   if (instances && instances->kind() == JsonKind::kArray) … instances->elements() …
///
/// For Headrace's own documents use base/json.h: that parser is strict, and ten times slower.

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

/// Number of bytes that must be readable after a text that is parsed without a copy.
inline constexpr std::size_t kJsonPaddingBytes = 64;

/// kInt64 is an integer from −2^63 to 2^63 − 1, kUint64 a larger integer below 2^64, and kDouble any other
/// number, including NaN and the infinities.
enum class JsonKind : std::uint8_t { kNull, kBool, kInt64, kUint64, kDouble, kString, kArray, kObject };

struct JsonNodeMember;

/// A value in a JsonDocument, which must outlive it. Small; copies are cheap. Threads may read it together.
class JsonNode {
 public:
  JsonKind kind() const;
  bool is_array() const { return kind() == JsonKind::kArray; }
  bool is_object() const { return kind() == JsonKind::kObject; }
  bool is_string() const { return kind() == JsonKind::kString; }

  /// The value. REQUIRES, for each of these functions: the value is of that kind
  bool boolean() const;
  std::int64_t int64() const;
  std::uint64_t uint64() const;
  double number() const;
  /// The string in UTF-8, with its escapes decoded. Valid as long as the document.
  std::string_view text() const;

  /// Number of elements of an array or members of an object. Cost: constant below 2^24 − 1, else linear.
  /// REQUIRES: an array or an object
  std::size_t size() const;
  /// The first element. REQUIRES: a non-empty array
  JsonNode first() const;
  /// In order. REQUIRES: an array
  std::vector<JsonNode> elements() const;
  /// In order; names may repeat. REQUIRES: an object
  std::vector<JsonNodeMember> members() const;
  /// The first member with this name; nullopt if there is none or the value is not an object. Cost: linear in
  /// the number of members.
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

/// A parsed text. A value; copies share the tree. Threads may read it together.
class JsonDocument {
 public:
  /// Parses a text, which is not needed afterwards. Copies the text unless `is_padded`, which requires that
  /// kJsonPaddingBytes are readable after it. In addition to RFC 8259 it accepts what TensorFlow Serving
  /// accepts: NaN, Infinity and Inf, with or without a minus; a byte order mark; integers of more than 64
  /// bits, as doubles; any bytes after the first value.
  /// \error kInvalidArgument    the text is not JSON in UTF-8 (the message says where), is nested deeper than
  ///                            kJsonDepthLimit, or has a number out of the range of double
  /// \error kResourceExhausted  there is no memory, or the text has 4 GiB or more
  /// Cost: linear time. Reserves at most 20 bytes of memory for each byte of the text, and touches only as
  /// much as the values need.
  static Result<JsonDocument> parse(std::string_view text, bool is_padded = false);

  JsonNode root() const;
  /// Size of the text: an upper bound on the elements of any tensor in it.
  std::size_t text_bytes() const;

 private:
  struct Tree;
  explicit JsonDocument(std::shared_ptr<const Tree> tree) : tree_(std::move(tree)) {}
  std::shared_ptr<const Tree> tree_;
};

/// Writes nested lists of these `sizes` (a scalar if there are none) to `out` as a row-major tensor of
/// `type`. `out` may have any alignment. Numbers are converted as TensorFlow Serving does: integers become
/// floating point only where no digit is lost (below 2^24 for float32, below 2^53 for float64), doubles never
/// become integers, nothing wraps, and booleans are not numbers.
/// Returns false at the first value that does not fit; `out` is then partly written.
/// REQUIRES: has_json_numbers(type); `out` has room for all elements
bool read_json_numbers(const JsonNode& value, std::span<const std::int64_t> sizes, DataType type,
                       std::byte* out);

/// Whether JSON can express the elements of this type as numbers or booleans: not for complex numbers,
/// quantized types, floating point of 16 bits or less, and byte strings.
bool has_json_numbers(DataType type);

}  // namespace headrace
