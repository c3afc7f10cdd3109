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

/// The JSON body {"results": […]}: for each example a list of pairs of label and score (Classify), or a
/// number (Regress). If the signature has no labels, each is ""; if it has no scores, each is 0. A label that
/// is not UTF-8 is written as {"b64": "…"}.
/// \error any                  an example has no answer: its error, with the number of the example
/// \error kFailedPrecondition  a row has different numbers of classes and scores, or, for Regress, not
///                             exactly one value
/// REQUIRES, also below: check_examples_signature
Result<std::string> rest_results(const BatchAnswers& answers, const ServedSignature& signature,
                                 ExamplesMethod method);

/// The encoded ClassificationResult or RegressionResult.
/// \error as rest_results
Result<Bytes> results_message(const BatchAnswers& answers, const ServedSignature& signature,
                              ExamplesMethod method);

/// The encoded ClassificationResponse or RegressionResponse. `results` is from results_message.
Bytes results_response(BytesView results, std::string_view model, std::int64_t version,
                       std::string_view signature);

/// Appends the result of one task to a MultiInferenceResponse. `results` is from results_message.
void append_task_result(Bytes& response, BytesView results, ExamplesMethod method, std::string_view model,
                        std::int64_t version, std::string_view signature);

}  // namespace headrace
