#pragma once

/// \file Messages of TensorFlow Serving's gRPC services, PredictionService and ModelService, without the
/// socket. Source: tensorflow/serving, apis/ (predict.proto, model.proto, get_model_metadata.proto,
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

/// A PredictRequest that is well-formed. A value; threads may read it together.
class PredictRequest {
 public:
  /// `repeated_bytes_max`: memory for values that tensors repeat: see TensorMessageReader. `message` must
  /// outlive the request and what is bound. Fields that it does not know are passed over.
  /// \error kInvalidArgument    no well-formed message; no model_spec; a version that is negative; as
  ///                            TensorMessageReader::read, with the input's name
  /// \error kResourceExhausted  as TensorMessageReader::read
  /// Memory: linear in the message; tensor_content and packed floats are not copied.
  static Result<PredictRequest> parse(BytesView message, std::uint64_t repeated_bytes_max);

  const RequestedModel& model() const { return model_; }
  /// kDefaultSignature if the request names none.
  const std::string& signature_name() const { return signature_name_; }
  /// output_filter; empty: all.
  const std::vector<std::string>& outputs() const { return outputs_; }
  /// Whether a tensor came as tensor_content: the answer's tensors are then written so, too.
  bool has_content() const { return has_content_; }

  /// The first dimension of every tensor is the rows, if the signature is batched. Raw rows: see
  /// bind_tensors.
  /// \error kInvalidArgument  as bind_tensors; an output that the signature lacks, or that is asked for twice
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

/// A PredictResponse with the outputs that the request asks for, or all, by name.
/// \error any                  a row has no answer: its error, with the row's number
/// \error kFailedPrecondition  as AnswerOutput::shape
Result<Bytes> predict_response(const BatchAnswers& answers, const ServedSignature& signature,
                               const PredictRequest& request, std::string_view model, std::int64_t version);

/// Appends a ModelSpec as field `number` of a message. No version: the request means no certain one.
void append_model_specification(Bytes& out, std::uint32_t number, std::string_view model,
                                std::optional<std::int64_t> version, std::string_view signature);

/// The model that a GetModelMetadataRequest means.
/// \error kInvalidArgument  no well-formed message; no model_spec; another field than signature_def, or none
Result<RequestedModel> parse_metadata_request(BytesView message);
/// A GetModelMetadataResponse: every signature. Raw rows are shown as one input of strings, kRawRowsInput.
Bytes metadata_response(std::string_view model, std::int64_t version, const ServedModel& served);

/// The model that a GetModelStatusRequest means.
/// \error kInvalidArgument  no well-formed message, or no model_spec
Result<RequestedModel> parse_status_request(BytesView message);
/// A GetModelStatusResponse.
Bytes status_response(const std::vector<RestVersionStatus>& versions);

}  // namespace headrace
