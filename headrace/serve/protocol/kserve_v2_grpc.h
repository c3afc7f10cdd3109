#pragma once

/// \file Messages of KServe v2 over gRPC (inference.GRPCInferenceService), without the socket. Source:
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

/// A ModelInferRequest that is well-formed. A value; threads may read it together.
class InferMessage {
 public:
  /// Tensors are raw_input_contents, which are borrowed, or InferTensorContents. `message` must outlive the
  /// request and what is bound. Parameters that it does not know are passed over.
  /// \error kInvalidArgument  no well-formed message; no model; raw_input_contents for some inputs only, or
  ///                          beside contents; a tensor's data is not what type and shape say; an output is
  ///                          asked for twice
  /// \error kUnimplemented    shared memory, or classification; FP16 and BF16 as contents
  /// Memory: linear in the message.
  static Result<InferMessage> parse(BytesView message);

  /// A version that is no number is a label.
  const RequestedModel& model() const { return model_; }
  /// The request's parameter `signature_name`, which is an extension, else kDefaultSignature.
  const std::string& signature_name() const { return signature_name_; }
  const std::string& id() const { return id_; }
  /// Empty: all.
  const std::vector<std::string>& outputs() const { return outputs_; }
  /// Whether a tensor came as InferTensorContents: the answer's tensors are then written so, too.
  bool has_contents() const { return has_contents_; }

  /// The first dimension of every tensor is the rows, if the signature is batched. Raw rows: see
  /// bind_tensors.
  /// \error kInvalidArgument  as bind_tensors; an output that the signature lacks
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

/// A ModelInferResponse with the outputs that the request asks for, in its order, or all. Types that
/// InferTensorContents lacks make all outputs raw_output_contents.
/// \error any                  a row has no answer: its error, with the row's number
/// \error kUnimplemented       a type that the protocol lacks
/// \error kFailedPrecondition  as AnswerOutput::shape
Result<Bytes> infer_response(const BatchAnswers& answers, const ServedSignature& signature,
                             const InferMessage& request, std::string_view model, std::int64_t version);

/// The model that a ModelReadyRequest or a ModelMetadataRequest means.
/// \error kInvalidArgument  no well-formed message, or no model
Result<RequestedModel> parse_model_request(BytesView message);

/// ServerLiveResponse, ServerReadyResponse, ModelReadyResponse.
Bytes boolean_response(bool value);
/// ServerMetadataResponse.
Bytes server_metadata_response(std::string_view server_version);
/// ModelMetadataResponse: as infer_model_body.
Bytes model_metadata_response(std::string_view model, const std::vector<std::int64_t>& versions,
                              const ServedModel& served);

}  // namespace headrace
