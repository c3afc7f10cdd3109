#include "headrace/net/ignite/message.h"

#include "headrace/base/text.h"
#include "headrace/net/ignite/object_size.h"

namespace headrace::ignite {

void append_string(Bytes& target, std::string_view text) {
  append_little_endian(target, TypeCode::kString);
  append_little_endian(target, static_cast<std::int32_t>(text.size()));
  append(target, as_bytes(text));
}

void append_null(Bytes& target) { append_little_endian(target, TypeCode::kNull); }

Bytes encode_string(std::string_view text) {
  Bytes object;
  append_string(object, text);
  return object;
}

Bytes encode_bytes(BytesView content) {
  Bytes object;
  object.reserve(5 + content.size());
  append_little_endian(object, TypeCode::kByteArray);
  append_little_endian(object, static_cast<std::int32_t>(content.size()));
  append(object, content);
  return object;
}

Bytes encode_long(std::int64_t value) {
  Bytes object;
  append_little_endian(object, TypeCode::kLong);
  append_little_endian(object, value);
  return object;
}

Result<BytesView> byte_array_content(BytesView object) {
  ObjectCursor cursor(object);
  TypeCode code{};
  BytesView content;
  if (cursor.read(code) && code == TypeCode::kByteArray && cursor.take_counted(content)) return content;
  return Error{Code::kInvalidArgument,
               concat("the object is not a byte[]: its type code is ", static_cast<int>(code))};
}

bool read_text(ObjectCursor& cursor, std::optional<std::string>& text) {
  TypeCode code{};
  BytesView content;
  if (!cursor.read(code)) return false;
  text.reset();
  if (code == TypeCode::kNull) return true;
  if (code != TypeCode::kString || !cursor.take_counted(content)) return false;
  text = to_string(content);
  return true;
}

bool read_node_id(ObjectCursor& cursor, NodeId& id) {
  TypeCode code{};
  return cursor.read(code) && code == TypeCode::kUuid && cursor.read(id.high) && cursor.read(id.low);
}

Result<BytesView> take_object(ObjectCursor& cursor) {
  HEADRACE_TRY(const std::size_t size, object_size(cursor.bytes().subspan(cursor.position())));
  BytesView object;
  if (!cursor.take(size, object)) return malformed("an object ends beyond the message");
  return object;
}

namespace {

// The hash is over UTF-16 units: a character beyond U+FFFF counts as its two surrogates.
void add_unit(std::uint32_t& hash, std::uint32_t unit) { hash = 31 * hash + unit; }

}  // namespace

std::int32_t java_hash(std::string_view text) {
  std::uint32_t hash = 0;
  for (std::size_t i = 0; i < text.size();) {
    const Utf8Character character = first_utf8_character(text.substr(i));
    i += character.length;
    if (character.code_point < 0x10000) {
      add_unit(hash, character.code_point);
    } else {
      add_unit(hash, 0xD800 + ((character.code_point - 0x10000) >> 10));
      add_unit(hash, 0xDC00 + (character.code_point & 0x3FF));
    }
  }
  return static_cast<std::int32_t>(hash);
}

std::string Address::text() const {
  return host.find(':') == std::string::npos ? concat(host, ':', port) : concat('[', host, "]:", port);
}

Result<Address> parse_address(std::string_view text) {
  const Error wrong{Code::kInvalidArgument, concat("\"", printable_line(text, 100),
                                                   "\" is not the address of a node; write host:port")};
  Address address;
  std::string_view port;
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos) return wrong;
    address.host = text.substr(1, end - 1);
    port = text.substr(end + 1);
  } else {
    const std::size_t colon = text.find(':');
    address.host = text.substr(0, colon);
    port = colon == std::string_view::npos ? "" : text.substr(colon);
  }
  if (address.host.empty()) return wrong;
  if (port.empty()) return address;
  const std::optional<std::uint16_t> number = parse_number<std::uint16_t>(port.substr(1));
  if (!port.starts_with(':') || !number || *number == 0) return wrong;
  address.port = *number;
  return address;
}

Error malformed(std::string_view what) {
  return {Code::kDataLoss,
          concat("Ignite sent a message that cannot be read: ", what, "; a proxy may have damaged it")};
}

}  // namespace headrace::ignite
