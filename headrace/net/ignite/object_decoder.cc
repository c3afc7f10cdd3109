#include "headrace/net/ignite/object_decoder.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "headrace/base/text.h"
#include "headrace/net/ignite/object_cursor.h"
#include "headrace/net/ignite/object_size.h"

namespace headrace::ignite {
namespace {

/// Memory that a shared object needs besides itself: for its count of owners, and for its entry in `known_`.
constexpr std::size_t kSharedBytes = 32 + 96;

/// The id by which the cluster knows a type.
std::int32_t id_of(const TypeReference& type) {
  return type.id == kUnregisteredType ? name_id(type.class_name) : type.id;
}

/// Where the parts of a complex object lie; offsets in the scope.
struct ObjectLayout {
  std::size_t start = 0;
  std::uint16_t flags = 0;
  std::int32_t schema_id = 0;
  std::size_t data = 0;        // after header and class name
  std::size_t data_end = 0;    // end of fields and raw data: the footer begins here
  std::size_t raw = 0;         // where raw data begins; data_end if there is none
  std::size_t footer_end = 0;  // without the raw offset
  std::size_t end = 0;

  std::size_t offset_bytes() const { return flags & kOneByteOffsets ? 1 : flags & kTwoByteOffsets ? 2 : 4; }
  std::size_t entry_bytes() const { return offset_bytes() + (flags & kCompactFooter ? 0 : 4); }
  std::size_t field_count() const { return (footer_end - data_end) / entry_bytes(); }
  bool has_values_at(std::size_t offset) const { return start + offset >= data && start + offset < raw; }
};

bool can_be_referred_to(TypeCode code) {
  return code == TypeCode::kComplex || code == TypeCode::kObjectArray || code == TypeCode::kCollection ||
         code == TypeCode::kMap || code == TypeCode::kEnumArray;
}

enum class References { kFollow, kRefuse };

/// Decodes the objects of one scope: the bytes within which references are offsets. A wrapped object's bytes
/// are a scope of their own.
class ScopeDecoder {
 public:
  ScopeDecoder(BytesView scope, BinaryTypes& types, DecodeBudget& budget,
               References references = References::kFollow)
      : scope_(scope), unread_bytes_(scope.size()), types_(types), budget_(budget), references_(references) {}

  /// The greatest depth of the decoded objects, including shared ones.
  int deepest() const { return deepest_; }

  /// Decodes the object at `cursor`, and moves `cursor` past it.
  Result<Value> decode(ObjectCursor& cursor, int depth) {
    const std::size_t start = cursor.position();
    HEADRACE_CHECK(reach(depth, start));
    HEADRACE_CHECK(spend(1, start));
    TypeCode code{};
    if (!cursor.read(code)) return ended(start);
    switch (code) {
      case TypeCode::kNull:
        return Value();
      case TypeCode::kByte:
        return number<std::int8_t>(cursor);
      case TypeCode::kShort:
        return number<std::int16_t>(cursor);
      case TypeCode::kInt:
        return number<std::int32_t>(cursor);
      case TypeCode::kLong:
        return number<std::int64_t>(cursor);
      case TypeCode::kFloat:
        return number<float>(cursor);
      case TypeCode::kDouble:
        return number<double>(cursor);
      case TypeCode::kHandle:
        return reference(cursor, depth);
      case TypeCode::kWrapped:
        return wrapped(cursor, depth);
      case TypeCode::kComplex:
        return complex(cursor, depth);
      default:
        return code <= TypeCode::kDate || code == TypeCode::kTime ? small(cursor, code)
                                                                  : large(cursor, code, depth);
    }
  }

