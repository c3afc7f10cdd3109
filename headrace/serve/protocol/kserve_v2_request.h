#pragma once

/// \file The bodies of an inference request of KServe v2 and of its answer. Tensors are JSON, or bytes after
/// the JSON (Triton's binary tensor data extension).
///
///   HEADRACE_TRY(const auto request, InferRequest::parse(body, header_bytes));
///   const ServedSignature* const signature = model.find(request.signature_name());
///   HEADRACE_TRY(const auto bound, request.bind(*signature));
///   … rows of a batch, see bound_request.h …
///   HEADRACE_TRY(const InferAnswer answer,
///                infer_answer(answers, *signature, request.answer_form(), "model", 3));

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/base/result.h"
#include "headrace/serve/batch/batcher.h"
#include "headrace/serve/protocol/bound_request.h"
#include "headrace/serve/protocol/tensor_request.h"
#include "headrace/serve/signature/served_signature.h"

namespace headrace {

/// An output that a request asks for.
struct RequestedOutput {
  std::string name;
  bool is_binary = false;
};

/// How a request wants its answer.
struct InferAnswerForm {
  std::optional<std::string> id{};
  std::vector<RequestedOutput> outputs{};  // empty: all
  bool is_binary_by_default = false;       // the form of outputs that are not named
};

/// The well-formed body of a request. A value; threads may read it together.
class InferRequest {
 public:
  /// Parses a body. Unknown parameters are ignored.
  /// \param header_bytes  size of the JSON, from the header Inference-Header-Content-Length; nullopt: the
  ///                      whole body is JSON. If it is given, the body must outlive the request and what
  ///                      `bind` returns
  /// \param is_padded     as for JsonDocument::parse
  /// \error kInvalidArgument  the body is not a JSON object; a tensor lacks name, type, shape or data, or its
  ///                          data do not fit type and shape; the sizes do not add up to the body; an output
  ///                          is requested twice
  /// \error kUnimplemented    the request uses shared memory or classification, or FP16 or BF16 in JSON
  /// Cost: memory linear in the body; binary numbers are not copied.
  static Result<InferRequest> parse(std::string_view body, std::optional<std::uint64_t> header_bytes,
                                    bool is_padded = false);

  /// The request's parameter `signature_name` (an extension of the protocol), else kDefaultSignature.
  const std::string& signature_name() const { return signature_name_; }
  const InferAnswerForm& answer_form() const { return answer_form_; }

  /// Binds the request to a signature. If the signature is batched, the first dimension of every tensor is
  /// the rows. For raw rows see bind_tensors.
  /// \error kInvalidArgument  as bind_tensors; the signature lacks a requested output
  Result<std::unique_ptr<BoundRequest>> bind(const ServedSignature& signature) const;

 private:
  struct Data;
  explicit InferRequest(std::shared_ptr<const Data> data) : data_(std::move(data)) {}

  std::shared_ptr<const Data> data_;  // of the tensors
  std::string signature_name_{kDefaultSignature};
  InferAnswerForm answer_form_;
};

struct InferAnswer {
  std::string body;
  /// The header Inference-Header-Content-Length, if an output is binary. The content type is then
  /// application/octet-stream, else application/json.
  std::optional<std::uint64_t> header_bytes;
};

/// Encodes the answer, with the requested outputs in the order of the request, or all outputs.
/// \error any                  a row has no answer: its error, with the row's number
/// \error kUnimplemented       JSON or the protocol lacks a type; request FP16 and BF16 as binary data
/// \error kFailedPrecondition  a byte string that is not UTF-8 was requested as JSON; as AnswerOutput::shape
Result<InferAnswer> infer_answer(const BatchAnswers& answers, const ServedSignature& signature,
                                 const InferAnswerForm& form, std::string_view model, std::int64_t version);

}  // namespace headrace
