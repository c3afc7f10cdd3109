#pragma once

/// \file KServe's Open Inference Protocol, version 2, over REST, without the socket: paths, types, health and
/// metadata. Source: kserve/open-inference-protocol, specification/protocol/inference_rest.md.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/base/data_type.h"
#include "headrace/base/result.h"
#include "headrace/serve/protocol/request_path.h"
#include "headrace/serve/signature/served_signature.h"

namespace headrace {

enum class InferVerb : std::uint8_t { kServer, kServerLive, kServerReady, kModel, kModelReady, kInfer };

struct InferRoute {
  InferVerb verb = InferVerb::kServer;
  RequestedModel model{};  // of the last three verbs
  bool operator==(const InferRoute&) const = default;
};

/// Reads GET `/v2`, `/v2/health/live`, `/v2/health/ready`, `/v2/models/M[/versions/V]`, the same with
/// `/ready` behind it, and POST of it with `/infer`. V is a version if it is a number, else a label. Names
/// are percent-decoded; a query and a slash at the end are passed over.
/// \error kNotFound         another path
/// \error kInvalidArgument  another method for the path, or a version beyond 63 bits
Result<InferRoute> parse_infer_route(std::string_view method, std::string_view path);

/// "FP32", "BYTES". Empty for types that the protocol lacks.
std::string_view infer_type_name(DataType type);
std::optional<DataType> parse_infer_type(std::string_view name);

/// A type in the metadata of a model; one that the protocol lacks has TensorFlow's name in capitals.
std::string infer_metadata_type(DataType type);
/// The signature that they show: the default one, or else the first. Null: there is none.
const ServedSignature* infer_metadata_signature(const ServedModel& served);

/// {"error":"…"}. The status of HTTP is http_status().
std::string infer_error_body(const Error& error);
/// {"live":…}, {"ready":…}, and {"name":…,"ready":…}.
std::string infer_live_body(bool is_live);
std::string infer_ready_body(bool is_ready);
std::string infer_model_ready_body(std::string_view model, bool is_ready);
/// The server's name and version, and its extension, binary_tensor_data.
std::string infer_server_body(std::string_view server_version);
/// Inputs and outputs of infer_metadata_signature. `versions` are those that may be asked for.
std::string infer_model_body(std::string_view model, const std::vector<std::int64_t>& versions,
                             const ServedModel& served);

}  // namespace headrace