  /// Finds the values at the paths that `level` describes, in the object at `cursor`. Moves `cursor` past an
  /// object that it has searched. Returns false if the object must be decoded as a whole. REQUIRES:
  /// References::kRefuse
  bool select(ObjectCursor& cursor, int depth, FieldSelector& selector, FieldLevel& level,
              SelectedFields& out) {
    if (level.is_selected) {
      if (!claim(sizeof(SelectedFields::Field), cursor.position())) return false;
      Result<Value> value = decode(cursor, depth);
      if (value) out.fields.push_back({level.name, *std::move(value)});
      return value.has_value();
    }
    ++out.passed_by;
    const std::size_t start = cursor.position();
    TypeCode code{};
    if (!reach(depth, start) || !spend(1, start) || !cursor.read(code)) return false;
    if (code == TypeCode::kComplex) return select_fields(cursor, depth, selector, level, out);
    if (code != TypeCode::kWrapped) return code == TypeCode::kNull;
    Result<ObjectCursor> inner = unwrap(cursor);
    if (!inner) return false;
    ScopeDecoder decoder(inner->bytes(), types_, budget_, references_);
    return decoder.select(*inner, depth + 1, selector, level, out);
  }

 private:
  Error damaged(std::size_t at, std::string_view reason) const {
    return {Code::kDataLoss, concat("the Ignite object at byte ", at, " is damaged: ", reason)};
  }
  Error ended(std::size_t at) const { return damaged(at, "the bytes end inside it"); }

  /// Counts the bytes of an object that is decoded in its place. If there are more such bytes than the scope
  /// has, offsets make parts overlap, which may be an attack.
  Status spend(std::size_t bytes, std::size_t at) {
    if (unread_bytes_ < bytes) return damaged(at, "its parts overlap");
    unread_bytes_ -= bytes;
    return {};
  }

  /// Takes memory from the budget, before it is allocated.
  Status claim(std::size_t bytes, std::size_t at) {
    if (budget_.bytes < bytes) {
      return Error{Code::kResourceExhausted,
                   concat("the Ignite object at byte ", at, " needs more memory than is left for its page; ",
                          "read fewer rows per page, or store arrays of numbers")};
    }
    budget_.bytes -= bytes;
    return {};
  }

  Status reach(int depth, std::size_t at) {
    if (depth > kObjectDepthLimit) return damaged(at, concat("objects nest deeper than ", kObjectDepthLimit));
    deepest_ = std::max(deepest_, depth);
    return {};
  }

  /// Decodes the parts of the object at `start` with `parts`. References to the object from within its parts
  /// are cycles.
  template <typename Object, typename Parts>
  Result<Value> shared(std::shared_ptr<Object> object, std::size_t start, int depth, const Parts& parts) {
    const int deepest_before = std::exchange(deepest_, depth);
    known_[start] = {Cycle(), 1};
    HEADRACE_CHECK(parts());
    const Known& known =
        known_[start] = {std::shared_ptr<const Object>(std::move(object)), deepest_ - depth + 1};
    deepest_ = std::max(deepest_, deepest_before);
    return known.value;
  }

  template <typename T>
  Result<Value> number(ObjectCursor& cursor) const {
    T value{};
    if (!cursor.read(value)) return ended(cursor.position() - 1);
    return Value(value);
  }

  Result<Value> small(ObjectCursor& cursor, TypeCode code) const {
    const std::size_t start = cursor.position() - 1;
    std::uint8_t byte = 0;
    std::uint16_t unit = 0;
    std::int64_t milliseconds = 0;
    Uuid uuid;
    BytesView bytes;
    switch (code) {
      case TypeCode::kBool:
        if (cursor.read(byte)) return Value(byte != 0);
        break;
      case TypeCode::kChar:
        if (cursor.read(unit)) return Value(Char{static_cast<char16_t>(unit)});
        break;
      case TypeCode::kString:
        if (cursor.take_counted(bytes)) return Value(as_text(bytes));
        break;
      case TypeCode::kUuid:
        if (cursor.read(uuid.high) && cursor.read(uuid.low)) return Value(uuid);
        break;
      case TypeCode::kDate:
        if (cursor.read(milliseconds)) return Value(Date{milliseconds});
        break;
      case TypeCode::kTime:
        if (cursor.read(milliseconds)) return Value(Time{milliseconds});
        break;
      default:
        return damaged(start, concat("no type has the code ", static_cast<int>(code)));
    }
    return ended(start);
  }

