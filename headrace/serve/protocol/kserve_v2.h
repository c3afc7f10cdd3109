#pragma once

/// \file KServe's Open Inference Protocol, version 2, over REST: paths, types, health and metadata. No
/// sockets here. Source: kserve/open-inference-protocol, specification/protocol/inference_rest.md.

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
  RequestedModel model{};  // only for the last three verbs
  bool operator==(const InferRoute&) const = default;
};

/// Parses the request line: GET of `/v2`, `/v2/health/live`, `/v2/health/ready`, `/v2/models/M[/versions/V]`
/// or `/v2/models/M[/versions/V]/ready`, or POST of `/v2/models/M[/versions/V]/infer`. V is a version if it
/// is a number, else a label. Names are percent-decoded; a query and a final slash are ignored.
/// \error kNotFound         another path
/// \error kInvalidArgument  another method for the path, or a version above 2^63 − 1
Result<InferRoute> parse_infer_route(std::string_view method, std::string_view path);

/// The protocol's name of a type, such as "FP32" or "BYTES"; empty for types that the protocol lacks.
std::string_view infer_type_name(DataType type);
/// The type with this name; nullopt: there is none.
std::optional<DataType> parse_infer_type(std::string_view name);

/// The name of a type in a model's metadata: as infer_type_name, or TensorFlow's name in capitals for a type
/// that the protocol lacks.
std::string infer_metadata_type(DataType type);
/// The signature that a model's metadata show: the default one, else the first; null: there is none.
const ServedSignature* infer_metadata_signature(const ServedModel& served);

/// {"error":"…"}. The HTTP status is http_status().
std::string infer_error_body(const Error& error);
/// {"live":…}, {"ready":…}, and {"name":…,"ready":…}.
std::string infer_live_body(bool is_live);
std::string infer_ready_body(bool is_ready);
std::string infer_model_ready_body(std::string_view model, bool is_ready);
/// The server's metadata: its name, its version, and its extension binary_tensor_data.
std::string infer_server_body(std::string_view server_version);
/// A model's metadata, with the inputs and outputs of infer_metadata_signature. `versions` are the versions
/// that clients may request.
std::string infer_model_body(std::string_view model, const std::vector<std::int64_t>& versions,
                             const ServedModel& served);

}  // namespace headrace
