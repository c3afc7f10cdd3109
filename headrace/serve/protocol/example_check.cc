#include "headrace/serve/protocol/example_check.h"

#include "headrace/base/wire.h"

namespace headrace {
namespace {

// Whether a message is well-formed, and `is_right` holds for each field with this number.
template <typename IsRight>
bool is_message(BytesView message, std::uint32_t number, IsRight is_right) {
  WireReader reader(message);
  for (WireField field; reader.next(field);) {
    if (field.number == number && !is_right(field)) return false;
  }
  return !reader.malformed();
}

bool are_varints(BytesView packed) {
  std::uint64_t value = 0;
  for (std::size_t position = 0; position < packed.size();) {
    if (!read_varint(packed, position, value)) return false;
  }
  return true;
}

bool is_int64_value(const WireField& field) {
  return field.type == WireType::kVarint || (field.type == WireType::kBytes && are_varints(field.bytes));
}

bool is_float_value(const WireField& field) {
  return field.type == WireType::kFixed32 ||
         (field.type == WireType::kBytes && field.bytes.size() % sizeof(float) == 0);
}

bool is_bytes_value(const WireField& field) { return field.type == WireType::kBytes; }

bool is_feature(BytesView message) {
  WireReader reader(message);
  for (WireField field; reader.next(field);) {
    if (field.number < 1 || field.number > 3) continue;
    if (field.type != WireType::kBytes) return false;
    const auto is_right = field.number == 1   ? is_bytes_value
                          : field.number == 2 ? is_float_value
                                              : is_int64_value;
    if (!is_message(field.bytes, 1, is_right)) return false;
  }
  return !reader.malformed();
}

// Returns a predicate: the field holds bytes, and they pass the check.
template <typename Check>
auto content_is(Check check) {
  return [check](const WireField& field) { return field.type == WireType::kBytes && check(field.bytes); };
}

bool is_feature_entry(BytesView entry) {
  return is_message(entry, 1, is_bytes_value) && is_message(entry, 2, content_is(is_feature));
}

bool is_features(BytesView features) { return is_message(features, 1, content_is(is_feature_entry)); }

}  // namespace

bool is_example(BytesView message) { return is_message(message, 1, content_is(is_features)); }

}  // namespace headrace
