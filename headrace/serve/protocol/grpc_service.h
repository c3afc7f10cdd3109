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

/// "/tensorflow.serving.PredictionService/Predict" and so on. Those with kInfer are KServe v2's.
/// \error kUnimplemented  another one; for methods of the same services that this server lacks, says what to
///                        use instead
Result<GrpcMethod> parse_grpc_method(std::string_view path);
bool is_infer_method(std::string_view path);

/// The text that goes with an error's code: at most 1,024 bytes, as TensorFlow Serving has it, cut between
/// two characters.
std::string grpc_message(const Error& error);

/// For a request that is no message of protobuf.
Error malformed_request();

/// The service that a HealthCheckRequest asks about; empty: the server.
/// \error kInvalidArgument  no well-formed message
Result<std::string> parse_health_request(BytesView message);
/// A HealthCheckResponse: SERVING or NOT_SERVING.
Bytes health_response(bool is_serving);

}  // namespace headrace
