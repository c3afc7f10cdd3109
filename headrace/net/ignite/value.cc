#include "headrace/net/ignite/value.h"

#include <algorithm>

#include "headrace/base/text.h"

namespace headrace::ignite {
namespace {

TypeCode code_of(std::monostate) { return TypeCode::kComplex; }
TypeCode code_of(bool) { return TypeCode::kBool; }
TypeCode code_of(std::int8_t) { return TypeCode::kByte; }
TypeCode code_of(std::int16_t) { return TypeCode::kShort; }
TypeCode code_of(std::int32_t) { return TypeCode::kInt; }
TypeCode code_of(std::int64_t) { return TypeCode::kLong; }
TypeCode code_of(float) { return TypeCode::kFloat; }
TypeCode code_of(double) { return TypeCode::kDouble; }
TypeCode code_of(Char) { return TypeCode::kChar; }
TypeCode code_of(std::string_view) { return TypeCode::kString; }
TypeCode code_of(Uuid) { return TypeCode::kUuid; }
TypeCode code_of(Date) { return TypeCode::kDate; }
TypeCode code_of(Time) { return TypeCode::kTime; }
TypeCode code_of(Timestamp) { return TypeCode::kTimestamp; }
TypeCode code_of(const Decimal&) { return TypeCode::kDecimal; }
TypeCode code_of(const Enum& value) { return value.code; }
TypeCode code_of(const PrimitiveArray& array) { return array.code; }
TypeCode code_of(const Opaque& opaque) { return static_cast<TypeCode>(opaque.bytes[0]); }
TypeCode code_of(Cycle) { return TypeCode::kComplex; }
TypeCode code_of(const std::shared_ptr<const Group>& group) { return group->code; }
TypeCode code_of(const std::shared_ptr<const ComplexObject>&) { return TypeCode::kComplex; }

bool is_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

Error refused_name(std::string_view name) {
  return {Code::kInvalidArgument,
          concat("the name '", printable_line(name, 80),
                 "' of an Ignite type or field is not ASCII; use letters and digits")};
}

}  // namespace

TypeCode type_code(const Value& value) {
  return std::visit([](const auto& content) { return code_of(content); }, value);
}

Result<std::shared_ptr<const ComplexObject>> make_object(
    std::string_view type_name, std::vector<std::pair<std::string_view, Value>> fields) {
  if (!is_ascii(type_name)) return refused_name(type_name);
  auto type = std::make_shared<BinaryType>();
  type->id = name_id(type_name);
  type->name = type_name;
  std::vector<std::int32_t> ids;
  for (const auto& [name, value] : fields) {
    if (!is_ascii(name)) return refused_name(name);
    ids.push_back(name_id(name));
    type->fields.push_back({std::string(name), static_cast<std::int32_t>(type_code(value)), ids.back()});
  }
  std::sort(type->fields.begin(), type->fields.end(),
            [](const TypeField& a, const TypeField& b) { return a.id < b.id; });
  TypeSchema schema{.id = schema_id(ids), .fields = {}};
  auto object = std::make_shared<ComplexObject>();
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const TypeField* const field = type->find_field(ids[i]);
    if (field->name != fields[i].first) {
      return Error{Code::kInvalidArgument, concat("the fields '", field->name, "' and '", fields[i].first,
                                                  "' have the same id; Ignite ignores case in names")};
    }
    schema.fields.push_back(static_cast<std::size_t>(field - type->fields.data()));
    object->fields.push_back({ids[i], field->name, std::move(fields[i].second)});
  }
  if (std::adjacent_find(type->fields.begin(), type->fields.end(),
                         [](const TypeField& a, const TypeField& b) { return a.id == b.id; }) !=
      type->fields.end()) {
    return Error{Code::kInvalidArgument, concat("two fields of '", type_name, "' have the same name")};
  }
  if (!fields.empty()) type->schemas.push_back(std::move(schema));
  object->reference = {type->id, {}};
  object->type = std::move(type);
  return std::shared_ptr<const ComplexObject>(std::move(object));
}

}  // namespace headrace::ignite
