#pragma once

/// \file Inference of KServe v2: the body of a request, and that of its answer, with tensors as JSON or, by
/// Triton's binary tensor data extension, as bytes behind the JSON.
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

/// A body that is well-formed. A value; threads may read it together.
class InferRequest {
 public:
  /// `header_bytes`: the header Inference-Header-Content-Length, the size of the JSON; none: the body is
  /// JSON. Where it is given, the body must outlive the request and what is bound. `is_padded` as for
  /// JsonDocument::parse. Parameters that it does not know are passed over.
  /// \error kInvalidArgument  no object of JSON; a tensor lacks name, type, shape or data, or its data is not
  ///                          what type and shape say; sizes that do not add up to the body; an output is
  ///                          asked for twice
  /// \error kUnimplemented    shared memory, or classification; FP16 and BF16 in JSON
  /// Memory: linear in the body; binary numbers are not copied.
  static Result<InferRequest> parse(std::string_view body, std::optional<std::uint64_t> header_bytes,
                                    bool is_padded = false);

  /// The request's parameter `signature_name`, which is an extension, else kDefaultSignature.
  const std::string& signature_name() const { return signature_name_; }
  const InferAnswerForm& answer_form() const { return answer_form_; }

  /// The first dimension of every tensor is the rows, if the signature is batched. Raw rows: see
  /// bind_tensors.
  /// \error kInvalidArgument  as bind_tensors; an output that the signature lacks
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
  /// The header Inference-Header-Content-Length, if some output is binary; the content's type is then
  /// application/octet-stream, else application/json.
  std::optional<std::uint64_t> header_bytes;
};

/// The answer, with the outputs that the request asks for, in its order, or all.
/// \error any                  a row has no answer: its error, with the row's number
/// \error kUnimplemented       a type that JSON or the protocol lacks; ask for FP16 and BF16 as binary data
/// \error kFailedPrecondition  a byte string is no UTF-8, and was asked for as JSON; as AnswerOutput::shape
Result<InferAnswer> infer_answer(const BatchAnswers& answers, const ServedSignature& signature,
                                 const InferAnswerForm& form, std::string_view model, std::int64_t version);

}  // namespace headrace
