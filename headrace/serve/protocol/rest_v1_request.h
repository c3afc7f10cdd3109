#pragma once

/// \file The bodies of a Predict request of TensorFlow Serving's REST API and of its answer. Source:
/// tensorflow/serving, util/json_tensor.cc.
///
///   HEADRACE_TRY(const auto request, RestRequest::parse(body));
///   const ServedSignature* const signature = model.find(request.signature_name());
///   HEADRACE_TRY(const auto bound, request.bind(*signature));
///   … rows of a batch, see bound_request.h …
///   HEADRACE_TRY(const std::string answer, rest_answer(answers, *signature, request.form()));

#include <memory>
#include <string>
#include <string_view>

#include "headrace/base/result.h"
#include "headrace/serve/batch/batcher.h"
#include "headrace/serve/protocol/bound_request.h"
#include "headrace/serve/protocol/json_document.h"
#include "headrace/serve/signature/served_signature.h"

namespace headrace {

/// kRow: the request has `instances`, one value for each row, and the answer `predictions`. kColumn: the
/// request has `inputs`, one value for each input, and the answer `outputs`.
enum class RestForm : std::uint8_t { kRow, kColumn };

/// The well-formed body of a request. A value; threads may read it together.
class RestRequest {
 public:
  /// Parses a body. Members other than `signature_name`, `instances` and `inputs` are ignored. `is_padded`
  /// and further errors as for JsonDocument::parse.
  /// \error kInvalidArgument  the body is not a JSON object; it has both forms, or none; there is no
  ///                          instance; the signature's name is not a string
  static Result<RestRequest> parse(std::string_view body, bool is_padded = false);

  /// kDefaultSignature if the request names none.
  const std::string& signature_name() const { return signature_name_; }
  RestForm form() const { return form_; }

  /// Binds the request to a signature. An instance is an object from input to value, or the value of the only
  /// input; so is `inputs`. Byte strings are strings, or {"b64": "…"}. Open dimensions get the sizes of the
  /// first row. For raw rows, an instance is an object from column to value, or the value of the only column
  /// (see RawRowsWriter), and `inputs` has a list for each column.
  /// \error kInvalidArgument  an input is missing, unknown (in row form) or given twice; a value has another
  ///                          shape; the inputs have different numbers of rows, or none; rows are sent to a
  ///                          signature that is not batched. BoundRequest::fill finds all other errors
  /// \error kUnimplemented    JSON cannot carry the type of an input
  Result<std::unique_ptr<BoundRequest>> bind(const ServedSignature& signature) const;

 private:
  RestRequest(JsonDocument document, JsonNode values, RestForm form, std::string signature_name);

  JsonDocument document_;
  JsonNode values_;
  RestForm form_;
  std::string signature_name_;
};

/// The body of the answer. A single output is written without its name, several are written by name. A byte
/// string is written as {"b64": …} if the name of its output ends in `_bytes` or if it is not UTF-8.
/// \error any                  a row has no answer: its error, with the number of the instance
/// \error kUnimplemented       JSON cannot express the type of an output
/// \error kFailedPrecondition  as AnswerOutput::shape, in column form
Result<std::string> rest_answer(const BatchAnswers& answers, const ServedSignature& signature, RestForm form);

}  // namespace headrace
