#pragma once

/// \file For tests: random values.

#include <deque>
#include <iterator>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "headrace/base/text.h"
#include "headrace/net/ignite/value.h"

namespace headrace::ignite {

/// Makes values. They view memory that this object owns. `types` holds the types of the objects that it has
/// made, each with all of its schemas.
class RandomValues {
 public:
  explicit RandomValues(std::uint64_t seed) : random_(seed) {}

  Value make(int depth = 0) {
    switch (below(depth > 4 ? 14 : 21)) {
      case 0:
        return {};
      case 1:
        return below(2) == 0;
      case 2:
        return static_cast<std::int8_t>(random_());
      case 3:
        return static_cast<std::int16_t>(random_());
      case 4:
        return static_cast<std::int32_t>(random_());
      case 5:
        return static_cast<std::int64_t>(random_());
      case 6:
        return static_cast<float>(below(1000)) / 8;
      case 7:
        return static_cast<double>(random_()) / 3;
      case 8:
        return Char{static_cast<char16_t>('a' + below(26))};
      case 9:
        return text();
      case 10:
        return Uuid{random_(), random_()};
      case 11:
        return date();
      case 12:
        return decimal();
      case 13:
        return primitive_array();
      case 14:
        return typed_array();
      case 15:
        return group(TypeCode::kObjectArray, depth);
      case 16:
        return group(TypeCode::kCollection, depth);
      case 17:
        return group(TypeCode::kMap, depth);
      default:
        return object(depth);
    }
  }

  std::map<std::int32_t, BinaryType> types;

 private:
  std::size_t below(std::size_t limit) { return random_() % limit; }
  std::string_view text() { return texts_.emplace_back(concat("text ", below(1000), " \xc3\xa9")); }
  BytesView bytes(std::size_t count) {
    Bytes& out = bytes_.emplace_back(count);
    for (std::byte& byte : out) byte = static_cast<std::byte>(random_());
    return out;
  }

  Value date() {
    const auto milliseconds = static_cast<std::int64_t>(random_() % (std::uint64_t{1} << 40));
    if (below(3) == 0) return Time{milliseconds};
    if (below(2) == 0) return Date{milliseconds};
    return Timestamp{milliseconds, static_cast<std::int32_t>(below(1'000'000))};
  }

  /// As BigInteger.toByteArray writes it, with no more bytes than necessary.
  Value decimal() {
    Bytes& out = bytes_.emplace_back(1 + below(12));
    for (std::byte& byte : out) byte = static_cast<std::byte>(1 + below(127));
    if (below(2) == 0) out[0] |= std::byte{0x80};
    return Decimal{static_cast<std::int32_t>(below(20)) - 5, out};
  }

  Value primitive_array() {
    constexpr TypeCode kCodes[] = {TypeCode::kByteArray, TypeCode::kShortArray, TypeCode::kIntArray,
                                   TypeCode::kLongArray};
    const TypeCode code = kCodes[below(std::size(kCodes))];
    const std::size_t limit = below(20) == 0 ? 70'000 : 10;
    return PrimitiveArray{code, bytes(below(limit) * primitive_bytes(code))};
  }

  Value typed_array() {
    auto out = std::make_shared<Group>();
    const bool uuids = below(2) == 0;
    out->code = uuids ? TypeCode::kUuidArray : TypeCode::kStringArray;
    for (std::size_t i = below(4); i > 0; --i) {
      out->values.push_back(below(4) == 0 ? Value() : uuids ? Value(Uuid{random_(), i}) : Value(text()));
    }
    return std::shared_ptr<const Group>(std::move(out));
  }

  Value group(TypeCode code, int depth) {
    auto out = std::make_shared<Group>();
    out->code = code;
    out->kind = code == TypeCode::kMap ? 2 : 1;
    for (std::size_t i = below(4); i > 0; --i) {
      if (code == TypeCode::kMap) out->values.push_back(static_cast<std::int32_t>(i));
      out->values.push_back(make(depth + 1));
    }
    if (out->values.size() > 1 && code == TypeCode::kCollection) out->values.push_back(out->values[0]);
    return std::shared_ptr<const Group>(std::move(out));
  }

  Value object(int depth) {
    std::vector<std::pair<std::string_view, Value>> fields;
    for (const char* const name : {"first", "Second", "third_3", "fourth"}) {
      if (below(3) > 0) fields.emplace_back(name, make(depth + 1));
    }
    // In the cluster, a field has one type. So each combination of fields and their kinds is a type of its
    // own.
    std::string name = "random.Type";
    for (const auto& [field, value] : fields) name += concat("_", field, static_cast<int>(type_code(value)));
    const std::shared_ptr<const ComplexObject> made = *make_object(name, std::move(fields));
    types[made->type->id] = *made->type;
    return made;
  }

  std::mt19937_64 random_;
  std::deque<std::string> texts_;
  std::deque<Bytes> bytes_;
};

}  // namespace headrace::ignite
