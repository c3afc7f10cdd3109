#pragma once

/// \file Messages of TensorFlow Serving's gRPC services PredictionService and ModelService. No sockets here.
/// Source: tensorflow/serving, apis/ (predict.proto, model.proto, get_model_metadata.proto,
/// get_model_status.proto).
///
///   HEADRACE_TRY(const auto request, PredictRequest::parse(message, 64 << 20));
///   const ServedSignature* const signature = model.find(request.signature_name());
///   HEADRACE_TRY(const auto bound, request.bind(*signature));
///   … rows of a batch, see bound_request.h …
///   HEADRACE_TRY(const Bytes answer, predict_response(answers, *signature, request, "model", 3));

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/base/bytes.h"
#include "headrace/base/result.h"
#include "headrace/serve/batch/batcher.h"
#include "headrace/serve/protocol/bound_request.h"
#include "headrace/serve/protocol/request_path.h"
#include "headrace/serve/protocol/rest_v1.h"
#include "headrace/serve/signature/served_signature.h"

namespace headrace {

/// A well-formed PredictRequest. A value; threads may read it together.
class PredictRequest {
 public:
  /// Parses a message, which must outlive the request and what `bind` returns. Unknown fields are ignored.
  /// `repeated_bytes_max` bounds the memory for repeated values: see TensorMessageReader.
  /// \error kInvalidArgument    the message is malformed; it has no model_spec; the version is negative; as
  ///                            TensorMessageReader::read, with the input's name
  /// \error kResourceExhausted  as TensorMessageReader::read
  /// Cost: memory linear in the message; tensor_content and packed floats are not copied.
  static Result<PredictRequest> parse(BytesView message, std::uint64_t repeated_bytes_max);

  const RequestedModel& model() const { return model_; }
  /// kDefaultSignature if the request names none.
  const std::string& signature_name() const { return signature_name_; }
  /// Names of the requested outputs (output_filter); empty: all.
  const std::vector<std::string>& outputs() const { return outputs_; }
  /// Whether a tensor came as tensor_content. The answer's tensors are then written in that form.
  bool has_content() const { return has_content_; }

  /// Binds the request to a signature. If the signature is batched, the first dimension of every tensor is
  /// the rows. For raw rows see bind_tensors.
  /// \error kInvalidArgument  as bind_tensors; the signature lacks a requested output; an output is requested
  ///                          twice
  Result<std::unique_ptr<BoundRequest>> bind(const ServedSignature& signature) const;

 private:
  struct Data;
  PredictRequest() = default;

  std::shared_ptr<const Data> data_;  // the tensors
  RequestedModel model_;
  std::string signature_name_{kDefaultSignature};
  std::vector<std::string> outputs_;
  bool has_content_ = false;
};

/// The encoded PredictResponse, with the requested outputs, or all outputs, by name.
/// \error any                  a row has no answer: its error, with the row's number
/// \error kFailedPrecondition  as AnswerOutput::shape
Result<Bytes> predict_response(const BatchAnswers& answers, const ServedSignature& signature,
                               const PredictRequest& request, std::string_view model, std::int64_t version);

/// Appends a ModelSpec as field `number` of a message. `version` is nullopt if no particular one is meant.
void append_model_specification(Bytes& out, std::uint32_t number, std::string_view model,
                                std::optional<std::int64_t> version, std::string_view signature);

/// The model that a GetModelMetadataRequest names.
/// \error kInvalidArgument  the message is malformed; it has no model_spec; it requests no field, or another
///                          field than signature_def
Result<RequestedModel> parse_metadata_request(BytesView message);
/// The encoded GetModelMetadataResponse, with every signature. Raw rows appear as one input of strings,
/// kRawRowsInput.
Bytes metadata_response(std::string_view model, std::int64_t version, const ServedModel& served);

/// The model that a GetModelStatusRequest names.
/// \error kInvalidArgument  the message is malformed or has no model_spec
Result<RequestedModel> parse_status_request(BytesView message);
/// The encoded GetModelStatusResponse.
Bytes status_response(const std::vector<RestVersionStatus>& versions);

}  // namespace headrace
