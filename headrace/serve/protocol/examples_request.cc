#include "headrace/serve/protocol/examples_request.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "headrace/base/digest.h"
#include "headrace/base/text.h"
#include "headrace/serve/protocol/example_check.h"
#include "headrace/serve/protocol/grpc_service.h"
#include "headrace/serve/protocol/json_document.h"
#include "headrace/serve/protocol/json_tensor.h"

namespace headrace {
namespace {

constexpr std::size_t kQuotedFeatureBytes = 60;

Error bad_examples(std::string message) { return {Code::kInvalidArgument, std::move(message)}; }

// Adds examples, each after a copy of the context. Protobuf merges the two: if both have a feature of one
// name, the last one counts.
class ExampleGatherer {
 public:
  ExampleGatherer(std::string context, std::uint64_t repeated_bytes_max)
      : context_(std::move(context)), bytes_left_(repeated_bytes_max) {}

  Status add(std::string_view example) {
    if (context_.size() > bytes_left_)
      return Error{Code::kResourceExhausted,
                   "the copies of the context, one for each example, take more memory than the server has "
                   "for them: send fewer examples"};
    bytes_left_ -= context_.size();
    out_.text += context_;
    out_.text += example;
    out_.ends.push_back(out_.text.size());
    return {};
  }
  std::size_t size() const { return out_.ends.size(); }

  Result<std::shared_ptr<const TextList>> finish() && {
    if (out_.ends.empty()) return bad_examples("the request has no examples: send at least one");
    return std::shared_ptr<const TextList>(std::make_shared<const TextList>(std::move(out_)));
  }

 private:
  const std::string context_;
  std::uint64_t bytes_left_;
  TextList out_;
};

// ---- JSON

enum class FeatureKind : std::uint8_t {
  kNone = 0,
  kBytes = 1,
  kFloats = 2,
  kInt64s = 3
};  // fields of Feature

// Writes features one by one, as entries of tf.Example's map.
class FeatureWriter {
 public:
  Status add(std::string_view name, const JsonNode& value) {
    kind_ = FeatureKind::kNone;
    values_.clear();
    if (value.is_array()) {
      for (const JsonNode& each : value.elements()) HEADRACE_CHECK(add_value(name, each));
    } else {
      HEADRACE_CHECK(add_value(name, value));
    }
    WireWriter(features_).message(1, [&](WireWriter& entry) {
      entry.text(1, name);
      entry.message(2, [&](WireWriter& feature) {
        if (kind_ == FeatureKind::kNone) return;
        feature.message(static_cast<std::uint32_t>(kind_), [&](WireWriter& list) { write_list(list); });
      });
    });
    return {};
  }

  // Returns the example, which has the features since the previous call only.
  std::string_view finish() {
    example_.clear();
    WireWriter(example_).bytes(1, features_);
    features_.clear();
    return as_text(example_);
  }

 private:
  Status add_value(std::string_view name, const JsonNode& value) {
    const auto misfit = [&](std::string_view why) {
      return bad_examples(concat("feature ", printable_line(name, kQuotedFeatureBytes), ": ",
                                 describe_json(value), " ", why));
    };
    const auto kind = kind_of(value);
    if (!kind) return misfit("is not a number, boolean, string or {\"b64\": \"…\"}");
    if (kind_ != FeatureKind::kNone && kind_ != *kind)
      return misfit(
          "is of another type than the values before it: all are whole numbers, numbers with a "
          "decimal point, or strings");
    kind_ = *kind;
    if (*kind == FeatureKind::kInt64s) {
      append_varint(values_, value.kind() == JsonKind::kBool ? value.boolean()
                                                             : static_cast<std::uint64_t>(value.int64()));
    } else if (*kind == FeatureKind::kFloats) {
      const double number = value.number();
      if (std::isfinite(number) && std::abs(number) > std::numeric_limits<float>::max())
        return misfit("is beyond the range of float32");
      append_little_endian(values_, static_cast<float>(number));
    } else if (value.is_string()) {
      WireWriter(values_).text(1, value.text());
    } else {
      const std::string_view text = value.find("b64")->text();
      const auto bytes = text.empty() ? Bytes() : parse_base64(text);
      if (!bytes) return misfit("is not base64");
      WireWriter(values_).bytes(1, *bytes);
    }
    return {};
  }

  static std::optional<FeatureKind> kind_of(const JsonNode& value) {
    switch (value.kind()) {
      case JsonKind::kBool:
      case JsonKind::kInt64:
        return FeatureKind::kInt64s;
      case JsonKind::kDouble:
        return FeatureKind::kFloats;
      case JsonKind::kString:
        return FeatureKind::kBytes;
      case JsonKind::kObject:
        if (is_json_base64(value)) return FeatureKind::kBytes;
        return std::nullopt;
      default:
        return std::nullopt;
    }
  }