  Result<Value> large(ObjectCursor& cursor, TypeCode code, int depth) {
    switch (code) {
      case TypeCode::kTimestamp:
        return timestamp(cursor);
      case TypeCode::kDecimal:
        return decimal(cursor);
      case TypeCode::kEnum:
      case TypeCode::kBinaryEnum:
        return enumerated(cursor, code);
      case TypeCode::kClass:
      case TypeCode::kProxy:
      case TypeCode::kJavaSerialized:
        return opaque(cursor, code);
      case TypeCode::kStringArray:
      case TypeCode::kUuidArray:
      case TypeCode::kDateArray:
      case TypeCode::kTimestampArray:
      case TypeCode::kTimeArray:
      case TypeCode::kDecimalArray:
      case TypeCode::kObjectArray:
      case TypeCode::kEnumArray:
      case TypeCode::kCollection:
      case TypeCode::kMap:
        return group(cursor, code, depth);
      default:
        return primitive_array(cursor, code);
    }
  }

  Result<Value> timestamp(ObjectCursor& cursor) const {
    Timestamp value;
    const std::size_t start = cursor.position() - 1;
    if (!cursor.read(value.milliseconds) || !cursor.read(value.nanoseconds)) return ended(start);
    return Value(value);
  }

  Result<Value> decimal(ObjectCursor& cursor) const {
    Decimal value;
    const std::size_t start = cursor.position() - 1;
    if (!cursor.read(value.scale) || !cursor.take_counted(value.magnitude)) return ended(start);
    if (value.magnitude.empty()) return damaged(start, "a decimal has no digits");
    return Value(value);
  }

  Result<Value> primitive_array(ObjectCursor& cursor, TypeCode code) const {
    PrimitiveArray array{.code = code, .bytes = {}};
    const std::size_t start = cursor.position() - 1;
    const std::size_t element = primitive_bytes(code);
    if (element == 0) return damaged(start, concat("no type has the code ", static_cast<int>(code)));
    std::size_t count = 0;
    if (!cursor.read_count(element, count) || !cursor.take(count * element, array.bytes)) return ended(start);
    return Value(array);
  }

  bool read_type(ObjectCursor& cursor, TypeReference& type) const {
    return cursor.read(type.id) && (type.id != kUnregisteredType || cursor.take_name(type.class_name));
  }

  Result<Value> enumerated(ObjectCursor& cursor, TypeCode code) const {
    Enum value{.type = {}, .ordinal = 0, .code = code};
    const std::size_t start = cursor.position() - 1;
    if (!read_type(cursor, value.type) || !cursor.read(value.ordinal)) return ended(start);
    return Value(value);
  }

  /// Whether bytes of an unknown layout hold a reference to an object that begins before them.
  bool looks_referring(std::size_t begin, std::size_t end) const {
    for (std::size_t at = begin; at + 5 <= end; ++at) {
      if (static_cast<TypeCode>(scope_[at]) != TypeCode::kHandle) continue;
      const auto back = load_little_endian<std::int32_t>(scope_.data() + at + 1);
      const std::int64_t target = static_cast<std::int64_t>(at) - back;
      if (target >= 0 && target < static_cast<std::int64_t>(begin) &&
          can_be_referred_to(static_cast<TypeCode>(scope_[static_cast<std::size_t>(target)]))) {
        return true;
      }
    }
    return false;
  }

  Result<Value> opaque(ObjectCursor& cursor, TypeCode code) {
    const std::size_t start = cursor.position() - 1;
    const BytesView from_here = cursor.bytes().subspan(start);
    HEADRACE_TRY(const std::size_t size, object_size(from_here));
    HEADRACE_CHECK(spend(size - 1, start));
    cursor.skip(size - 1);
    const bool refers_before = code == TypeCode::kProxy && looks_referring(start, start + size);
    return Value(Opaque{from_here.first(size), refers_before});
  }

