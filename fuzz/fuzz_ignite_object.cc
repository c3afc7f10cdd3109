#include <algorithm>
#include <cstdlib>

#include "headrace/net/ignite/object_decoder.h"
#include "headrace/net/ignite/object_encoder.h"
#include "headrace/net/ignite/object_size.h"
#include "headrace/net/ignite/value_text.h"

namespace headrace::ignite {
namespace {

/// The description of a type at the front of the input, if there is one, and where it ends.
std::optional<BinaryType> described(BytesView& input) {
  if (input.empty()) return std::nullopt;
  const auto size = std::min<std::size_t>(std::to_integer<std::size_t>(input[0]), input.size() - 1);
  Result<std::optional<BinaryType>> type = read_binary_type(input.subspan(1, size));
  input = input.subspan(1 + size);
  if (!type || !*type) return std::nullopt;
  Bytes written = {std::byte{1}};
  append_binary_type(**type, written);
  const Result<std::optional<BinaryType>> again = read_binary_type(written);
  if (!again || !*again || (*again)->fields.size() != (*type)->fields.size()) std::abort();
  return *std::move(type);
}

/// A value that is written and read again is the same, and is written alike.
void check_round_trip(const Value& value, BinaryTypes& types) {
  Bytes written;
  if (!append_object(value, {}, written)) return;
  const Result<std::size_t> size = object_size(written);
  if (!size || *size != written.size()) std::abort();
  const Result<Value> again = decode_object(written, types);
  // Fields of an object with ids in the footer are no schema that the cluster knows.
  if (!again) return;
  Bytes second;
  if (!append_object(*again, {}, second) || second != written) std::abort();
}

/// A field of the object that is selected is the same as in the object that is decoded as a whole.
void check_selection(BytesView bytes, const Value& whole, BinaryTypes& types) {
  const auto* const object = std::get_if<std::shared_ptr<const ComplexObject>>(&whole);
  if (object == nullptr || (*object)->fields.empty()) return;
  const ComplexObject::Field& wanted = (*object)->fields.back();
  FieldSelector selector(FieldPaths({field_path("v", wanted.name, wanted.id)}), types);
  DecodeBudget budget;
  SelectedFields selected;
  if (!select_fields(bytes, selector, *selector.level("v"), budget, selected)) return;
  if (selected.fields.empty()) std::abort();
  const Result<Json> expected = to_json(wanted.value), found = to_json(selected.fields.back().value);
  if (expected && (!found || found->dump() != expected->dump())) std::abort();
}

/// The same where the whole may be damaged: the paths lead to no more than the names that the input gave.
void select_any(BytesView bytes, const std::optional<BinaryType>& type, BinaryTypes& types) {
  std::vector<std::string> paths = {"v.#97.#98"};
  if (type && !type->fields.empty()) {
    const std::string first = field_path("v", type->fields.front().name, type->fields.front().id);
    paths = {first + "." + type->fields.back().name, first + ".#1"};
  }
  FieldSelector selector(FieldPaths(std::move(paths)), types);
  DecodeBudget budget;
  SelectedFields selected;
  (void)select_fields(bytes, selector, *selector.level("v"), budget, selected);
}

}  // namespace
}  // namespace headrace::ignite

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace headrace;
  using namespace headrace::ignite;
  BytesView input = std::as_bytes(std::span(data, size));
  const std::optional<BinaryType> type = described(input);
  BinaryTypes types([&type](std::int32_t) -> Result<std::optional<BinaryType>> { return type; });
  const Result<std::size_t> object = object_size(input);
  if (object && *object > input.size()) std::abort();
  if (!object) return 0;
  select_any(input.first(*object), type, types);
  const Result<Value> value = decode_object(input.first(*object), types);
  if (!value) return 0;
  (void)to_json(*value);
  check_selection(input.first(*object), *value, types);
  check_round_trip(*value, types);
  return 0;
}
