#include "headrace/serve/protocol/repeated_values.h"

#include <limits>
#include <type_traits>

#include "headrace/base/text.h"
#include "headrace/base/wire.h"

namespace headrace {
namespace {

Error bad_values(std::string message) { return {Code::kInvalidArgument, std::move(message)}; }

// Calls `visit` with a value of the C++ type that holds an element, for types that are sent as varints.
template <typename Visit>
decltype(auto) visit_varint_type(DataType type, Visit&& visit) {
  switch (type) {
    case DataType::kInt64:
      return visit(std::int64_t{});
    case DataType::kUint64:
      return visit(std::uint64_t{});
    case DataType::kInt32:
    case DataType::kQint32:
      return visit(std::int32_t{});
    case DataType::kUint32:
      return visit(std::uint32_t{});
    case DataType::kInt16:
    case DataType::kQint16:
      return visit(std::int16_t{});
    case DataType::kUint16:
    case DataType::kQuint16:
    case DataType::kFloat16:
    case DataType::kBfloat16:
      return visit(std::uint16_t{});
    case DataType::kInt8:
    case DataType::kQint8:
    case DataType::kInt4:
    case DataType::kInt2:
      return visit(std::int8_t{});
    case DataType::kBool:
      return visit(bool{});
    default:
      return visit(std::uint8_t{});
  }
}

enum class ElementForm : std::uint8_t { kFixed32, kFixed64, kVarint, kText, kByte };

ElementForm element_form(DataType type) {
  switch (type) {
    case DataType::kFloat32:
    case DataType::kComplex64:
      return ElementForm::kFixed32;
    case DataType::kFloat64:
    case DataType::kComplex128:
      return ElementForm::kFixed64;
    case DataType::kBytes:
      return ElementForm::kText;
    case DataType::kFloat8E5m2:
    case DataType::kFloat8E4m3fn:
    case DataType::kFloat8E4m3fnuz:
    case DataType::kFloat8E4m3b11fnuz:
    case DataType::kFloat8E5m2fnuz:
      return ElementForm::kByte;
    default:
      return ElementForm::kVarint;
  }
}

// Converts a varint to an element. Returns false if it does not fit. As in protobuf, a 32-bit field takes the
// lower 32 of the 64 bits on the wire.
template <typename T>
bool varint_as(std::uint64_t value, T& out) {
  if constexpr (std::is_same_v<T, bool>) {
    out = value != 0;
  } else if constexpr (sizeof(T) == 8) {
    out = static_cast<T>(value);
  } else if constexpr (sizeof(T) == 4) {
    out = static_cast<T>(static_cast<std::uint32_t>(value));
  } else {
    const auto number = static_cast<std::int32_t>(static_cast<std::uint32_t>(value));
    if (number < std::numeric_limits<T>::min() || number > std::numeric_limits<T>::max()) return false;
    out = static_cast<T>(number);
  }
  return true;
}

template <typename T>
std::uint64_t varint_of(T value) {
  if constexpr (std::is_signed_v<T>) return static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
  return static_cast<std::uint64_t>(value);
}

class ElementsReader {
 public:
  ElementsReader(DataType type, ValuesMemory& memory) : type_(type), memory_(memory) {}

  Status add(const WireField& field) {
    switch (element_form(type_)) {
      case ElementForm::kFixed32:
        return add_fixed(field, WireType::kFixed32, 4);
      case ElementForm::kFixed64:
        return add_fixed(field, WireType::kFixed64, 8);
      case ElementForm::kVarint:
        return visit_varint_type(type_, [&](auto like) { return add_varints<decltype(like)>(field); });
      case ElementForm::kText:
        if (field.type != WireType::kBytes) return wrong_type();
        memory_.texts.push_back(field.as_text());
        return {};
      case ElementForm::kByte:
        break;
    }
    if (field.type != WireType::kBytes) return wrong_type();
    append_bytes(field.bytes);
    return {};
  }

  Result<RepeatedValues> finish() {
    if (type_ == DataType::kBytes) return RepeatedValues{memory_.texts.size()};
    const BytesView all = borrowed_.empty() ? BytesView(memory_.numbers) : borrowed_;
    const std::size_t element_bytes = data_type_size_bytes(type_);
    if (all.size() % element_bytes != 0) return bad_values("the last value is incomplete");
    return RepeatedValues{all.size() / element_bytes, all.data()};
  }

 private:
  static Error wrong_type() { return bad_values("the values do not have the wire type of their field"); }

  // A single piece is borrowed. It is copied when a second one arrives.
  void append_bytes(BytesView bytes) {
    if (borrowed_.empty() && memory_.numbers.empty()) {
      borrowed_ = bytes;
      return;
    }
    append(memory_.numbers, std::exchange(borrowed_, {}));
    append(memory_.numbers, bytes);
  }

