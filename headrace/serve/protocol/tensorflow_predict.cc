#include "headrace/serve/protocol/tensorflow_predict.h"

#include <algorithm>
#include <optional>

#include "headrace/base/text.h"
#include "headrace/base/wire.h"
#include "headrace/serve/protocol/answers.h"
#include "headrace/serve/protocol/grpc_service.h"
#include "headrace/serve/protocol/model_specification.h"
#include "headrace/serve/protocol/tensor_message.h"
#include "headrace/serve/protocol/tensor_request.h"

namespace headrace {

// The memory, besides the message, that the tensors of a request view.
struct PredictRequest::Data {
  std::vector<ValuesMemory> memory{};
  std::vector<NamedTensor> tensors{};
};

namespace {

constexpr std::size_t kQuotedPredictBytes = 60;

Error bad_predict(std::string message) { return {Code::kInvalidArgument, std::move(message)}; }

// One entry of the map of inputs.
struct InputEntry {
  std::string_view name{};
  BytesView tensor{};
};

Result<InputEntry> read_input_entry(BytesView message) {
  InputEntry out;
  WireReader reader(message);
  for (WireField field; reader.next(field);) {
    if (field.type != WireType::kBytes) continue;
    if (field.number == 1) out.name = field.as_text();
    if (field.number == 2) out.tensor = field.bytes;
  }
  if (reader.malformed()) return malformed_request();
  return out;
}

void write_tensor_infos(WireWriter& writer, std::uint32_t number, const std::vector<ServedTensor>& tensors) {
  for (const ServedTensor& tensor : tensors) {
    Bytes shape;
    append_tensor_shape(shape, tensor.shape);
    writer.message(number, [&](WireWriter& entry) {
      entry.text(1, tensor.name);
      entry.message(2, [&](WireWriter& info) {
        info.text(1, tensor.name + ":0");
        info.varint(2, tensor_dtype(tensor.type));
        info.bytes(3, shape);
      });
    });
  }
}

std::uint64_t status_number(RestVersionState state) {
  return (static_cast<std::uint64_t>(state) + 1) * 10;  // START is 10, LOADING 20, …
}

}  // namespace

Result<PredictRequest> PredictRequest::parse(BytesView message, std::uint64_t repeated_bytes_max) {
  PredictRequest out;
  ModelSpecification specification;
  std::vector<InputEntry> inputs;
  WireReader reader(message);
  for (WireField field; reader.next(field);) {
    if (field.type != WireType::kBytes) continue;
    if (field.number == 1) HEADRACE_CHECK(read_model_specification(field.bytes, specification));
    if (field.number == 2) {
      HEADRACE_TRY(const InputEntry input, read_input_entry(field.bytes));
      inputs.push_back(input);
    }
    if (field.number == 3) out.outputs_.emplace_back(field.as_text());
  }
  if (reader.malformed()) return malformed_request();
  HEADRACE_CHECK(check_model_named(specification.model));
  out.model_ = std::move(specification.model);
  if (!specification.signature_name.empty()) out.signature_name_ = std::move(specification.signature_name);

  const auto data = std::make_shared<Data>();
  data->memory.resize(inputs.size());
  TensorMessageReader tensors(repeated_bytes_max);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    auto tensor = tensors.read(inputs[i].tensor, data->memory[i]);
    if (!tensor)
      return std::move(tensor).error().in(
          concat("the input ", printable_line(inputs[i].name, kQuotedPredictBytes)));
    data->tensors.push_back({std::string(inputs[i].name), *tensor});
  }
  out.has_content_ = tensors.has_content();
  out.data_ = data;
  return out;
}

Result<std::unique_ptr<BoundRequest>> PredictRequest::bind(const ServedSignature& signature) const {
  std::vector<std::string> names = outputs_;
  std::ranges::sort(names);
  const auto twice = std::ranges::adjacent_find(names);
  if (twice != names.end())
    return bad_predict(concat("output_filter has ", printable_line(*twice, kQuotedPredictBytes), " twice"));
  for (const std::string& name : names) HEADRACE_CHECK(check_has_output(signature, name));
  return bind_tensors(data_->tensors, data_, signature);
}

