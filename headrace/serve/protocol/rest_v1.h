#pragma once

/// \file TensorFlow Serving's REST API, version 1: paths, errors, status and metadata. No sockets here.
/// Source: tensorflow/serving, g3doc/api_rest.md and model_servers/http_rest_api_util.cc.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/base/result.h"
#include "headrace/serve/protocol/request_path.h"
#include "headrace/serve/signature/served_signature.h"

namespace headrace {

enum class RestVerb : std::uint8_t { kPredict, kClassify, kRegress, kStatus, kMetadata };

struct RestRoute {
  RequestedModel model;
  RestVerb verb = RestVerb::kPredict;
  bool is_vertex = false;  // errors are answered by vertex_error_body
  bool operator==(const RestRoute&) const = default;
};

/// Parses the request line. It accepts
/// * `/v1/models/M[/versions/N|/labels/L]`, for POST with `:predict`, `:classify` or `:regress` after it, for
///   GET with `/metadata` or nothing after it;
/// * of AI Platform, `/v1/projects/P/models/M[/versions/V]:predict`, where V is a version if it is a number,
///   else a label;
/// * of Vertex AI, `/v1/projects/P/locations/L/endpoints/M:predict`.
/// The case of fixed words does not matter. Names are percent-decoded. A query is ignored.
/// \error kInvalidArgument  another path or method ("Malformed request: …"), no model, or a version above
///                          2^63 − 1
Result<RestRoute> parse_rest_route(std::string_view method, std::string_view path);

/// The HTTP status with which TensorFlow Serving answers an error.
unsigned http_status(Code code);

/// { "error": "…" }
std::string rest_error_body(const Error& error);
/// The form for Vertex AI clients: {"error": {"code": 404, "message": "…", "status": "NOT_FOUND"}}.
std::string vertex_error_body(const Error& error);

/// The states of TensorFlow Serving's ModelVersionStatus.
enum class RestVersionState : std::uint8_t { kStart, kLoading, kAvailable, kUnloading, kEnd };

struct RestVersionStatus {
  std::int64_t version = 0;
  RestVersionState state = RestVersionState::kStart;
  /// Why the version is not available, if it has failed.
  std::optional<Error> error{};
};

/// The answer to kStatus.
std::string rest_status_body(const std::vector<RestVersionStatus>& versions);

/// The answer to kMetadata: every signature, as protobuf's JSON form of SignatureDef. Raw rows appear as one
/// input of strings, kRawRowsInput.
std::string rest_metadata_body(std::string_view model, std::int64_t version, const ServedModel& served);

}  // namespace headrace