  Status add_fixed(const WireField& field, WireType single, std::size_t width) {
    if (field.type == single) {
      append(memory_.numbers, std::exchange(borrowed_, {}));
      append(memory_.numbers, std::as_bytes(std::span(&field.value, 1)).first(width));
      return {};
    }
    if (field.type != WireType::kBytes || field.bytes.size() % width != 0) return wrong_type();
    append_bytes(field.bytes);
    return {};
  }

  template <typename T>
  Status add_varints(const WireField& field) {
    T element{};
    if (field.type == WireType::kVarint) return add_varint<T>(field.value, element);
    if (field.type != WireType::kBytes) return wrong_type();
    if (memory_.numbers.empty()) memory_.numbers.reserve(field.bytes.size() * sizeof(T));
    for (std::size_t position = 0; position < field.bytes.size();) {
      std::uint64_t value = 0;
      if (!read_varint(field.bytes, position, value)) return bad_values("the last value is incomplete");
      HEADRACE_CHECK(add_varint<T>(value, element));
    }
    return {};
  }

  template <typename T>
  Status add_varint(std::uint64_t value, T& element) {
    if (!varint_as(value, element))
      return bad_values(concat("value ", memory_.numbers.size() / sizeof(T), " is ",
                               static_cast<std::int64_t>(value), ", which does not fit ",
                               data_type_name(type_)));
    append_little_endian(memory_.numbers, element);
    return {};
  }

  const DataType type_;
  ValuesMemory& memory_;
  BytesView borrowed_;
};

// Calls `visit` with the bytes of the elements for each part that is not empty.
template <typename Visit>
void visit_numbers(const AnswerOutput& output, Visit&& visit) {
  const std::size_t element_bytes = data_type_size_bytes(output.type);
  for (const AnswerPart& part : output.parts) {
    const std::uint64_t elements = part.rows * part.row.elements();
    if (elements == 0) continue;
    const auto* const data = static_cast<const std::byte*>(part.tensor.data);
    visit(BytesView(data + part.first_element(0) * element_bytes, elements * element_bytes));
  }
}

template <typename Visit>
void visit_varints(const AnswerOutput& output, Visit&& visit) {
  visit_varint_type(output.type, [&](auto like) {
    using T = decltype(like);
    visit_numbers(output, [&](BytesView bytes) {
      for (std::size_t at = 0; at < bytes.size(); at += sizeof(T))
        visit(varint_of(load_little_endian<T>(bytes.data() + at)));
    });
  });
}

template <typename Visit>
void visit_texts(const AnswerOutput& output, Visit&& visit) {
  for (const AnswerPart& part : output.parts) {
    for (const std::string_view text : texts_of(part)) visit(text);
  }
}

std::uint64_t tag_size(std::uint32_t field) { return varint_size(std::uint64_t{field} << 3); }

// The size without the field's tag and length.
std::uint64_t packed_size(const AnswerOutput& output) {
  if (element_form(output.type) != ElementForm::kVarint) return numbers_size(output);
  std::uint64_t size = 0;
  visit_varints(output, [&](std::uint64_t value) { size += varint_size(value); });
  return size;
}

}  // namespace

Result<RepeatedValues> read_repeated(BytesView message, std::uint32_t field, DataType type,
                                     ValuesMemory& memory) {
  ElementsReader elements(type, memory);
  WireReader reader(message);
  for (WireField each; reader.next(each);) {
    if (each.number == field) HEADRACE_CHECK(elements.add(each));
  }
  return elements.finish();
}

std::uint64_t numbers_size(const AnswerOutput& output) {
  std::uint64_t size = 0;
  visit_numbers(output, [&](BytesView bytes) { size += bytes.size(); });
  return size;
}

void append_numbers(Bytes& out, const AnswerOutput& output) {
  visit_numbers(output, [&](BytesView bytes) { append(out, bytes); });
}

std::uint64_t repeated_size(std::uint32_t field, const AnswerOutput& output) {
  std::uint64_t size = 0;
  if (output.type == DataType::kBytes) {
    visit_texts(output, [&](std::string_view text) {
      size += tag_size(field) + varint_size(text.size()) + text.size();
    });
    return size;
  }
  size = packed_size(output);
  return size == 0 ? 0 : tag_size(field) + varint_size(size) + size;
}

void append_repeated(Bytes& out, std::uint32_t field, const AnswerOutput& output) {
  WireWriter writer(out);
  if (output.type == DataType::kBytes) {
    visit_texts(output, [&](std::string_view text) { writer.text(field, text); });
    return;
  }
  const std::uint64_t size = packed_size(output);
  if (size == 0) return;
  writer.tag(field, WireType::kBytes);
  append_varint(out, size);
  if (element_form(output.type) != ElementForm::kVarint) return append_numbers(out, output);
  visit_varints(output, [&](std::uint64_t value) { append_varint(out, value); });
}

}  // namespace headrace
