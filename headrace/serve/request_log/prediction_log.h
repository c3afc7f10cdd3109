#pragma once

/// \file Requests with their answers, written as PredictionLog messages. Reading: record/logged_request.h.
/// Source: tensorflow/serving, apis/ (prediction_log.proto, logging.proto, predict.proto) and
/// config/logging_config.proto.

#include <cstdint>
#include <string_view>

#include "headrace/base/bytes.h"
#include "headrace/base/result.h"
#include "headrace/serve/batch/batcher.h"
#include "headrace/serve/signature/served_signature.h"

namespace headrace {

/// About a request that is logged, beside its tensors.
struct LoggedFacts {
  std::string_view model;
  std::int64_t version = 0;
  /// Share of the requests that are logged.
  double fraction = 1;
  std::int64_t seconds_since_1970 = 0;
};

/// A PredictRequest with the rows that a request has filled, as tensors of the signature's inputs, numbers as
/// `tensor_content`. It names the model and the signature, and no version: any version can answer it.
/// \error kDataLoss  as ReservedRows::text
/// REQUIRES: the rows are those of this signature
Result<Bytes> encode_predict_request(const ReservedRows& rows, const ServedSignature& signature,
                                     std::string_view model);

/// A PredictionLog of that request and a PredictResponse with all outputs.
/// \error as join_answers and AnswerOutput::shape
Result<Bytes> encode_prediction_log(BytesView predict_request, const BatchAnswers& answers,
                                    const ServedSignature& signature, const LoggedFacts& facts);

}  // namespace headrace
