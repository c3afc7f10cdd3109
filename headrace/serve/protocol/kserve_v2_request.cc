#include "headrace/serve/protocol/kserve_v2_request.h"

#include <algorithm>
#include <set>

#include "headrace/base/text.h"
#include "headrace/serve/protocol/answers.h"
#include "headrace/serve/protocol/binary_tensor.h"
#include "headrace/serve/protocol/json_document.h"
#include "headrace/serve/protocol/json_tensor.h"
#include "headrace/serve/protocol/json_writer.h"
#include "headrace/serve/protocol/kserve_v2.h"

namespace headrace {

// The memory that a request's tensors view.
struct InferRequest::Data {
  JsonDocument document;
  std::vector<Bytes> numbers{};
  std::vector<std::vector<std::string_view>> texts{};
  std::vector<NamedTensor> tensors{};
};

namespace {

constexpr std::size_t kQuotedWordBytes = 60;
constexpr std::size_t kAnswerJsonBytes = 256;  // enough for most answers with binary data

Error bad_request(std::string message) { return {Code::kInvalidArgument, std::move(message)}; }

// A member that must be a string.
Result<std::string_view> text_member(const JsonNode& object, std::string_view name) {
  const auto found = object.find(name);
  if (found && found->is_string()) return found->text();
  return bad_request(concat('"', name, "\" is missing, or not a string"));
}

// A parameter of the object, if it exists.
std::optional<JsonNode> parameter(const JsonNode& object, std::string_view name) {
  const auto parameters = object.find("parameters");
  return parameters ? parameters->find(name) : std::nullopt;
}

Result<bool> bool_parameter(const JsonNode& object, std::string_view name, bool otherwise) {
  const auto found = parameter(object, name);
  if (!found) return otherwise;
  if (found->kind() != JsonKind::kBool)
    return bad_request(concat("the parameter ", name, " is neither true nor false"));
  return found->boolean();
}

Status check_parameters(const JsonNode& object) {
  for (const std::string_view name : {"shared_memory_region", "classification"}) {
    if (parameter(object, name))
      return Error{Code::kUnimplemented,
                   concat("this server does not support the extension of the parameter ", name)};
  }
  return {};
}

Result<Shape> parse_shape(const JsonNode& tensor) {
  const auto sizes = tensor.find("shape");
  if (!sizes || !sizes->is_array()) return bad_request("\"shape\" is missing, or not a list");
  if (sizes->size() > Shape::kRankMax)
    return bad_request(
        concat("\"shape\" has ", sizes->size(), " sizes; at most ", Shape::kRankMax, " are possible"));
  std::vector<std::int64_t> out;
  for (const JsonNode& size : sizes->elements()) {
    if (size.kind() != JsonKind::kInt64 || size.int64() < 0)
      return bad_request(concat("\"shape\" has ", describe_json(size), ", which is not a size"));
    out.push_back(size.int64());
  }
  return Shape(out);
}

// The shape of a tensor's lists in JSON, which are flat, or nested as the shape says.
Result<Shape> shape_of_lists(const JsonNode& data, const Shape& shape, std::uint64_t elements) {
  const bool is_flat = data.is_array() && (data.size() == 0 || !data.first().is_array());
  if (!is_flat) return shape_of_json(data, shape);
  if (data.size() == elements) return Shape{static_cast<std::int64_t>(elements)};
  return bad_request(
      concat("\"data\" has ", data.size(), " values, the shape ", shape.text(), " has ", elements));
}

// Reads the inputs in their order.
class TensorReader {
 public:
  // `binary` is the data after the JSON. A tensor in JSON cannot have more elements than the JSON has bytes.
  TensorReader(std::string_view binary, std::size_t json_bytes) : binary_(binary), json_bytes_(json_bytes) {}

  // Returns the tensor. Its values lie in `numbers`, `texts` or the binary data.
  Result<TensorView> read(const JsonNode& input, Bytes& numbers, std::vector<std::string_view>& texts) {
    HEADRACE_CHECK(check_parameters(input));
    HEADRACE_TRY(const std::string_view type_name, text_member(input, "datatype"));
    const auto type = parse_infer_type(type_name);
    if (!type)
      return bad_request(concat("the type ", printable_line(type_name, kQuotedWordBytes), " is unknown"));
    HEADRACE_TRY(const Shape shape, parse_shape(input));
    const auto elements = checked_elements(shape.sizes());
    if (!elements) return bad_request(concat("the shape ", shape.text(), " is too large"));
    TensorView out{*type, shape};
    if (const auto size = parameter(input, "binary_data_size")) {
      HEADRACE_CHECK(read_binary(*size, *elements, out, texts));
    } else {
      HEADRACE_CHECK(read_json(input, *elements, out, numbers, texts));
    }
    return out;
  }

