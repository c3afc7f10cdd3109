#include "headrace/serve/protocol/kserve_v2_grpc.h"

#include <optional>
#include <set>

#include "headrace/base/text.h"
#include "headrace/base/wire.h"
#include "headrace/serve/protocol/answers.h"
#include "headrace/serve/protocol/binary_tensor.h"
#include "headrace/serve/protocol/grpc_service.h"
#include "headrace/serve/protocol/kserve_v2.h"
#include "headrace/serve/protocol/repeated_values.h"
#include "headrace/serve/protocol/tensor_request.h"

namespace headrace {

// The memory, besides the message, that the tensors of a request view.
struct InferMessage::Data {
  std::vector<ValuesMemory> memory{};
  std::vector<NamedTensor> tensors{};
};

namespace {

constexpr std::size_t kQuotedInferBytes = 60;
constexpr std::uint32_t kContentsField = 5;
constexpr std::uint32_t kRawOutputField = 6;

Error bad_infer(std::string message) { return {Code::kInvalidArgument, std::move(message)}; }

// The field of InferTensorContents for the type; 0: there is none.
std::uint32_t contents_field(DataType type) {
  switch (type) {
    case DataType::kBool:
      return 1;
    case DataType::kInt8:
    case DataType::kInt16:
    case DataType::kInt32:
      return 2;
    case DataType::kInt64:
      return 3;
    case DataType::kUint8:
    case DataType::kUint16:
    case DataType::kUint32:
      return 4;
    case DataType::kUint64:
      return 5;
    case DataType::kFloat32:
      return 6;
    case DataType::kFloat64:
      return 7;
    case DataType::kBytes:
      return 8;
    default:
      return 0;
  }
}

Status set_version(std::string_view text, RequestedModel& model) {
  model.version.reset();
  model.label.reset();
  if (text.empty()) return {};
  if (!is_version_number(text)) {
    model.label = text;
    return {};
  }
  HEADRACE_TRY(model.version, parse_version(text));
  return {};
}

// An entry of a map of parameters: its name, and its value if it is a string.
struct InferParameter {
  std::string_view name{};
  std::string_view text{};
};

Result<InferParameter> read_parameter(BytesView message) {
  InferParameter out;
  WireReader reader(message);
  for (WireField field; reader.next(field);) {
    if (field.type != WireType::kBytes) continue;
    if (field.number == 1) out.name = field.as_text();
    if (field.number != 2) continue;
    WireReader value(field.bytes);
    for (WireField choice; value.next(choice);) {
      if (choice.number == 3 && choice.type == WireType::kBytes) out.text = choice.as_text();
    }
    if (value.malformed()) return malformed_request();
  }
  if (reader.malformed()) return malformed_request();
  return out;
}

// Refuses parameters of extensions that this server lacks.
Status check_parameter(BytesView message) {
  HEADRACE_TRY(const InferParameter parameter, read_parameter(message));
  if (parameter.name != "shared_memory_region" && parameter.name != "classification") return {};
  return Error{Code::kUnimplemented,
               concat("this server does not support the extension of the parameter ", parameter.name)};
}

struct InferTensor {
  std::string_view name{};
  std::string_view type{};
  std::vector<std::int64_t> sizes{};
  std::optional<BytesView> contents{};
};

Status add_size(std::uint64_t value, std::vector<std::int64_t>& sizes) {
  if (sizes.size() == Shape::kRankMax)
    return bad_infer(concat("the tensor has more than ", Shape::kRankMax, " dimensions"));
  sizes.push_back(static_cast<std::int64_t>(value));
  return {};
}

Status add_sizes(const WireField& field, std::vector<std::int64_t>& sizes) {
  if (field.type == WireType::kVarint) return add_size(field.value, sizes);
  for (std::size_t position = 0; position < field.bytes.size();) {
    std::uint64_t value = 0;
    if (!read_varint(field.bytes, position, value)) return malformed_request();
    HEADRACE_CHECK(add_size(value, sizes));
  }
  return {};
}

Result<InferTensor> read_infer_tensor(BytesView message) {
  InferTensor out;
  WireReader reader(message);
  for (WireField field; reader.next(field);) {
    if (field.number == 3 && (field.type == WireType::kVarint || field.type == WireType::kBytes))
      HEADRACE_CHECK(add_sizes(field, out.sizes));
    if (field.type != WireType::kBytes) continue;
    if (field.number == 1) out.name = field.as_text();
    if (field.number == 2) out.type = field.as_text();
    if (field.number == 4) HEADRACE_CHECK(check_parameter(field.bytes));
    if (field.number == kContentsField) out.contents = field.bytes;
  }
  if (reader.malformed()) return malformed_request();
  return out;
}

// The name of a requested output.
Result<std::string> read_wanted_output(BytesView message) {
  std::string name;
  WireReader reader(message);
  for (WireField field; reader.next(field);) {
    if (field.type != WireType::kBytes) continue;
    if (field.number == 1) name = field.as_text();
    if (field.number == 2) HEADRACE_CHECK(check_parameter(field.bytes));
  }
  if (reader.malformed()) return malformed_request();
  return name;
}

Status take_raw(BytesView raw, std::uint64_t elements, TensorView& out, ValuesMemory& memory) {
  if (out.type == DataType::kBytes) {
    HEADRACE_TRY(memory.texts, parse_binary_texts(raw, elements));
    out.strings = memory.texts;
    return {};
  }
  const std::size_t element_bytes = data_type_size_bytes(out.type);
  if (raw.size() % element_bytes != 0 || raw.size() / element_bytes != elements)
    return bad_infer(concat("raw_input_contents has ", raw.size(), " bytes, but the shape ", out.shape.text(),
                            " has ", elements, " elements of ", element_bytes, " bytes"));
  out.data = raw.data();
  return {};
}

Status take_contents(BytesView contents, std::uint64_t elements, TensorView& out, ValuesMemory& memory) {
  const std::uint32_t field = contents_field(out.type);
  if (field == 0)
    return Error{Code::kUnimplemented, concat("values of the type ", infer_type_name(out.type),
                                              " have no contents: send them as raw_input_contents")};
  WireReader reader(contents);
  for (WireField each; reader.next(each);) {
  }
  if (reader.malformed()) return malformed_request();
  HEADRACE_TRY(const RepeatedValues values, read_repeated(contents, field, out.type, memory));
  if (values.count != elements)
    return bad_infer(concat("the contents have ", values.count, " values of this type, the shape ",
                            out.shape.text(), " has ", elements));
  out.data = values.numbers;
  out.strings = memory.texts;
  return {};
}

// `raw` is nullopt if the request's tensors are in `contents`.
Result<TensorView> take_tensor(const InferTensor& tensor, std::optional<BytesView> raw,
                               ValuesMemory& memory) {
  const auto type = parse_infer_type(tensor.type);
  if (!type)
    return bad_infer(concat("the type ", printable_line(tensor.type, kQuotedInferBytes), " is unknown"));
  TensorView out{*type, Shape(tensor.sizes)};
  const auto elements = checked_elements(tensor.sizes);
  if (!elements) return bad_infer(concat("the shape ", out.shape.text(), " is too large, or has no size"));
  if (raw && tensor.contents) return bad_infer("it has both contents and raw_input_contents");
  HEADRACE_CHECK(raw ? take_raw(*raw, *elements, out, memory)
                     : take_contents(tensor.contents.value_or(BytesView()), *elements, out, memory));
  return out;
}

// Appends the sizes as a packed field.
void append_sizes(Bytes& out, std::uint32_t number, const Shape& shape) {
  if (shape.rank() == 0) return;
  Bytes sizes;
  for (const std::int64_t size : shape.sizes()) append_varint(sizes, static_cast<std::uint64_t>(size));
  WireWriter(out).bytes(number, sizes);
}

Status append_infer_output(Bytes& out, const AnswerOutput& output, bool is_raw) {
  HEADRACE_TRY(const Shape shape, output.shape());
  Bytes head;
  WireWriter writer(head);
  writer.text(1, output.name);
  writer.text(2, infer_type_name(output.type));
  append_sizes(head, 3, shape);
  const std::uint32_t field = contents_field(output.type);
  std::uint64_t contents = 0;
  if (!is_raw) {
    contents = repeated_size(field, output);
    writer.tag(kContentsField, WireType::kBytes);
    append_varint(head, contents);
  }
  WireWriter(out).tag(kContentsField, WireType::kBytes);  // `outputs` has the same number
  append_varint(out, head.size() + contents);
  append(out, head);
  if (!is_raw) append_repeated(out, field, output);
  return {};
}

void write_metadata_tensors(WireWriter& writer, std::uint32_t number,
                            const std::vector<ServedTensor>& tensors) {
  for (const ServedTensor& tensor : tensors) {
    Bytes content;
    WireWriter message(content);
    message.text(1, tensor.name);
    message.text(2, infer_metadata_type(tensor.type));
    append_sizes(content, 3, tensor.shape);
    writer.bytes(number, content);
  }
}

}  // namespace

Result<InferMessage> InferMessage::parse(BytesView message) {
  InferMessage out;
  std::vector<InferTensor> inputs;
  std::vector<BytesView> raw;
  std::set<std::string> seen;
  WireReader reader(message);
  for (WireField field; reader.next(field);) {
    if (field.type != WireType::kBytes) continue;
    if (field.number == 1) out.model_.name = field.as_text();
    if (field.number == 2) HEADRACE_CHECK(set_version(field.as_text(), out.model_));
    if (field.number == 3) out.id_ = field.as_text();
    if (field.number == 4) {
      HEADRACE_TRY(const InferParameter parameter, read_parameter(field.bytes));
      if (parameter.name == "signature_name" && !parameter.text.empty()) out.signature_name_ = parameter.text;
    }
    if (field.number == 5) {
      auto tensor = read_infer_tensor(field.bytes);
      if (!tensor) return std::move(tensor).error().in(concat("input ", inputs.size()));
      inputs.push_back(*std::move(tensor));
    }
    if (field.number == 6) {
      HEADRACE_TRY(std::string name, read_wanted_output(field.bytes));
      if (!seen.insert(name).second)
        return bad_infer(
            concat("the output ", printable_line(name, kQuotedInferBytes), " is requested twice"));
      out.outputs_.push_back(std::move(name));
    }
    if (field.number == 7) raw.push_back(field.bytes);
  }
  if (reader.malformed()) return malformed_request();
  if (out.model_.name.empty()) return bad_infer("the request has no model_name");
  if (!raw.empty() && raw.size() != inputs.size())
    return bad_infer(concat("the request has ", inputs.size(), " inputs, but ", raw.size(),
                            " raw_input_contents: send one for each input, or none"));
  const auto data = std::make_shared<Data>();
  data->memory.resize(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto bytes = raw.empty() ? std::nullopt : std::optional(raw[i]);
    auto tensor = take_tensor(inputs[i], bytes, data->memory[i]);
    if (!tensor)
      return std::move(tensor).error().in(
          concat("the input ", printable_line(inputs[i].name, kQuotedInferBytes)));
    data->tensors.push_back({std::string(inputs[i].name), *tensor});
  }
  out.has_contents_ = raw.empty() && !inputs.empty();
  out.data_ = data;
  return out;
}

Result<std::unique_ptr<BoundRequest>> InferMessage::bind(const ServedSignature& signature) const {
  for (const std::string& name : outputs_) HEADRACE_CHECK(check_has_output(signature, name));
  return bind_tensors(data_->tensors, data_, signature);
}

Result<Bytes> infer_response(const BatchAnswers& answers, const ServedSignature& signature,
                             const InferMessage& request, std::string_view model, std::int64_t version) {
  HEADRACE_TRY(const std::vector<AnswerOutput> all, join_answers(answers, signature, "row"));
  std::vector<const AnswerOutput*> outputs;
  for (const std::string& name : request.outputs()) {
    outputs.push_back(find_output(all, name));
    if (outputs.back() == nullptr) return bad_infer(concat("there is no output ", name));
  }
  if (outputs.empty()) {
    for (const AnswerOutput& output : all) outputs.push_back(&output);
  }
  bool is_raw = !request.has_contents();
  for (const AnswerOutput* const output : outputs) {
    if (infer_type_name(output->type).empty())
      return Error{Code::kUnimplemented, concat("KServe v2 has no type for the output ", output->name,
                                                ", which is ", data_type_name(output->type))};
    is_raw |= contents_field(output->type) == 0;
  }
  Bytes out;
  WireWriter writer(out);
  writer.text(1, model);
  writer.text(2, concat(version));
  if (!request.id().empty()) writer.text(3, request.id());
  for (const AnswerOutput* const output : outputs) HEADRACE_CHECK(append_infer_output(out, *output, is_raw));
  if (!is_raw) return out;
  for (const AnswerOutput* const output : outputs) {
    writer.tag(kRawOutputField, WireType::kBytes);
    append_varint(out, binary_tensor_size(*output));
    append_binary_tensor(out, *output);
  }
  return out;
}

Result<RequestedModel> parse_model_request(BytesView message) {
  RequestedModel out;
  WireReader reader(message);
  for (WireField field; reader.next(field);) {
    if (field.type != WireType::kBytes) continue;
    if (field.number == 1) out.name = field.as_text();
    if (field.number == 2) HEADRACE_CHECK(set_version(field.as_text(), out));
  }
  if (reader.malformed()) return malformed_request();
  if (out.name.empty()) return bad_infer("the request has no name of a model");
  return out;
}

Bytes boolean_response(bool value) {
  Bytes out;
  if (value) WireWriter(out).varint(1, 1);
  return out;
}

Bytes server_metadata_response(std::string_view server_version) {
  Bytes out;
  WireWriter writer(out);
  writer.text(1, "headrace");
  writer.text(2, server_version);
  return out;
}

Bytes model_metadata_response(std::string_view model, const std::vector<std::int64_t>& versions,
                              const ServedModel& served) {
  Bytes out;
  WireWriter writer(out);
  writer.text(1, model);
  for (const std::int64_t version : versions) writer.text(2, concat(version));
  writer.text(3, "tensorflow_savedmodel");
  if (const ServedSignature* const signature = infer_metadata_signature(served)) {
    write_metadata_tensors(writer, 4, signature->inputs);
    write_metadata_tensors(writer, 5, signature->outputs);
  }
  return out;
}

}  // namespace headrace
