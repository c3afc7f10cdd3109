#include "headrace/serve/protocol/tensor_message.h"

#include <algorithm>
#include <vector>

#include "headrace/base/text.h"
#include "headrace/base/wire.h"
#include "headrace/serve/protocol/tensor_request.h"

namespace headrace {
namespace {

namespace tensor_field {
constexpr std::uint32_t kDtype = 1, kShape = 2, kContent = 4;
constexpr std::uint32_t kFloat = 5, kDouble = 6, kInt = 7, kString = 8, kComplex64 = 9, kInt64 = 10,
                        kBool = 11, kComplex128 = 12, kHalf = 13, kUint32 = 16, kUint64 = 17, kFloat8 = 18;
}  // namespace tensor_field

struct TensorType {
  DataType type;
  std::uint32_t dtype;
  std::uint32_t field;  // the field of the values
};
constexpr TensorType kTensorTypes[] = {
    {DataType::kFloat32, 1, tensor_field::kFloat},
    {DataType::kFloat64, 2, tensor_field::kDouble},
    {DataType::kInt32, 3, tensor_field::kInt},
    {DataType::kUint8, 4, tensor_field::kInt},
    {DataType::kInt16, 5, tensor_field::kInt},
    {DataType::kInt8, 6, tensor_field::kInt},
    {DataType::kBytes, 7, tensor_field::kString},
    {DataType::kComplex64, 8, tensor_field::kComplex64},
    {DataType::kInt64, 9, tensor_field::kInt64},
    {DataType::kBool, 10, tensor_field::kBool},
    {DataType::kQint8, 11, tensor_field::kInt},
    {DataType::kQuint8, 12, tensor_field::kInt},
    {DataType::kQint32, 13, tensor_field::kInt},
    {DataType::kBfloat16, 14, tensor_field::kHalf},
    {DataType::kQint16, 15, tensor_field::kInt},
    {DataType::kQuint16, 16, tensor_field::kInt},
    {DataType::kUint16, 17, tensor_field::kInt},
    {DataType::kComplex128, 18, tensor_field::kComplex128},
    {DataType::kFloat16, 19, tensor_field::kHalf},
    {DataType::kUint32, 22, tensor_field::kUint32},
    {DataType::kUint64, 23, tensor_field::kUint64},
    {DataType::kFloat8E5m2, 24, tensor_field::kFloat8},
    {DataType::kFloat8E4m3fn, 25, tensor_field::kFloat8},
    {DataType::kFloat8E4m3fnuz, 26, tensor_field::kFloat8},
    {DataType::kFloat8E4m3b11fnuz, 27, tensor_field::kFloat8},
    {DataType::kFloat8E5m2fnuz, 28, tensor_field::kFloat8},
    {DataType::kInt4, 29, tensor_field::kInt},
    {DataType::kUint4, 30, tensor_field::kInt},
    {DataType::kInt2, 31, tensor_field::kInt},
    {DataType::kUint2, 32, tensor_field::kInt},
};
static_assert(std::size(kTensorTypes) == kDataTypes);

const TensorType& tensor_type(DataType type) {
  return *std::ranges::find(kTensorTypes, type, &TensorType::type);
}

Error bad_tensor(std::string message) { return {Code::kInvalidArgument, std::move(message)}; }
Error malformed_message() { return bad_tensor("the tensor is not a well-formed message"); }

// Adds the dimensions of a TensorShapeProto.
Status read_dimensions(BytesView message, std::vector<std::int64_t>& sizes) {
  WireReader shape(message);
  for (WireField field; shape.next(field);) {
    if (field.number == 3 && field.value != 0)
      return bad_tensor("the tensor's shape has unknown_rank: give its sizes");
    if (field.number != 2 || field.type != WireType::kBytes) continue;
    if (sizes.size() == Shape::kRankMax)
      return bad_tensor(concat("the tensor has more than ", Shape::kRankMax, " dimensions"));
    sizes.push_back(0);
    WireReader dimension(field.bytes);
    for (WireField size; dimension.next(size);) {
      if (size.number == 1 && size.type == WireType::kVarint) sizes.back() = size.as_int64();
    }
    if (dimension.malformed()) return malformed_message();
  }
  return shape.malformed() ? Status(malformed_message()) : Status();
}

struct TensorParts {
  std::uint64_t dtype = 0;
  std::vector<std::int64_t> sizes{};
  BytesView content{};
};

Result<TensorParts> read_parts(BytesView message) {
  TensorParts out;
  WireReader reader(message);
  for (WireField field; reader.next(field);) {
    if (field.number == tensor_field::kDtype && field.type == WireType::kVarint) out.dtype = field.value;
    if (field.type != WireType::kBytes) continue;
    if (field.number == tensor_field::kShape) HEADRACE_CHECK(read_dimensions(field.bytes, out.sizes));
    if (field.number == tensor_field::kContent) out.content = field.bytes;
  }
  if (reader.malformed()) return malformed_message();
  return out;
}

// Reads byte strings from tensor_content: first all sizes as varints, then all bytes.
Status read_content_texts(BytesView content, std::uint64_t elements, std::vector<std::string_view>& texts) {
  std::vector<std::uint64_t> sizes;
  std::size_t position = 0;
  std::uint64_t total = 0;
  for (std::uint64_t i = 0; i < elements; ++i) {
    std::uint64_t size = 0;
    if (!read_varint(content, position, size) || size > content.size() || total + size > content.size())
      return bad_tensor("tensor_content does not have the byte strings of the shape");
    sizes.push_back(size);
    total += size;
  }
  if (content.size() - position != total)
    return bad_tensor("tensor_content does not have the byte strings of the shape");
  for (const std::uint64_t size : sizes) {
    texts.push_back(as_text(content.subspan(position, size)));
    position += size;
  }
  return {};
}

}  // namespace

std::uint32_t tensor_dtype(DataType type) { return tensor_type(type).dtype; }

std::optional<DataType> parse_tensor_dtype(std::uint64_t dtype) {
  const auto* const found = std::ranges::find(kTensorTypes, dtype, &TensorType::dtype);
  if (found == std::end(kTensorTypes)) return std::nullopt;
  return found->type;
}

Status TensorMessageReader::take(std::uint64_t count, std::uint64_t bytes_each) {
  if (bytes_each != 0 && count > bytes_left_ / bytes_each)
    return Error{Code::kResourceExhausted, "the tensor repeats its last value too often: send all values"};
  bytes_left_ -= count * bytes_each;
  return {};
}

Status TensorMessageReader::read_content(BytesView content, std::uint64_t elements, TensorView& out,
                                         ValuesMemory& memory) {
  if (out.type == DataType::kBytes) {
    HEADRACE_CHECK(read_content_texts(content, elements, memory.texts));
    out.strings = memory.texts;
    return {};
  }
  const std::size_t element_bytes = data_type_size_bytes(out.type);
  if (content.size() % element_bytes != 0 || content.size() / element_bytes != elements)
    return bad_tensor(concat("tensor_content has ", content.size(), " bytes, but the shape ",
                             out.shape.text(), " has ", elements, " elements of ", element_bytes, " bytes"));
  has_content_ = true;
  out.data = content.data();
  return {};
}

Status TensorMessageReader::read_values(BytesView message, std::uint64_t elements, TensorView& out,
                                        ValuesMemory& memory) {
  HEADRACE_TRY(const RepeatedValues values,
               read_repeated(message, tensor_type(out.type).field, out.type, memory));
  if (values.count > elements)
    return bad_tensor(concat("the tensor has ", values.count, " values, but the shape ", out.shape.text(),
                             " has ", elements, " elements"));
  const std::uint64_t missing = elements - values.count;
  if (out.type == DataType::kBytes) {
    const std::string_view last = memory.texts.empty() ? std::string_view() : memory.texts.back();
    HEADRACE_CHECK(take(missing, sizeof last + last.size()));
    memory.texts.resize(elements, last);
    out.strings = memory.texts;
    return {};
  }
  out.data = values.numbers;
  if (missing == 0) return {};
  const std::size_t element_bytes = data_type_size_bytes(out.type);
  HEADRACE_CHECK(take(missing, element_bytes));
  Bytes all(values.numbers, values.numbers + values.count * element_bytes);
  all.resize(elements * element_bytes);
  // Each copy doubles the repeated part.
  for (std::size_t at = all.size() - missing * element_bytes; values.count != 0 && at < all.size();) {
    const std::size_t begin = (values.count - 1) * element_bytes;
    const std::size_t bytes = std::min(at - begin, all.size() - at);
    std::copy_n(all.begin() + static_cast<std::ptrdiff_t>(begin), bytes,
                all.begin() + static_cast<std::ptrdiff_t>(at));
    at += bytes;
  }
  memory.numbers = std::move(all);
  out.data = memory.numbers.data();
  return {};
}

Result<TensorView> TensorMessageReader::read(BytesView message, ValuesMemory& memory) {
  HEADRACE_TRY(const TensorParts parts, read_parts(message));
  const auto type = parse_tensor_dtype(parts.dtype);
  if (!type)
    return bad_tensor(concat("the tensor has the dtype ", parts.dtype, ", which this server does not know"));
  TensorView out{*type, Shape(parts.sizes)};
  const auto elements = checked_elements(parts.sizes);
  if (!elements)
    return bad_tensor(concat("the tensor's shape ", out.shape.text(), " is too large, or has no size"));
  HEADRACE_CHECK(parts.content.empty() ? read_values(message, *elements, out, memory)
                                       : read_content(parts.content, *elements, out, memory));
  return out;
}

void append_tensor_shape(Bytes& out, const Shape& shape) {
  WireWriter writer(out);
  for (const std::int64_t size : shape.sizes()) {
    // Protobuf omits zeros.
    writer.message(2, [&](WireWriter& dimension) {
      if (size != 0) dimension.varint(1, static_cast<std::uint64_t>(size));
    });
  }
}

Status append_tensor_entry(Bytes& out, std::uint32_t number, const AnswerOutput& output, bool as_content) {
  HEADRACE_TRY(const Shape shape, output.shape());
  const TensorType& type = tensor_type(output.type);
  Bytes head;
  WireWriter writer(head);
  writer.varint(tensor_field::kDtype, type.dtype);
  writer.message(tensor_field::kShape, [&](WireWriter&) { append_tensor_shape(head, shape); });
  const bool is_content = as_content && output.type != DataType::kBytes && shape.elements() != 0;
  std::uint64_t content = 0;
  if (is_content) {
    content = numbers_size(output);
    writer.tag(tensor_field::kContent, WireType::kBytes);
    append_varint(head, content);
  }
  const std::uint64_t values = is_content ? content : repeated_size(type.field, output);

  Bytes name;
  WireWriter(name).text(1, output.name);
  const std::uint64_t tensor_bytes = head.size() + values;
  WireWriter entry(out);
  entry.tag(number, WireType::kBytes);
  append_varint(out, name.size() + 1 + varint_size(tensor_bytes) + tensor_bytes);
  append(out, name);
  entry.tag(2, WireType::kBytes);
  append_varint(out, tensor_bytes);
  append(out, head);
  is_content ? append_numbers(out, output) : append_repeated(out, type.field, output);
  return {};
}

}  // namespace headrace