  Status finish() const {
    if (binary_.empty()) return {};
    return bad_request(concat("the body has ", binary_.size(), " bytes that belong to no input"));
  }

 private:
  Status read_binary(const JsonNode& size, std::uint64_t elements, TensorView& out,
                     std::vector<std::string_view>& texts) {
    if (size.kind() != JsonKind::kInt64 || size.int64() < 0)
      return bad_request("the parameter binary_data_size is not a size");
    const auto bytes = static_cast<std::uint64_t>(size.int64());
    if (bytes > binary_.size())
      return bad_request(concat("binary_data_size is ", bytes, ", but the body has ", binary_.size(),
                                " bytes of binary data left"));
    const std::string_view data = binary_.substr(0, bytes);
    binary_.remove_prefix(bytes);
    if (out.type == DataType::kBytes) {
      HEADRACE_TRY(texts, parse_binary_texts(as_bytes(data), elements));
      out.strings = texts;
      return {};
    }
    const std::uint64_t element_bytes = data_type_size_bytes(out.type);
    if (bytes % element_bytes != 0 || bytes / element_bytes != elements)
      return bad_request(concat("binary_data_size is ", bytes, ", but the shape ", out.shape.text(), " has ",
                                elements, " elements of ", element_bytes, " bytes"));
    out.data = data.data();
    return {};
  }

  Status read_json(const JsonNode& input, std::uint64_t elements, TensorView& out, Bytes& numbers,
                   std::vector<std::string_view>& texts) const {
    if (!can_be_json(out.type))
      return Error{Code::kUnimplemented, concat("values of the type ", infer_type_name(out.type),
                                                " cannot be sent as JSON: send them as binary data")};
    const auto data = input.find("data");
    if (!data) return bad_request("\"data\" is missing, and there is no parameter binary_data_size");
    if (elements > json_bytes_)
      return bad_request(concat("the shape ", out.shape.text(), " has more elements than \"data\""));
    HEADRACE_TRY(const Shape lists, shape_of_lists(*data, out.shape, elements));
    if (out.type == DataType::kBytes) {
      HEADRACE_CHECK(append_texts_of_json(*data, lists, texts));
      out.strings = texts;
      return {};
    }
    numbers.resize(elements * data_type_size_bytes(out.type));
    if (!read_json_numbers(*data, lists.sizes(), out.type, numbers.data()))
      return json_misfit(*data, out.type, lists);
    out.data = numbers.data();
    return {};
  }