  // Numbers are packed into one field. Byte strings were already written as fields.
  void write_list(WireWriter& list) {
    if (kind_ == FeatureKind::kBytes) {
      features_.insert(features_.end(), values_.begin(), values_.end());
    } else {
      list.bytes(1, values_);
    }
  }

  FeatureKind kind_ = FeatureKind::kNone;
  Bytes values_;
  Bytes features_;
  Bytes example_;
};

Result<std::string_view> write_example(const JsonNode& value, FeatureWriter& writer) {
  if (!value.is_object())
    return bad_examples(concat(describe_json(value), " is not an object from feature to value"));
  for (const JsonNodeMember& member : value.members()) HEADRACE_CHECK(writer.add(member.name, member.value));
  return writer.finish();
}

// ---- messages

struct ExampleInput {
  std::vector<BytesView> examples;
  BytesView context{};
};

Status read_example_list(BytesView message, ExampleInput& out) {
  WireReader reader(message);
  for (WireField field; reader.next(field);) {
    if (field.type != WireType::kBytes) continue;
    if (field.number == 1) out.examples.push_back(field.bytes);
    if (field.number == 2) out.context = field.bytes;
  }
  if (reader.malformed()) return malformed_request();
  return {};
}

// Reads the field of an Input, which is one of two kinds of lists. If there are several, the last one counts.
Result<ExampleInput> read_example_input(BytesView message) {
  ExampleInput out;
  WireReader reader(message);
  for (WireField field; reader.next(field);) {
    if (field.type != WireType::kBytes || (field.number != 1 && field.number != 2)) continue;
    out = {};
    HEADRACE_CHECK(read_example_list(field.bytes, out));
    if (field.number == 1) out.context = {};
  }
  if (reader.malformed()) return malformed_request();
  return out;
}

Result<std::shared_ptr<const TextList>> gather_input(BytesView message, std::uint64_t repeated_bytes_max) {
  HEADRACE_TRY(const ExampleInput input, read_example_input(message));
  if (!is_example(input.context)) return bad_examples("the context is not a well-formed tf.Example");
  ExampleGatherer gatherer(std::string(as_text(input.context)), repeated_bytes_max);
  for (const BytesView example : input.examples) {
    if (!is_example(example))
      return bad_examples(concat("example ", gatherer.size(), " is not a well-formed tf.Example"));
    HEADRACE_CHECK(gatherer.add(as_text(example)));
  }
  return std::move(gatherer).finish();
}

void name_default_signature(ModelSpecification& specification) {
  if (specification.signature_name.empty()) specification.signature_name = kDefaultSignature;
}

const ServedTensor* find_tensor(const std::vector<ServedTensor>& tensors, std::string_view name) {
  const auto found = std::ranges::find(tensors, name, &ServedTensor::name);
  return found == tensors.end() ? nullptr : &*found;
}

bool is_class_list(const ServedTensor* output, DataType type) {
  return output == nullptr || (output->type == type && output->shape.rank() == 2);
}

bool fits_classify(const ServedSignature& signature) {
  const ServedTensor* const classes = find_tensor(signature.outputs, kClassesOutput);
  const ServedTensor* const scores = find_tensor(signature.outputs, kScoresOutput);
  return (classes != nullptr || scores != nullptr) && is_class_list(classes, DataType::kBytes) &&
         is_class_list(scores, DataType::kFloat32);
}

bool fits_regress(const ServedSignature& signature) {
  const ServedTensor* const output = find_tensor(signature.outputs, kRegressOutput);
  if (output == nullptr || output->type != DataType::kFloat32) return false;
  return output->shape.rank() == 1 ||
         (output->shape.rank() == 2 && (output->shape[1] == 1 || output->shape[1] == -1));
}

}  // namespace

Status check_examples_signature(const ServedSignature& signature, ExamplesMethod method) {
  const ServedTensor input{std::string(kExamplesInput), DataType::kBytes, {-1}};
  const bool has_input = signature.is_batched && signature.inputs == std::vector{input};
  const bool is_classify = method == ExamplesMethod::kClassify;
  if (has_input && (is_classify ? fits_classify(signature) : fits_regress(signature))) return {};
  return bad_examples(
      concat("the signature ", signature.name, " takes no tf.Examples for ",
             is_classify ? "classify, which needs the input inputs of texts, and the outputs classes (texts) "
                           "or scores (float32) of [rows, classes]"
                         : "regress, which needs the input inputs of texts, and the output outputs "
                           "(float32) of [rows]",
             ": send its inputs to predict"));
}

Result<ExamplesRequest> ExamplesRequest::parse_json(std::string_view body, std::uint64_t repeated_bytes_max,
                                                    bool is_padded) {
  auto document = JsonDocument::parse(body, is_padded);
  if (!document) return std::move(document).error().in("reading the request");
  const JsonNode root = document->root();
  if (!root.is_object())
    return bad_examples(concat("the request is ", describe_json(root),
                               R"(, not an object such as {"examples": [{"feature": 1}]})"));
  ExamplesRequest out;
  if (const auto name = root.find("signature_name")) {
    if (!name->is_string()) return bad_examples("\"signature_name\" is not a string");
    out.specification_.signature_name = name->text();
  }
  name_default_signature(out.specification_);
  FeatureWriter writer;
  std::string context;
  if (const auto given = root.find("context")) {
    const auto written = write_example(*given, writer);
    if (!written) return Error(written.error()).in("\"context\"");
    context = *written;
  }
  const auto examples = root.find("examples");
  if (!examples) return bad_examples("the request lacks \"examples\"");
  if (!examples->is_array())
    return bad_examples(concat("\"examples\" is ", describe_json(*examples), ", not a list of objects"));
  ExampleGatherer gatherer(std::move(context), repeated_bytes_max);
  for (const JsonNode& each : examples->elements()) {
    const auto written = write_example(each, writer);
    if (!written) return Error(written.error()).in(concat("example ", gatherer.size()));
    HEADRACE_CHECK(gatherer.add(*written));
  }
  HEADRACE_TRY(out.examples_, std::move(gatherer).finish());
  return out;
}

Result<ExamplesRequest> ExamplesRequest::parse_message(BytesView message, std::uint64_t repeated_bytes_max) {
  ExamplesRequest out;
  BytesView input;
  WireReader reader(message);
  for (WireField field; reader.next(field);) {
    if (field.type != WireType::kBytes) continue;
    if (field.number == 1) HEADRACE_CHECK(read_model_specification(field.bytes, out.specification_));
    if (field.number == 2) input = field.bytes;
  }
  if (reader.malformed()) return malformed_request();
  HEADRACE_CHECK(check_model_named(out.specification_.model));
  name_default_signature(out.specification_);
  HEADRACE_TRY(out.examples_, gather_input(input, repeated_bytes_max));
  return out;
}

Result<std::unique_ptr<BoundRequest>> ExamplesRequest::bind(const ServedSignature& signature,
                                                            ExamplesMethod method) const {
  HEADRACE_CHECK(check_examples_signature(signature, method));
  return std::unique_ptr<BoundRequest>(std::make_unique<TextRows>(examples_));
}

namespace {

constexpr std::string_view kClassifyMethod = "tensorflow/serving/classify";
constexpr std::string_view kRegressMethod = "tensorflow/serving/regress";

Result<MultiInferenceRequest::Task> read_task(BytesView message) {
  MultiInferenceRequest::Task out;
  std::string_view method;
  WireReader reader(message);
  for (WireField field; reader.next(field);) {
    if (field.type != WireType::kBytes) continue;
    if (field.number == 1) HEADRACE_CHECK(read_model_specification(field.bytes, out.specification));
    if (field.number == 2) method = field.as_text();
  }
  if (reader.malformed()) return malformed_request();
  HEADRACE_CHECK(check_model_named(out.specification.model));
  name_default_signature(out.specification);
  if (method != kClassifyMethod && method != kRegressMethod)
    return Error{Code::kUnimplemented,
                 concat("a task has the method_name ", printable_line(method, 60), "; this server supports ",
                        kClassifyMethod, " and ", kRegressMethod)};
  out.method = method == kClassifyMethod ? ExamplesMethod::kClassify : ExamplesMethod::kRegress;
  return out;
}

}  // namespace

Result<MultiInferenceRequest> MultiInferenceRequest::parse(BytesView message,
                                                           std::uint64_t repeated_bytes_max) {
  constexpr std::size_t kTasksMax = 1024;
  MultiInferenceRequest out;
  BytesView input;
  WireReader reader(message);
  for (WireField field; reader.next(field);) {
    if (field.type != WireType::kBytes) continue;
    if (field.number == 2) input = field.bytes;
    if (field.number != 1) continue;
    if (out.tasks_.size() == kTasksMax)
      return bad_examples(concat("there are more than ", kTasksMax, " tasks"));
    HEADRACE_TRY(Task task, read_task(field.bytes));
    out.tasks_.push_back(std::move(task));
  }
  if (reader.malformed()) return malformed_request();
  if (out.tasks_.empty()) return bad_examples("the request has no tasks");
  std::vector<std::string_view> names;
  for (const Task& task : out.tasks_) {
    names.push_back(task.specification.signature_name);
    if (task.specification.model.name != out.model().name)
      return bad_examples("all tasks of a request must use one model");
  }
  std::ranges::sort(names);
  const auto twice = std::ranges::adjacent_find(names);
  if (twice != names.end())
    return bad_examples(concat("two tasks use the signature ", printable_line(*twice, 60)));
  HEADRACE_TRY(out.examples_, gather_input(input, repeated_bytes_max));
  return out;
}

Result<std::unique_ptr<BoundRequest>> MultiInferenceRequest::bind(const ServedSignature& signature,
                                                                  ExamplesMethod method) const {
  HEADRACE_CHECK(check_examples_signature(signature, method));
  return std::unique_ptr<BoundRequest>(std::make_unique<TextRows>(examples_));
}

}  // namespace headrace
