#pragma once

/// \file The gRPC methods that clients may call, and what all of them share: errors, and health. Source:
/// grpc/grpc, doc/statuscodes.md and doc/health-checking.md.

#include <cstdint>
#include <string>
#include <string_view>

#include "headrace/base/bytes.h"
#include "headrace/base/result.h"

namespace headrace {

enum class GrpcMethod : std::uint8_t {
  kPredict,
  kClassify,
  kRegress,
  kMultiInference,
  kModelMetadata,
  kModelStatus,
  kInferServerLive,
  kInferServerReady,
  kInferModelReady,
  kInferServerMetadata,
  kInferModelMetadata,
  kInfer,
  kHealthCheck,
};

/// Parses the path of a method, for example "/tensorflow.serving.PredictionService/Predict".
/// \error kUnimplemented  another path. If this server lacks a method of one of its services, the message
///                        says what to use instead
Result<GrpcMethod> parse_grpc_method(std::string_view path);
/// Whether the path belongs to a service of KServe v2.
bool is_infer_method(std::string_view path);

/// The text that is sent with an error's code: at most 1,024 bytes, as in TensorFlow Serving, cut between two
/// characters.
std::string grpc_message(const Error& error);

/// The error for a request that is not a well-formed protobuf message.
Error malformed_request();

/// The service that a HealthCheckRequest asks about; empty: the whole server.
/// \error kInvalidArgument  the message is malformed
Result<std::string> parse_health_request(BytesView message);
/// The encoded HealthCheckResponse: SERVING or NOT_SERVING.
Bytes health_response(bool is_serving);

}  // namespace headrace