  std::string_view binary_;
  std::size_t json_bytes_;
};

Result<std::vector<RequestedOutput>> parse_outputs(const JsonNode& root, bool is_binary_by_default) {
  std::vector<RequestedOutput> out;
  const auto outputs = root.find("outputs");
  if (!outputs) return out;
  if (!outputs->is_array()) return bad_request("\"outputs\" is not a list");
  std::set<std::string_view> seen;
  for (const JsonNode& output : outputs->elements()) {
    HEADRACE_TRY(const std::string_view name, text_member(output, "name"));
    HEADRACE_CHECK(check_parameters(output));
    HEADRACE_TRY(const bool is_binary, bool_parameter(output, "binary_data", is_binary_by_default));
    if (!seen.insert(name).second)
      return bad_request(
          concat("the output ", printable_line(name, kQuotedWordBytes), " is requested twice"));
    out.push_back({std::string(name), is_binary});
  }
  return out;
}

// Appends all values as one flat list.
Status append_data(std::string& out, const AnswerOutput& output) {
  out += R"(,"data":[)";
  for (std::string_view separator = ""; const AnswerPart& part : output.parts) {
    if (output.type == DataType::kBytes) {
      for (const std::string_view text : texts_of(part)) {
        if (is_valid_utf8(text)) continue;
        return Error{Code::kFailedPrecondition, concat("a byte string of the output ", output.name,
                                                       " is not UTF-8: request the output as binary_data")};
      }
    }
    const std::uint64_t elements = part.rows * part.row.elements();
    if (elements == 0) continue;
    out += std::exchange(separator, ",");
    const std::size_t begin = out.size();
    HEADRACE_CHECK(append_json_tensor(out, part.tensor, part.first_element(0),
                                      {static_cast<std::int64_t>(elements)}, JsonBytesForm::kText));
    out.erase(begin, 1);  // removes the part's brackets, with the next line
    out.pop_back();
  }
  out += ']';
  return {};
}

Status append_output(std::string& json, Bytes& binary, const AnswerOutput& output, bool is_binary) {
  const std::string_view type = infer_type_name(output.type);
  if (type.empty())
    return Error{Code::kUnimplemented, concat("KServe v2 has no type for the output ", output.name,
                                              ", which is ", data_type_name(output.type))};
  HEADRACE_TRY(const Shape shape, output.shape());
  json += R"({"name":)";
  append_json_text(json, output.name);
  json += concat(R"(,"datatype":")", type, R"(","shape":[)");
  for (std::string_view separator = ""; const std::int64_t size : shape.sizes())
    json += concat(std::exchange(separator, ","), size);
  json += ']';
  if (is_binary) {
    const std::size_t begin = binary.size();
    append_binary_tensor(binary, output);
    json += concat(R"(,"parameters":{"binary_data_size":)", binary.size() - begin, '}');
  } else {
    HEADRACE_CHECK(append_data(json, output));
  }
  json += '}';
  return {};
}

}  // namespace

Result<InferRequest> InferRequest::parse(std::string_view body, std::optional<std::uint64_t> header_bytes,
                                         bool is_padded) {
  if (header_bytes && *header_bytes > body.size())
    return bad_request(concat("Inference-Header-Content-Length is ", *header_bytes, ", but the body has ",
                              body.size(), " bytes"));
  const std::string_view json = body.substr(0, header_bytes.value_or(body.size()));
  const std::string_view binary = body.substr(json.size());
  auto document = JsonDocument::parse(json, is_padded || binary.size() >= kJsonPaddingBytes);
  if (!document) return std::move(document).error().in("reading the request");
  const JsonNode root = document->root();
  const auto inputs = root.find("inputs");
  if (!inputs || !inputs->is_array())
    return bad_request("the request is not an object with a list of \"inputs\"");

  const auto data = std::make_shared<Data>(Data{*std::move(document)});
  InferRequest out(data);
  if (root.find("id")) {
    HEADRACE_TRY(out.answer_form_.id, text_member(root, "id"));
  }
  if (const auto name = parameter(root, "signature_name"); name && name->is_string() && !name->text().empty())
    out.signature_name_ = name->text();
  InferAnswerForm& form = out.answer_form_;
  HEADRACE_TRY(form.is_binary_by_default, bool_parameter(root, "binary_data_output", false));
  HEADRACE_TRY(form.outputs, parse_outputs(root, form.is_binary_by_default));

  const std::vector<JsonNode> nodes = inputs->elements();
  data->numbers.resize(nodes.size());
  data->texts.resize(nodes.size());
  TensorReader reader(binary, json.size());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const auto name = text_member(nodes[i], "name");
    if (!name) return name.error().in(concat("input ", i));
    auto tensor = reader.read(nodes[i], data->numbers[i], data->texts[i]);
    if (!tensor)
      return std::move(tensor).error().in(concat("the input ", printable_line(*name, kQuotedWordBytes)));
    data->tensors.push_back({std::string(*name), *tensor});
  }
  HEADRACE_CHECK(reader.finish());
  return out;
}

Result<std::unique_ptr<BoundRequest>> InferRequest::bind(const ServedSignature& signature) const {
  for (const RequestedOutput& output : answer_form_.outputs)
    HEADRACE_CHECK(check_has_output(signature, output.name));
  return bind_tensors(data_->tensors, data_, signature);
}

Result<InferAnswer> infer_answer(const BatchAnswers& answers, const ServedSignature& signature,
                                 const InferAnswerForm& form, std::string_view model, std::int64_t version) {
  HEADRACE_TRY(const std::vector<AnswerOutput> outputs, join_answers(answers, signature, "row"));
  std::vector<RequestedOutput> wanted = form.outputs;
  if (wanted.empty()) {
    for (const AnswerOutput& output : outputs)
      wanted.push_back({std::string(output.name), form.is_binary_by_default});
  }
  std::string json;
  json.reserve(kAnswerJsonBytes);
  json += R"({"model_name":)";
  append_json_text(json, model);
  json += concat(R"(,"model_version":")", version, '"');
  if (form.id) {
    json += R"(,"id":)";
    append_json_text(json, *form.id);
  }
  json += R"(,"outputs":[)";
  Bytes binary;
  bool has_binary = false;
  for (std::string_view separator = ""; const RequestedOutput& each : wanted) {
    const AnswerOutput* const output = find_output(outputs, each.name);
    if (output == nullptr) return bad_request(concat("there is no output ", each.name));
    json += std::exchange(separator, ",");
    HEADRACE_CHECK(append_output(json, binary, *output, each.is_binary));
    has_binary |= each.is_binary;
  }
  json += "]}";
  InferAnswer out;
  if (has_binary) out.header_bytes = json.size();
  out.body = std::move(json);
  out.body.reserve(out.body.size() + binary.size());
  out.body += as_text(binary);
  return out;
}

}  // namespace headrace
