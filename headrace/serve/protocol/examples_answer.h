#pragma once

/// \file Answers to Classify and Regress of TensorFlow Serving, as JSON and as messages: see
/// examples_request.h.

#include <cstdint>
#include <string>
#include <string_view>

#include "headrace/base/bytes.h"
#include "headrace/base/result.h"
#include "headrace/serve/batch/batcher.h"
#include "headrace/serve/protocol/examples_request.h"
#include "headrace/serve/signature/served_signature.h"

namespace headrace {

/// {"results": […]}: for each example a list of pairs of label and score, or a number. A label is "" where
/// the signature has none, a score 0. A label that is no UTF-8 is {"b64": "…"}.
/// \error any                  an example has no answer: its error, with its number
/// \error kFailedPrecondition  a row has not as many classes as scores, or no single value to regress
/// REQUIRES, also below: check_examples_signature
Result<std::string> rest_results(const BatchAnswers& answers, const ServedSignature& signature,
                                 ExamplesMethod method);

/// The content of a ClassificationResult or a RegressionResult.
/// \error as rest_results
Result<Bytes> results_message(const BatchAnswers& answers, const ServedSignature& signature,
                              ExamplesMethod method);

/// A ClassificationResponse or a RegressionResponse.
Bytes results_response(BytesView results, std::string_view model, std::int64_t version,
                       std::string_view signature);

/// Appends to a MultiInferenceResponse the result of one task.
void append_task_result(Bytes& response, BytesView results, ExamplesMethod method, std::string_view model,
                        std::int64_t version, std::string_view signature);

}  // namespace headrace
