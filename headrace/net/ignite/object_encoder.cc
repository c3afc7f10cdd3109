#include "headrace/net/ignite/object_encoder.h"

#include <limits>
#include <unordered_map>

#include "headrace/base/text.h"

namespace headrace::ignite {
namespace {

/// Appends objects of one scope: references count from its first byte.
class ScopeEncoder {
 public:
  ScopeEncoder(const EncodeOptions& options, Bytes& out) : options_(options), out_(out), scope_(out.size()) {}

  Status encode(const Value& value, int depth) {
    if (depth > kObjectDepthLimit) return refused(concat("its objects nest deeper than ", kObjectDepthLimit));
    depth_ = depth;
    HEADRACE_CHECK(std::visit([this](const auto& content) { return write(content); }, value));
    if (out_.size() - scope_ > std::numeric_limits<std::int32_t>::max())
      return refused("it takes 2 GiB or more");
    return {};
  }

 private:
  static Error refused(std::string_view reason) {
    return {Code::kInvalidArgument, concat("the value cannot be written to Ignite: ", reason)};
  }

  void put(TypeCode code) { out_.push_back(static_cast<std::byte>(code)); }
  template <typename T>
  void put_number(T value) {
    append_little_endian(out_, value);
  }
  void put_counted(std::size_t count, BytesView bytes) {
    put_number(static_cast<std::int32_t>(count));
    append(out_, bytes);
  }
  void put_string(std::string_view text) {
    put(TypeCode::kString);
    put_counted(text.size(), as_bytes(text));
  }
  void put_type(const TypeReference& type) {
    put_number(type.id);
    if (type.id == kUnregisteredType) put_string(type.class_name);
  }
  template <typename... Numbers>
  Status fixed(TypeCode code, Numbers... numbers) {
    put(code);
    (put_number(numbers), ...);
    return {};
  }

  Status write(std::monostate) { return fixed(TypeCode::kNull); }
  Status write(bool value) { return fixed(TypeCode::kBool, static_cast<std::uint8_t>(value)); }
  Status write(std::int8_t value) { return fixed(TypeCode::kByte, value); }
  Status write(std::int16_t value) { return fixed(TypeCode::kShort, value); }
  Status write(std::int32_t value) { return fixed(TypeCode::kInt, value); }
  Status write(std::int64_t value) { return fixed(TypeCode::kLong, value); }
  Status write(float value) { return fixed(TypeCode::kFloat, value); }
  Status write(double value) { return fixed(TypeCode::kDouble, value); }
  Status write(Char value) { return fixed(TypeCode::kChar, value.unit); }
  Status write(Uuid value) { return fixed(TypeCode::kUuid, value.high, value.low); }
  Status write(Date value) { return fixed(TypeCode::kDate, value.milliseconds); }
  Status write(Time value) { return fixed(TypeCode::kTime, value.milliseconds); }
  Status write(Timestamp value) { return fixed(TypeCode::kTimestamp, value.milliseconds, value.nanoseconds); }
  Status write(std::string_view text) {
    put_string(text);
    return {};
  }
  Status write(const Decimal& decimal) {
    put(TypeCode::kDecimal);
    put_number(decimal.scale);
    put_counted(decimal.magnitude.size(), decimal.magnitude);
    return {};
  }
  Status write(const Enum& value) {
    put(value.code);
    put_type(value.type);
    put_number(value.ordinal);
    return {};
  }
  Status write(const PrimitiveArray& array) {
    put(array.code);
    put_counted(array.size(), array.bytes);
    return {};
  }
  Status write(const Opaque& opaque) {
    if (opaque.refers_before) return refused("a proxy refers to an object outside of it");
    append(out_, opaque.bytes);
    return {};
  }
  Status write(Cycle) { return refused("it contains itself"); }

  /// Writes a reference if the object was written before, as Java does for the same reference.
  bool put_reference(const void* object, TypeCode code) {
    const bool shared = code == TypeCode::kComplex || code == TypeCode::kObjectArray ||
                        code == TypeCode::kCollection || code == TypeCode::kMap;
    if (!shared) return false;
    const std::size_t here = out_.size();
    const auto [known, is_new] = written_.emplace(object, here);
    if (is_new) return false;
    put(TypeCode::kHandle);
    put_number(static_cast<std::int32_t>(here - known->second));
    return true;
  }

