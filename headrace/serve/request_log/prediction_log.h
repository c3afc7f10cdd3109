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

/// Facts about a logged request, apart from its tensors.
struct LoggedFacts {
  std::string_view model;
  std::int64_t version = 0;
  /// Share of the requests that are logged.
  double fraction = 1;
  std::int64_t seconds_since_1970 = 0;
};

/// Encodes the rows that a request has filled as a PredictRequest, with a tensor for each input of the
/// signature; numbers are `tensor_content`. It names the model and the signature, but no version, so that
/// any version can answer it.
/// \error kDataLoss  as ReservedRows::text
/// REQUIRES: the rows are those of this signature
Result<Bytes> encode_predict_request(const ReservedRows& rows, const ServedSignature& signature,
                                     std::string_view model);

/// Encodes a PredictionLog with the PredictRequest, and with a PredictResponse that has all outputs.
/// \error as join_answers and AnswerOutput::shape
Result<Bytes> encode_prediction_log(BytesView predict_request, const BatchAnswers& answers,
                                    const ServedSignature& signature, const LoggedFacts& facts);

}  // namespace headrace