  Result<Value> group(ObjectCursor& cursor, TypeCode code, int depth) {
    const std::size_t start = cursor.position() - 1;
    auto group = std::make_shared<Group>();
    group->code = code;
    const bool typed = code == TypeCode::kObjectArray || code == TypeCode::kEnumArray;
    const bool kinded = code == TypeCode::kCollection || code == TypeCode::kMap;
    const std::size_t per_count = code == TypeCode::kMap ? 2 : 1;
    std::size_t count = 0;
    if ((typed && !read_type(cursor, group->element_type)) || !cursor.read_count(per_count, count) ||
        (kinded && !cursor.read(group->kind))) {
      return ended(start);
    }
    count *= per_count;
    HEADRACE_CHECK(claim(kSharedBytes + sizeof(Group) + count * sizeof(Value), start));
    std::vector<Value>& values = group->values;
    values.reserve(count);
    return shared(std::move(group), start, depth, [&]() -> Status {
      for (std::size_t i = 0; i < count; ++i) {
        HEADRACE_TRY(Value value, decode(cursor, depth + 1));
        values.push_back(std::move(value));
      }
      return {};
    });
  }

  Result<Value> reference(ObjectCursor& cursor, int depth) {
    const std::size_t start = cursor.position() - 1;
    std::int32_t back = 0;
    if (references_ == References::kRefuse) return damaged(start, "it is a reference");
    if (!cursor.read(back)) return ended(start);
    const std::int64_t target = static_cast<std::int64_t>(start) - back;
    if (target < 0 || target >= static_cast<std::int64_t>(scope_.size())) {
      return damaged(start, "it refers to a place outside of the decoded bytes");
    }
    const auto at = static_cast<std::size_t>(target);
    if (const auto found = known_.find(at); found != known_.end()) {
      HEADRACE_CHECK(reach(depth + found->second.height - 1, start));
      return found->second.value;
    }
    // Objects that were rebuilt without their fields may refer to objects that are not decoded otherwise.
    const auto code = static_cast<TypeCode>(scope_[at]);
    if (!can_be_referred_to(code)) {
      return damaged(start, concat("it refers to byte ", at, ", where no object lies"));
    }
    ObjectCursor elsewhere(scope_, at);
    return decode(elsewhere, depth + 1);
  }

  /// Returns where the wrapped object begins, in a scope of its own, and moves `cursor` past the wrapper.
  Result<ObjectCursor> unwrap(ObjectCursor& cursor) {
    const std::size_t start = cursor.position() - 1;
    BytesView inner;
    std::int32_t offset = 0;
    if (!cursor.take_counted(inner) || !cursor.read(offset)) return ended(start);
    if (offset < 0 || static_cast<std::size_t>(offset) >= inner.size()) {
      return damaged(start, concat("the wrapped object's offset is ", offset));
    }
    HEADRACE_CHECK(spend(inner.size(), start));
    return ObjectCursor(inner, static_cast<std::size_t>(offset));
  }

  Result<Value> wrapped(ObjectCursor& cursor, int depth) {
    const std::size_t start = cursor.position() - 1;
    HEADRACE_TRY(ObjectCursor at, unwrap(cursor));
    ScopeDecoder decoder(at.bytes(), types_, budget_, references_);
    Result<Value> value = decoder.decode(at, depth + 1);
    deepest_ = std::max(deepest_, decoder.deepest());
    if (!value) return std::move(value).error().in(concat("in the object wrapped at byte ", start));
    return value;
  }

  Result<ObjectLayout> layout(ObjectCursor& cursor, TypeReference& type) const;
  Result<Value> complex(ObjectCursor& cursor, int depth);
  Status decode_fields(const ObjectLayout& layout, ComplexObject& object, int depth);
  bool select_fields(ObjectCursor& cursor, int depth, FieldSelector& selector, FieldLevel& level,
                     SelectedFields& out);
  std::uint32_t offset_of_field(const ObjectLayout& parts, std::size_t index) const;