  Status write(const std::shared_ptr<const Group>& group) {
    if (put_reference(group.get(), group->code)) return {};
    const bool is_map = group->code == TypeCode::kMap;
    if (is_map && group->values.size() % 2 != 0) return refused("a map has a key without a value");
    put(group->code);
    if (group->code == TypeCode::kObjectArray || group->code == TypeCode::kEnumArray)
      put_type(group->element_type);
    put_number(static_cast<std::int32_t>(group->values.size() / (is_map ? 2 : 1)));
    if (is_map || group->code == TypeCode::kCollection) put_number(group->kind);
    const int depth = depth_;
    for (const Value& value : group->values) HEADRACE_CHECK(encode(value, depth + 1));
    return {};
  }

  Status write(const std::shared_ptr<const ComplexObject>& object);
  std::uint16_t put_footer(const ComplexObject& object, const std::vector<std::size_t>& offsets);

  const EncodeOptions& options_;
  Bytes& out_;
  std::size_t scope_;
  int depth_ = 0;
  std::unordered_map<const void*, std::size_t> written_;
};

/// Java's Arrays.hashCode: of signed bytes.
std::int32_t array_hash(BytesView bytes) {
  std::uint32_t hash = 1;
  for (const std::byte byte : bytes) {
    hash = 31 * hash + static_cast<std::uint32_t>(static_cast<std::int8_t>(byte));
  }
  return static_cast<std::int32_t>(hash);
}

Status ScopeEncoder::write(const std::shared_ptr<const ComplexObject>& object) {
  if (put_reference(object.get(), TypeCode::kComplex)) return {};
  if (object->raw_refers_before) return refused("its raw data refer to an object outside of them");
  const std::size_t start = out_.size();
  const int depth = depth_;
  out_.resize(start + kHeaderBytes);
  if (object->reference.id == kUnregisteredType) put_string(object->reference.class_name);
  const std::size_t data = out_.size();
  std::vector<std::size_t> offsets;
  std::vector<std::int32_t> ids;
  for (const ComplexObject::Field& field : object->fields) {
    offsets.push_back(out_.size() - start);
    ids.push_back(field.id);
    HEADRACE_CHECK(encode(field.value, depth + 1));
  }
  const std::size_t raw = out_.size();
  append(out_, object->raw_data);
  const std::size_t data_end = out_.size();
  std::uint16_t flags = object->user_type ? kUserType : 0;
  if (options_.compact_footer) flags |= kCompactFooter;
  std::size_t footer = kHeaderBytes;
  if (!offsets.empty()) {
    footer = data_end - start;
    flags |= put_footer(*object, offsets);
  }
  if (object->has_raw_data) {
    flags |= kHasRawData;
    if (offsets.empty()) {
      footer = raw - start;
    } else {
      put_number(static_cast<std::uint32_t>(raw - start));
    }
  }
  std::byte* const header = out_.data() + start;
  header[0] = static_cast<std::byte>(TypeCode::kComplex);
  header[1] = static_cast<std::byte>(kObjectVersion);
  store_little_endian(header + kFlagsOffset, flags);
  store_little_endian(header + kTypeIdOffset, object->reference.id);
  store_little_endian(header + kHashCodeOffset, array_hash(BytesView(out_).subspan(data, data_end - data)));
  store_little_endian(header + kSizeOffset, static_cast<std::uint32_t>(out_.size() - start));
  store_little_endian(header + kSchemaIdOffset, schema_id(ids));
  store_little_endian(header + kFooterOffset, static_cast<std::uint32_t>(footer));
  return {};
}

std::uint16_t ScopeEncoder::put_footer(const ComplexObject& object, const std::vector<std::size_t>& offsets) {
  const std::size_t last = offsets.back();
  const std::size_t width = last < 0x100 ? 1 : last < 0x10000 ? 2 : 4;
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    if (!options_.compact_footer) put_number(object.fields[i].id);
    const auto offset = static_cast<std::uint32_t>(offsets[i]);
    append(out_, std::as_bytes(std::span(&offset, 1)).first(width));
  }
  return static_cast<std::uint16_t>(kHasSchema | (width == 1   ? kOneByteOffsets
                                                  : width == 2 ? kTwoByteOffsets
                                                               : 0));
}

}  // namespace

Status append_object(const Value& value, const EncodeOptions& options, Bytes& out) {
  const std::size_t before = out.size();
  ScopeEncoder encoder(options, out);
  Status status = encoder.encode(value, 1);
  if (!status) out.resize(before);
  return status;
}

}  // namespace headrace::ignite
