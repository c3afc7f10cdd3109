#pragma once

/// \file Requests of TensorFlow Serving that carry tf.Examples: Classify and Regress, as JSON and as
/// messages, and MultiInference. Source: tensorflow/serving, apis/ (classification.proto, regression.proto,
/// input.proto, inference.proto) and util/json_tensor.cc.
///
///   HEADRACE_TRY(const auto request, ExamplesRequest::parse_json(body, 64 << 20));
///   const ServedSignature* const signature = model.find(request.signature_name());
///   HEADRACE_TRY(const auto bound, request.bind(*signature, ExamplesMethod::kClassify));
///   … rows of a batch, see bound_request.h …
///   HEADRACE_TRY(const std::string answer, rest_results(answers, *signature, ExamplesMethod::kClassify));

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/base/bytes.h"
#include "headrace/base/result.h"
#include "headrace/serve/protocol/bound_request.h"
#include "headrace/serve/protocol/model_specification.h"
#include "headrace/serve/protocol/text_rows.h"
#include "headrace/serve/signature/served_signature.h"

namespace headrace {

enum class ExamplesMethod : std::uint8_t { kClassify, kRegress };

/// The names of the input and the outputs of a signature for Classify or Regress.
inline constexpr std::string_view kExamplesInput = "inputs";
inline constexpr std::string_view kClassesOutput = "classes";
inline constexpr std::string_view kScoresOutput = "scores";
inline constexpr std::string_view kRegressOutput = "outputs";

/// Checks that a signature can answer this method. Its only input must be kExamplesInput, of texts. For
/// Classify it must have the outputs kClassesOutput (texts), kScoresOutput (float32) or both, of shape
/// [rows, classes]; for Regress, kRegressOutput (float32), of shape [rows] or [rows, 1]. The signature's
/// method name is ignored, as TensorFlow Serving does by default.
/// \error kInvalidArgument  something is missing; the message says what
Status check_examples_signature(const ServedSignature& signature, ExamplesMethod method);

/// Serialized examples, each of them a well-formed message. A value; threads may read it together.
class ExamplesRequest {
 public:
  /// Parses a JSON body. Its member `examples` is a list of objects from feature to value or list: whole
  /// numbers and booleans are int64, other numbers float32, strings and {"b64": "…"} bytes. The optional
  /// member `context` is such an object: its features are copied to each example that lacks them.
  /// \param repeated_bytes_max  bound on the memory for these copies
  /// \param is_padded           as for JsonDocument::parse, whose limits apply
  /// \error kInvalidArgument    the body is not a JSON object; there is no example; a feature mixes types or
  ///                            contains a null, a list or an object; a number is out of the type's range
  /// \error kResourceExhausted  the copies of the context would take more memory
  static Result<ExamplesRequest> parse_json(std::string_view body, std::uint64_t repeated_bytes_max,
                                            bool is_padded = false);
  /// Parses a ClassificationRequest or a RegressionRequest, which have the same fields.
  /// \error kInvalidArgument    the message or an example is malformed; there is no model_spec or no example;
  ///                            the version is negative
  /// \error kResourceExhausted  as parse_json
  static Result<ExamplesRequest> parse_message(BytesView message, std::uint64_t repeated_bytes_max);

  /// The requested model. After parse_json it has no name: the path of the request has the name.
  const RequestedModel& model() const { return specification_.model; }
  /// kDefaultSignature if the request names none.
  const std::string& signature_name() const { return specification_.signature_name; }

  /// Binds the examples to a signature.
  /// \error kInvalidArgument  as check_examples_signature
  Result<std::unique_ptr<BoundRequest>> bind(const ServedSignature& signature, ExamplesMethod method) const;

 private:
  ModelSpecification specification_{};
  std::shared_ptr<const TextList> examples_;
};

/// A request that sends the same examples to several signatures. A value; threads may read it together.
class MultiInferenceRequest {
 public:
  struct Task {
    ModelSpecification specification;  // always names a signature
    ExamplesMethod method = ExamplesMethod::kClassify;
  };

  /// Parses a MultiInferenceRequest. `repeated_bytes_max` as for ExamplesRequest::parse_message.
  /// \error kInvalidArgument    as ExamplesRequest::parse_message; there is no task; the tasks name several
  ///                            models, or one signature twice
  /// \error kUnimplemented      a task has a method other than Classify and Regress
  /// \error kResourceExhausted  as ExamplesRequest::parse_message
  static Result<MultiInferenceRequest> parse(BytesView message, std::uint64_t repeated_bytes_max);

  /// The model of the first task. All tasks name the same model.
  const RequestedModel& model() const { return tasks_.front().specification.model; }
  /// At least one task.
  const std::vector<Task>& tasks() const { return tasks_; }
  /// As ExamplesRequest::bind.
  /// \error kInvalidArgument  as check_examples_signature
  Result<std::unique_ptr<BoundRequest>> bind(const ServedSignature& signature, ExamplesMethod method) const;

 private:
  std::vector<Task> tasks_;
  std::shared_ptr<const TextList> examples_;
};

}  // namespace headrace