  struct Known {
    Value value;     // Cycle while it is being decoded
    int height = 1;  // of the tree below it
  };

  BytesView scope_;
  std::size_t unread_bytes_;
  BinaryTypes& types_;
  DecodeBudget& budget_;
  const References references_;
  int deepest_ = 0;
  std::unordered_map<std::size_t, Known> known_;  // by offset
};

Result<ObjectLayout> ScopeDecoder::layout(ObjectCursor& cursor, TypeReference& type) const {
  ObjectLayout out{.start = cursor.position() - 1};
  std::uint8_t version = 0;
  std::int32_t hash_code = 0;
  std::uint32_t size = 0;
  std::uint32_t footer = 0;
  if (!cursor.read(version) || !cursor.read(out.flags) || !cursor.read(type.id) || !cursor.read(hash_code) ||
      !cursor.read(size) || !cursor.read(out.schema_id) || !cursor.read(footer)) {
    return ended(out.start);
  }
  if (version != kObjectVersion) return damaged(out.start, concat("its version is ", int{version}));
  if (size < kHeaderBytes || size - kHeaderBytes > cursor.remaining()) {
    return damaged(out.start, concat("its size is ", size, " bytes"));
  }
  if (type.id == kUnregisteredType && !cursor.take_name(type.class_name)) return ended(out.start);
  const bool has_schema = (out.flags & kHasSchema) != 0;
  const bool has_raw = (out.flags & kHasRawData) != 0;
  out.data = cursor.position();
  out.end = out.footer_end = out.start + size;
  if (out.data > out.end) return ended(out.start);
  out.data_end = has_schema ? out.start + footer : out.end;
  out.raw = out.data_end;
  if (has_schema && has_raw) {
    if (size < kHeaderBytes + 4) return ended(out.start);
    out.footer_end -= 4;
    out.raw = out.start + load_little_endian<std::uint32_t>(scope_.data() + out.footer_end);
  } else if (has_raw) {
    out.raw = out.start + footer;
  }
  if (out.data_end > out.footer_end || out.raw > out.data_end || out.raw < out.data ||
      (out.footer_end - out.data_end) % out.entry_bytes() != 0) {
    return damaged(out.start, "its footer is not where the header says");
  }
  return out;
}

Result<Value> ScopeDecoder::complex(ObjectCursor& cursor, int depth) {
  auto object = std::make_shared<ComplexObject>();
  HEADRACE_TRY(const ObjectLayout parts, layout(cursor, object->reference));
  if (parts.end > cursor.bytes().size()) return ended(parts.start);
  HEADRACE_CHECK(
      claim(kSharedBytes + sizeof(ComplexObject) + parts.field_count() * sizeof(ComplexObject::Field),
            parts.start));
  object->user_type = (parts.flags & kUserType) != 0;
  object->has_raw_data = (parts.flags & kHasRawData) != 0;
  object->raw_data = scope_.subspan(parts.raw, parts.data_end - parts.raw);
  object->raw_refers_before = looks_referring(parts.raw, parts.data_end);
  if (parts.field_count() > 0) {
    const std::int32_t type_id = id_of(object->reference);
    const bool needs_schema = (parts.flags & kCompactFooter) != 0;
    Result<std::shared_ptr<const BinaryType>> type =
        types_.find(type_id, needs_schema ? std::optional(parts.schema_id) : std::nullopt);
    if (type) {
      object->type = *std::move(type);
    } else if (needs_schema || type.error().code != Code::kNotFound) {
      return std::move(type).error();
    }
  }
  cursor.skip(parts.end - cursor.position());
  ComplexObject& decoded = *object;
  return shared(std::move(object), parts.start, depth, [&] { return decode_fields(parts, decoded, depth); });
}

std::uint32_t ScopeDecoder::offset_of_field(const ObjectLayout& parts, std::size_t index) const {
  std::uint32_t offset = 0;
  const std::size_t end = parts.data_end + (index + 1) * parts.entry_bytes();
  std::memcpy(&offset, scope_.data() + end - parts.offset_bytes(), parts.offset_bytes());
  return offset;
}

Status ScopeDecoder::decode_fields(const ObjectLayout& parts, ComplexObject& object, int depth) {
  if (parts.field_count() == 0) return {};
  const bool compact = (parts.flags & kCompactFooter) != 0;
  const TypeSchema* const schema = compact ? object.type->find_schema(parts.schema_id) : nullptr;
  if (compact && schema->fields.size() != parts.field_count()) {
    return damaged(parts.start,
                   concat("it has ", parts.field_count(), " fields, its schema has ", schema->fields.size()));
  }
  object.fields.reserve(parts.field_count());
  for (std::size_t i = 0; i < parts.field_count(); ++i) {
    ComplexObject::Field& field = object.fields.emplace_back();
    const TypeField* described = compact ? &object.type->fields[schema->fields[i]] : nullptr;
    if (!compact) {
      field.id = load_little_endian<std::int32_t>(scope_.data() + parts.data_end + i * parts.entry_bytes());
      described = object.type ? object.type->find_field(field.id) : nullptr;
    } else {
      field.id = described->id;
    }
    if (described) field.name = described->name;
    const std::uint32_t offset = offset_of_field(parts, i);
    if (!parts.has_values_at(offset))
      return damaged(parts.start, concat("the offset of its field ", i, " is ", offset));
    ObjectCursor content(scope_.first(parts.raw), parts.start + offset);
    Result<Value> value = decode(content, depth + 1);
    if (!value) return std::move(value).error();
    field.value = *std::move(value);
  }
  return {};
}

// A schema is known only for an object with a compact footer; other objects are decoded as a whole.
bool ScopeDecoder::select_fields(ObjectCursor& cursor, int depth, FieldSelector& selector, FieldLevel& level,
                                 SelectedFields& out) {
  TypeReference type;
  const Result<ObjectLayout> parts = layout(cursor, type);
  if (!parts || parts->end > cursor.bytes().size()) return false;
  cursor.skip(parts->end - cursor.position());
  if (parts->field_count() == 0) return true;
  if ((parts->flags & kCompactFooter) == 0) return false;
  const FieldPlan* const plan = selector.plan(level, id_of(type), parts->schema_id);
  if (plan == nullptr || plan->field_count != parts->field_count()) return false;
  out.passed_by += plan->field_count - plan->steps.size();
  for (const FieldPlan::Step& step : plan->steps) {
    const std::uint32_t offset = offset_of_field(*parts, step.index);
    if (!parts->has_values_at(offset)) return false;
    ObjectCursor content(scope_.first(parts->raw), parts->start + offset);
    if (!select(content, depth + 1, selector, *step.level, out)) return false;
  }
  return true;
}

}  // namespace

Result<Value> decode_object(BytesView bytes, BinaryTypes& types) {
  DecodeBudget budget;
  return decode_object(bytes, types, budget);
}

Result<Value> decode_object(BytesView bytes, BinaryTypes& types, DecodeBudget& budget) {
  ScopeDecoder decoder(bytes, types, budget);
  ObjectCursor cursor(bytes);
  HEADRACE_TRY(Value value, decoder.decode(cursor, 1));
  if (cursor.remaining() > 0) {
    return Error{Code::kDataLoss, concat(cursor.remaining(), " bytes follow the Ignite object, which takes ",
                                         cursor.position())};
  }
  return value;
}

bool select_fields(BytesView bytes, FieldSelector& selector, FieldLevel& level, DecodeBudget& budget,
                   SelectedFields& out) {
  ScopeDecoder decoder(bytes, selector.types(), budget, References::kRefuse);
  ObjectCursor cursor(bytes);
  return decoder.select(cursor, 1, selector, level, out) && cursor.remaining() == 0;
}

}  // namespace headrace::ignite
