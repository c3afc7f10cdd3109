#pragma once

/// \file Predict of TensorFlow Serving's REST API: the body of a request, and that of its answer. Source:
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

/// kRow: `instances`, one value for each row, answered by `predictions`. kColumn: `inputs`, one value for
/// each input, answered by `outputs`.
enum class RestForm : std::uint8_t { kRow, kColumn };

/// A body that is well-formed. A value; threads may read it together.
class RestRequest {
 public:
  /// Members beside `signature_name`, `instances` and `inputs` are passed over. As JsonDocument::parse, which
  /// `is_padded` is for.
  /// \error kInvalidArgument  no object of JSON; both forms, or none; no instance; a signature's name that
  ///                          is no string
  static Result<RestRequest> parse(std::string_view body, bool is_padded = false);

  /// kDefaultSignature if the request names none.
  const std::string& signature_name() const { return signature_name_; }
  RestForm form() const { return form_; }

  /// An instance is an object from input to value, or the value of the only input; `inputs` likewise. Byte
  /// strings are strings, or {"b64": "…"}. Open dimensions have the sizes of the first row.
  /// For raw rows an instance is an object from column to value, or the value of the only column
  /// (RawRowsWriter), and `inputs` has a list for each column.
  /// \error kInvalidArgument  an input is missing, unknown (in row form) or given twice; a value has another
  ///                          shape; inputs have different numbers of rows, or none; rows for a signature
  ///                          that takes none. BoundRequest::fill finds the rest
  /// \error kUnimplemented    an input of a type that JSON cannot carry
  Result<std::unique_ptr<BoundRequest>> bind(const ServedSignature& signature) const;

 private:
  RestRequest(JsonDocument document, JsonNode values, RestForm form, std::string signature_name);

  JsonDocument document_;
  JsonNode values_;
  RestForm form_;
  std::string signature_name_;
};

/// The body of the answer: one output bare, several by name. Outputs of byte strings whose name ends in
/// `_bytes` are {"b64": …}, as are single byte strings that are no UTF-8.
/// \error any                  a row has no answer: its error, with the number of the instance
/// \error kUnimplemented       an output of a type that JSON has no form for
/// \error kFailedPrecondition  as AnswerOutput::shape, in column form
Result<std::string> rest_answer(const BatchAnswers& answers, const ServedSignature& signature, RestForm form);

}  // namespace headrace
