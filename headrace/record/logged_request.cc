#include "headrace/record/logged_request.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <type_traits>

#include "headrace/base/short_floats.h"
#include "headrace/base/text.h"
#include "headrace/base/wire.h"
#include "headrace/record/event_wire.h"

namespace headrace {
namespace {

namespace logged_field {
constexpr std::uint32_t kPredictLog = 6;  // a field of PredictionLog
constexpr std::uint32_t kRequest = 1;     // a field of PredictLog
constexpr std::uint32_t kInputs = 2;      // a field of PredictRequest
constexpr std::uint32_t kName = 1, kTensor = 2;
}  // namespace logged_field

Error unusable_tensor(std::string message) { return {Code::kInvalidArgument, std::move(message)}; }
Error malformed_log() { return {Code::kInvalidArgument, "the record is not a well-formed PredictionLog"}; }

// The last field with this number in a message.
Result<std::optional<BytesView>> last_message(BytesView message, std::uint32_t number) {
  std::optional<BytesView> found;
  WireReader reader(message);
  for (WireField field; reader.next(field);) {
    if (field.number == number && field.type == WireType::kBytes) found = field.bytes;
  }
  if (reader.malformed()) return malformed_log();
  return found;
}

float to_float(float value) { return value; }
float to_float(double value) { return static_cast<float>(value); }

template <typename T>
constexpr bool kIsWhole = std::is_integral_v<T>;
template <typename T>
using ValueOf = std::conditional_t<kIsWhole<T>, std::int64_t, float>;

template <typename T>
ValueOf<T> value_of(T element) {
  if constexpr (kIsWhole<T>) {
    return static_cast<std::int64_t>(element);
  } else {
    return to_float(element);
  }
}

template <typename T>
T load_element(const std::byte* from) {
  if constexpr (std::is_same_v<T, Float16> || std::is_same_v<T, Bfloat16>) {
    return {load_little_endian<std::uint16_t>(from)};
  } else {
    return load_little_endian<T>(from);
  }
}

// The value of a field. Floats and doubles are stored as their bits, and all other types as varints.
template <typename T>
T element_of(std::uint64_t bits) {
  if constexpr (std::is_same_v<T, float>) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
  } else if constexpr (std::is_same_v<T, double>) {
    return std::bit_cast<double>(bits);
  } else if constexpr (std::is_same_v<T, Float16> || std::is_same_v<T, Bfloat16>) {
    return {static_cast<std::uint16_t>(bits)};
  } else {
    return static_cast<T>(bits);
  }
}

template <typename T>
void add_packed(BytesView packed, std::vector<ValueOf<T>>& out) {
  if constexpr (std::is_floating_point_v<T>) {
    for (std::size_t at = 0; at + sizeof(T) <= packed.size(); at += sizeof(T))
      out.push_back(value_of(load_element<T>(packed.data() + at)));
  } else {
    std::uint64_t bits = 0;
    for (std::size_t at = 0; at < packed.size() && read_varint(packed, at, bits);)
      out.push_back(value_of(element_of<T>(bits)));
  }
}

template <typename T>
Result<TensorValues> read_numbers(const TensorProtoView& tensor, std::uint32_t number) {
  std::vector<ValueOf<T>> out;
  if (!tensor.content.empty()) {
    if (tensor.content.size() / sizeof(T) != tensor.element_count || tensor.content.size() % sizeof(T) != 0)
      return unusable_tensor("tensor_content does not have the size of the shape");
    for (std::size_t at = 0; at < tensor.content.size(); at += sizeof(T))
      out.push_back(value_of(load_element<T>(tensor.content.data() + at)));
    return TensorValues(std::move(out));
  }
  WireReader reader(tensor.message);
  for (WireField field; reader.next(field) && out.size() <= tensor.element_count;) {
    if (field.number != number) continue;
    if (field.type == WireType::kBytes) {
      add_packed<T>(field.bytes, out);
    } else {
      out.push_back(value_of(element_of<T>(field.value)));
    }
  }
  if (out.size() > tensor.element_count)
    return unusable_tensor("the tensor has more values than its shape allows");
  out.resize(tensor.element_count, out.empty() ? ValueOf<T>{} : out.back());
  return TensorValues(std::move(out));
}

Result<TensorValues> read_texts(const TensorProtoView& tensor) {
  if (!tensor.content.empty()) return unusable_tensor("byte strings in tensor_content");
  std::vector<BytesView> out;
  StringReader reader(tensor);
  for (BytesView text; reader.next(text) && out.size() <= tensor.element_count;) out.push_back(text);
  if (out.size() > tensor.element_count)
    return unusable_tensor("the tensor has more values than its shape allows");
  out.resize(tensor.element_count, out.empty() ? BytesView() : out.back());
  return TensorValues(std::move(out));
}

}  // namespace

