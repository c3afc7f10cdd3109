// Tensors in events: their type and shape, and the value of a scalar.

#include <bit>
#include <cmath>
#include <limits>

#include "headrace/base/text.h"
#include "headrace/record/event_reader.h"
#include "headrace/record/event_wire.h"

namespace headrace {
namespace {

Error malformed_tensor(std::string_view what) {
  return {Code::kDataLoss, concat("malformed tensor: ", what)};
}

// The field that holds the elements of a type, apart from tensor_content; 0 for types that this file does not
// read.
std::uint32_t values_field(std::uint32_t type) {
  switch (type) {
    case dtype::kFloat:
      return tensor_field::kFloatVal;
    case dtype::kDouble:
      return tensor_field::kDoubleVal;
    case dtype::kInt32:
    case dtype::kUint8:
    case dtype::kInt16:
    case dtype::kInt8:
    case dtype::kUint16:
      return tensor_field::kIntVal;
    case dtype::kInt64:
      return tensor_field::kInt64Val;
    case dtype::kBool:
      return tensor_field::kBoolVal;
    case dtype::kHalf:
    case dtype::kBfloat16:
      return tensor_field::kHalfVal;
    case dtype::kUint32:
      return tensor_field::kUint32Val;
    case dtype::kUint64:
      return tensor_field::kUint64Val;
    default:
      return 0;
  }
}

double half_as_double(std::uint16_t bits) {
  const int exponent = bits >> 10 & 31;
  const int fraction = bits & 1023;
  double value = 0;
  if (exponent == 31) {
    value =
        fraction != 0 ? std::numeric_limits<double>::quiet_NaN() : std::numeric_limits<double>::infinity();
  } else if (exponent == 0) {
    value = std::ldexp(fraction, -24);
  } else {
    value = std::ldexp(fraction + 1024, exponent - 25);
  }
  return (bits & 0x8000) != 0 ? -value : value;
}

double bfloat16_as_double(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

// The number in a varint field. The type decides its sign and width.
double integer_as_double(std::uint32_t type, std::uint64_t value) {
  if (type == dtype::kHalf) return half_as_double(static_cast<std::uint16_t>(value));
  if (type == dtype::kBfloat16) return bfloat16_as_double(static_cast<std::uint16_t>(value));
  if (type == dtype::kUint64) return static_cast<double>(value);
  if (type == dtype::kUint32) return static_cast<double>(static_cast<std::uint32_t>(value));
  if (type == dtype::kBool) return value != 0 ? 1 : 0;
  if (type == dtype::kInt64) return static_cast<double>(static_cast<std::int64_t>(value));
  return static_cast<double>(static_cast<std::int32_t>(value));
}

template <typename T>
std::optional<double> load_first(BytesView content) {
  if (content.size() < sizeof(T)) return std::nullopt;
  return static_cast<double>(load_little_endian<T>(content.data()));
}

std::optional<double> first_of_content(std::uint32_t type, BytesView content) {
  switch (type) {
    case dtype::kFloat:
      return load_first<float>(content);
    case dtype::kDouble:
      return load_first<double>(content);
    case dtype::kInt32:
      return load_first<std::int32_t>(content);
    case dtype::kUint8:
    case dtype::kBool:
      return load_first<std::uint8_t>(content);
    case dtype::kInt16:
      return load_first<std::int16_t>(content);
    case dtype::kInt8:
      return load_first<std::int8_t>(content);
    case dtype::kUint16:
      return load_first<std::uint16_t>(content);
    case dtype::kInt64:
      return load_first<std::int64_t>(content);
    case dtype::kUint32:
      return load_first<std::uint32_t>(content);
    case dtype::kUint64:
      return load_first<std::uint64_t>(content);
    case dtype::kHalf:
    case dtype::kBfloat16:
      if (content.size() < 2) return std::nullopt;
      return integer_as_double(type, load_little_endian<std::uint16_t>(content.data()));
    default:
      return std::nullopt;
  }
}

// The first element in the field of the type. As in TensorFlow, it is 0 if the field is empty.
double first_of_values(const TensorProtoView& tensor) {
  const std::uint32_t wanted = values_field(tensor.dtype);
  WireReader reader(tensor.message);
  for (WireField field; reader.next(field);) {
    if (field.number != wanted) continue;
    const bool is_packed = field.type == WireType::kBytes;
    if (is_packed && field.bytes.empty()) continue;
    if (tensor.dtype == dtype::kFloat) {
      if (is_packed) return load_little_endian<float>(field.bytes.data());
      if (field.type == WireType::kFixed32) return field.as_float();
    } else if (tensor.dtype == dtype::kDouble) {
      if (is_packed) return load_little_endian<double>(field.bytes.data());
      if (field.type == WireType::kFixed64) return field.as_double();
    } else {
      std::uint64_t value = field.value;
      std::size_t at = 0;
      if (is_packed) (void)read_varint(field.bytes, at, value);  // parse_tensor has checked it
      if (is_packed || field.type == WireType::kVarint) return integer_as_double(tensor.dtype, value);
    }
  }
  return 0;
}

bool read_dimension(BytesView message, std::int64_t& size) {
  size = 0;
  WireReader reader(message);
  for (WireField field; reader.next(field);) {
    if (field.number == tensor_field::kDimensionSize && field.type == WireType::kVarint)
      size = field.as_int64();
    if (field.number == tensor_field::kDimensionName && field.type == WireType::kBytes &&
        !is_valid_utf8(field.as_text())) {
      return false;
    }
  }
  return !reader.malformed() && size >= -1;
}

Status read_shape(BytesView message, TensorProtoView& tensor) {
  bool rank_known = true, sizes_known = true;
  WireReader reader(message);
  for (WireField field; reader.next(field);) {
    if (field.number == tensor_field::kUnknownRank && field.type == WireType::kVarint) {
      rank_known = field.value == 0;
    }
    if (field.number != tensor_field::kDimension || field.type != WireType::kBytes) continue;
    std::int64_t size = 0;
    if (!read_dimension(field.bytes, size)) return malformed_tensor("a dimension of its shape");
    if (tensor.rank < static_cast<int>(TensorProtoView::kMaxSizes)) {
      tensor.sizes[static_cast<std::size_t>(tensor.rank)] = size;
    }
    ++tensor.rank;
    if (size < 0) sizes_known = false;
    const auto factor = static_cast<std::uint64_t>(size < 0 ? 0 : size);
    if (factor != 0 && tensor.element_count > std::numeric_limits<std::int64_t>::max() / factor) {
      return malformed_tensor("more elements than fit in memory");
    }
    tensor.element_count *= factor;
  }
  if (reader.malformed()) return malformed_tensor("its shape");
  if (!rank_known) tensor.rank = -1;
  if (!rank_known || !sizes_known) tensor.element_count = 0;
  return {};
}

// Whether the bytes of a packed field are well-formed. If a field has another wire type, protobuf, too,
// treats it as unknown.
bool is_sound_packed(const WireField& field) {
  switch (field.number) {
    case tensor_field::kFloatVal:
    case 9:  // scomplex_val
      return field.bytes.size() % 4 == 0;
    case tensor_field::kDoubleVal:
    case 12:  // dcomplex_val
      return field.bytes.size() % 8 == 0;
    case tensor_field::kIntVal:
    case tensor_field::kInt64Val:
    case tensor_field::kBoolVal:
    case tensor_field::kHalfVal:
    case tensor_field::kUint32Val:
    case tensor_field::kUint64Val: {
      std::uint64_t value = 0;
      for (std::size_t at = 0; at < field.bytes.size();) {
        if (!read_varint(field.bytes, at, value)) return false;
      }
      return true;
    }
    default:
      return true;
  }
}

}  // namespace

Result<TensorProtoView> parse_tensor(BytesView tensor) {
  constexpr std::uint32_t kResourceVal = 14, kVariantVal = 15;
  TensorProtoView out;
  out.message = tensor;
  out.element_count = 1;
  bool has_shape = false;
  WireReader reader(tensor);
  for (WireField field; reader.next(field);) {
    if (field.number == tensor_field::kDtype && field.type == WireType::kVarint) {
      out.dtype = static_cast<std::uint32_t>(field.value);
    }
    if (field.type != WireType::kBytes) continue;
    if (field.number == tensor_field::kShape) {
      if (has_shape) return malformed_tensor("two shapes");
      has_shape = true;
      HEADRACE_CHECK(read_shape(field.bytes, out));
    } else if (field.number == tensor_field::kContent) {
      out.content = field.bytes;
    } else if (field.number == kResourceVal || field.number == kVariantVal) {
      return malformed_tensor("elements that are resources or variants");
    } else if (!is_sound_packed(field)) {
      return malformed_tensor("its elements");
    }
  }
  if (reader.malformed()) return malformed_tensor("not a message");
  return out;
}

std::optional<double> TensorProtoView::scalar() const {
  if (element_count != 1 || values_field(dtype) == 0) return std::nullopt;
  if (!content.empty()) return first_of_content(dtype, content);
  return first_of_values(*this);
}

bool StringReader::next(BytesView& element) {
  for (WireField field; fields_.next(field);) {
    if (field.number != tensor_field::kStringVal || field.type != WireType::kBytes) continue;
    element = field.bytes;
    return true;
  }
  return false;
}

}  // namespace headrace