Result<Bytes> predict_response(const BatchAnswers& answers, const ServedSignature& signature,
                               const PredictRequest& request, std::string_view model, std::int64_t version) {
  HEADRACE_TRY(const std::vector<AnswerOutput> outputs, join_answers(answers, signature, "row"));
  const std::vector<std::string>& wanted = request.outputs();
  Bytes out;
  for (const AnswerOutput& output : outputs) {
    if (!wanted.empty() && std::ranges::find(wanted, output.name) == wanted.end()) continue;
    HEADRACE_CHECK(append_tensor_entry(out, 1, output, request.has_content()));
  }
  append_model_specification(out, 2, model, version, signature.name);
  return out;
}

void append_model_specification(Bytes& out, std::uint32_t number, std::string_view model,
                                std::optional<std::int64_t> version, std::string_view signature) {
  WireWriter(out).message(number, [&](WireWriter& specification) {
    specification.text(1, model);
    if (version) {
      specification.message(2, [&](WireWriter& wrapper) {
        if (*version != 0) wrapper.varint(1, static_cast<std::uint64_t>(*version));
      });
    }
    if (!signature.empty()) specification.text(3, signature);
  });
}

Result<RequestedModel> parse_metadata_request(BytesView message) {
  ModelSpecification specification;
  std::vector<std::string_view> fields;
  WireReader reader(message);
  for (WireField field; reader.next(field);) {
    if (field.type != WireType::kBytes) continue;
    if (field.number == 1) HEADRACE_CHECK(read_model_specification(field.bytes, specification));
    if (field.number == 2) fields.push_back(field.as_text());
  }
  if (reader.malformed()) return malformed_request();
  HEADRACE_CHECK(check_model_named(specification.model));
  if (fields.empty()) return bad_predict("the request names no metadata_field: give signature_def");
  for (const std::string_view name : fields) {
    if (name != "signature_def")
      return bad_predict(concat("there is no metadata_field ", printable_line(name, kQuotedPredictBytes),
                                ", only signature_def"));
  }
  return specification.model;
}

Bytes metadata_response(std::string_view model, std::int64_t version, const ServedModel& served) {
  Bytes signatures;
  WireWriter map(signatures);
  for (const ServedSignature& signature : served.signatures) {
    map.message(1, [&](WireWriter& entry) {
      entry.text(1, signature.name);
      entry.message(2, [&](WireWriter& definition) {
        write_tensor_infos(definition, 1, signature.inputs);
        write_tensor_infos(definition, 2, signature.outputs);
        definition.text(3, signature.method_name);
      });
    });
  }
  Bytes out;
  append_model_specification(out, 1, model, version, "");
  WireWriter writer(out);
  writer.message(2, [&](WireWriter& entry) {
    entry.text(1, "signature_def");
    entry.message(2, [&](WireWriter& any) {
      any.text(1, "type.googleapis.com/tensorflow.serving.SignatureDefMap");
      any.bytes(2, signatures);
    });
  });
  return out;
}

Result<RequestedModel> parse_status_request(BytesView message) {
  ModelSpecification specification;
  WireReader reader(message);
  for (WireField field; reader.next(field);) {
    if (field.number == 1 && field.type == WireType::kBytes)
      HEADRACE_CHECK(read_model_specification(field.bytes, specification));
  }
  if (reader.malformed()) return malformed_request();
  HEADRACE_CHECK(check_model_named(specification.model));
  return specification.model;
}

Bytes status_response(const std::vector<RestVersionStatus>& versions) {
  Bytes out;
  WireWriter writer(out);
  for (const RestVersionStatus& each : versions) {
    writer.message(1, [&](WireWriter& status) {
      if (each.version != 0) status.varint(1, static_cast<std::uint64_t>(each.version));
      status.varint(2, status_number(each.state));
      status.message(3, [&](WireWriter& reason) {
        if (!each.error) return;
        reason.varint(1, static_cast<std::uint64_t>(each.error->code));
        reason.text(2, grpc_message(*each.error));
      });
    });
  }
  return out;
}

}  // namespace headrace