Result<std::optional<BytesView>> logged_predict_request(BytesView prediction_log) {
  HEADRACE_TRY(const auto log, last_message(prediction_log, logged_field::kPredictLog));
  if (!log) return log;
  return last_message(*log, logged_field::kRequest);
}

Result<std::vector<LoggedInput>> inputs_of_request(BytesView predict_request) {
  std::vector<LoggedInput> inputs;
  WireReader reader(predict_request);
  for (WireField field; reader.next(field);) {
    if (field.number != logged_field::kInputs || field.type != WireType::kBytes) continue;
    HEADRACE_TRY(const auto name, last_message(field.bytes, logged_field::kName));
    HEADRACE_TRY(const auto tensor, last_message(field.bytes, logged_field::kTensor));
    LoggedInput input{.name = as_text(name.value_or(BytesView()))};
    HEADRACE_TRY(input.tensor, parse_tensor(tensor.value_or(BytesView())));
    inputs.push_back(input);
  }
  if (reader.malformed()) return malformed_log();
  std::ranges::stable_sort(inputs, {}, &LoggedInput::name);
  const auto end = std::unique(inputs.rbegin(), inputs.rend(),
                               [](const LoggedInput& a, const LoggedInput& b) { return a.name == b.name; });
  inputs.erase(inputs.begin(), end.base());
  return inputs;
}

Result<TensorValues> tensor_values(const TensorProtoView& tensor, std::uint64_t elements_max) {
  if (tensor.rank < 0) return unusable_tensor("the tensor's shape has unknown_rank");
  if (tensor.element_count > elements_max)
    return unusable_tensor(concat("the tensor has more than ", elements_max, " elements"));
  switch (tensor.dtype) {
    case dtype::kString:
      return read_texts(tensor);
    case dtype::kFloat:
      return read_numbers<float>(tensor, tensor_field::kFloatVal);
    case dtype::kDouble:
      return read_numbers<double>(tensor, tensor_field::kDoubleVal);
    case dtype::kHalf:
      return read_numbers<Float16>(tensor, tensor_field::kHalfVal);
    case dtype::kBfloat16:
      return read_numbers<Bfloat16>(tensor, tensor_field::kHalfVal);
    case dtype::kInt8:
      return read_numbers<std::int8_t>(tensor, tensor_field::kIntVal);
    case dtype::kUint8:
      return read_numbers<std::uint8_t>(tensor, tensor_field::kIntVal);
    case dtype::kInt16:
      return read_numbers<std::int16_t>(tensor, tensor_field::kIntVal);
    case dtype::kUint16:
      return read_numbers<std::uint16_t>(tensor, tensor_field::kIntVal);
    case dtype::kInt32:
      return read_numbers<std::int32_t>(tensor, tensor_field::kIntVal);
    case dtype::kUint32:
      return read_numbers<std::uint32_t>(tensor, tensor_field::kUint32Val);
    case dtype::kInt64:
      return read_numbers<std::int64_t>(tensor, tensor_field::kInt64Val);
    case dtype::kUint64:
      return read_numbers<std::uint64_t>(tensor, tensor_field::kUint64Val);
    case dtype::kBool:
      return read_numbers<std::uint8_t>(tensor, tensor_field::kBoolVal);
    default:
      return unusable_tensor(concat("the tensor has the dtype ", tensor.dtype, ", which no tf.Example has"));
  }
}

}  // namespace headrace
