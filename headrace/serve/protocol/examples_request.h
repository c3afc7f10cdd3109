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

/// The input and the outputs of such a signature.
inline constexpr std::string_view kExamplesInput = "inputs";
inline constexpr std::string_view kClassesOutput = "classes";
inline constexpr std::string_view kScoresOutput = "scores";
inline constexpr std::string_view kRegressOutput = "outputs";

/// Whether a signature is asked by this method: its only input is texts, kExamplesInput; to classify, it has
/// the outputs kClassesOutput (texts), kScoresOutput (float32) or both, [rows, classes]; to regress,
/// kRegressOutput (float32), [rows] or [rows, 1]. As TensorFlow Serving by default, it passes over the name
/// of a method that a signature has.
/// \error kInvalidArgument  says what is missing
Status check_examples_signature(const ServedSignature& signature, ExamplesMethod method);

/// Serialized examples, of which every one is a well-formed message. A value; threads may read it together.
class ExamplesRequest {
 public:
  /// `examples` are objects from feature to value or list: whole numbers and booleans are int64, other
  /// numbers float32, strings and {"b64": "…"} bytes. `context` is such an object, whose features every
  /// example gets that lacks them. As JsonDocument::parse, which `is_padded` is for. `repeated_bytes_max`:
  /// memory for the copies of `context`.
  /// \error kInvalidArgument    no object of JSON; no example; a feature of mixed types, or with a null, a
  ///                            list or an object in it; a number beyond the type's range
  /// \error kResourceExhausted  the copies of the context would take more memory
  static Result<ExamplesRequest> parse_json(std::string_view body, std::uint64_t repeated_bytes_max,
                                            bool is_padded = false);
  /// A ClassificationRequest or a RegressionRequest, which have the same fields.
  /// \error kInvalidArgument    no well-formed message, also within an example; no model_spec; a version that
  ///                            is negative; no example
  /// \error kResourceExhausted  as parse_json
  static Result<ExamplesRequest> parse_message(BytesView message, std::uint64_t repeated_bytes_max);

  /// Without a name for parse_json: a path has it.
  const RequestedModel& model() const { return specification_.model; }
  /// kDefaultSignature if the request names none.
  const std::string& signature_name() const { return specification_.signature_name; }

  /// \error kInvalidArgument  as check_examples_signature
  Result<std::unique_ptr<BoundRequest>> bind(const ServedSignature& signature, ExamplesMethod method) const;

 private:
  ModelSpecification specification_{};
  std::shared_ptr<const TextList> examples_;
};

/// Several signatures that get the same examples.
class MultiInferenceRequest {
 public:
  struct Task {
    ModelSpecification specification;  // with a name of a signature
    ExamplesMethod method = ExamplesMethod::kClassify;
  };

  /// \error kInvalidArgument    as ExamplesRequest::parse_message; no task; tasks of several models, or
  ///                            several of one signature
  /// \error kUnimplemented      a task of another method
  /// \error kResourceExhausted  as ExamplesRequest::parse_message
  static Result<MultiInferenceRequest> parse(BytesView message, std::uint64_t repeated_bytes_max);

  /// That of the first task; those of the others have the same name.
  const RequestedModel& model() const { return tasks_.front().specification.model; }
  /// At least one.
  const std::vector<Task>& tasks() const { return tasks_; }
  /// \error kInvalidArgument  as check_examples_signature
  Result<std::unique_ptr<BoundRequest>> bind(const ServedSignature& signature, ExamplesMethod method) const;

 private:
  std::vector<Task> tasks_;
  std::shared_ptr<const TextList> examples_;
};

}  // namespace headrace
