#pragma once

/// \file Messages of KServe v2 over gRPC (inference.GRPCInferenceService). No sockets here. Source:
/// kserve/open-inference-protocol, specification/protocol/open_inference_grpc.proto, and Triton's
/// grpc_service.proto, which has the same fields.
///
///   HEADRACE_TRY(const auto request, InferMessage::parse(message));
///   const ServedSignature* const signature = model.find(request.signature_name());
///   HEADRACE_TRY(const auto bound, request.bind(*signature));
///   … rows of a batch, see bound_request.h …
///   HEADRACE_TRY(const Bytes answer, infer_response(answers, *signature, request, "model", 3));

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/base/bytes.h"
#include "headrace/base/result.h"
#include "headrace/serve/batch/batcher.h"
#include "headrace/serve/protocol/bound_request.h"
#include "headrace/serve/protocol/request_path.h"
#include "headrace/serve/signature/served_signature.h"

namespace headrace {

/// A well-formed ModelInferRequest. A value; threads may read it together.
class InferMessage {
 public:
  /// Parses a message, which must outlive the request and what `bind` returns. Tensors may be
  /// raw_input_contents, which are borrowed, or InferTensorContents. Unknown parameters are ignored.
  /// \error kInvalidArgument  the message is malformed; it names no model; raw_input_contents are given for
  ///                          some inputs only, or together with contents; a tensor's data do not fit its
  ///                          type and shape; an output is requested twice
  /// \error kUnimplemented    the request uses shared memory or classification, or FP16 or BF16 as contents
  /// Cost: memory linear in the message.
  static Result<InferMessage> parse(BytesView message);

  /// The requested model. A version that is not a number is a label.
  const RequestedModel& model() const { return model_; }
  /// The request's parameter `signature_name` (an extension of the protocol), else kDefaultSignature.
  const std::string& signature_name() const { return signature_name_; }
  const std::string& id() const { return id_; }
  /// Names of the requested outputs; empty: all.
  const std::vector<std::string>& outputs() const { return outputs_; }
  /// Whether a tensor came as InferTensorContents. The answer's tensors are then written in that form.
  bool has_contents() const { return has_contents_; }

  /// Binds the request to a signature. If the signature is batched, the first dimension of every tensor is
  /// the rows. For raw rows see bind_tensors.
  /// \error kInvalidArgument  as bind_tensors; the signature lacks a requested output
  Result<std::unique_ptr<BoundRequest>> bind(const ServedSignature& signature) const;

 private:
  struct Data;
  InferMessage() = default;

  std::shared_ptr<const Data> data_;  // the tensors
  RequestedModel model_;
  std::string signature_name_{kDefaultSignature};
  std::string id_;
  std::vector<std::string> outputs_;
  bool has_contents_ = false;
};

/// The encoded ModelInferResponse, with the requested outputs in the order of the request, or all outputs. If
/// InferTensorContents lacks the type of an output, all outputs are raw_output_contents.
/// \error any                  a row has no answer: its error, with the row's number
/// \error kUnimplemented       the protocol lacks the type of an output
/// \error kFailedPrecondition  as AnswerOutput::shape
Result<Bytes> infer_response(const BatchAnswers& answers, const ServedSignature& signature,
                             const InferMessage& request, std::string_view model, std::int64_t version);

/// The model that a ModelReadyRequest or a ModelMetadataRequest names.
/// \error kInvalidArgument  the message is malformed or names no model
Result<RequestedModel> parse_model_request(BytesView message);

/// The encoded ServerLiveResponse, ServerReadyResponse or ModelReadyResponse.
Bytes boolean_response(bool value);
/// The encoded ServerMetadataResponse.
Bytes server_metadata_response(std::string_view server_version);
/// The encoded ModelMetadataResponse. Parameters as for infer_model_body.
Bytes model_metadata_response(std::string_view model, const std::vector<std::int64_t>& versions,
                              const ServedModel& served);

}  // namespace headrace
