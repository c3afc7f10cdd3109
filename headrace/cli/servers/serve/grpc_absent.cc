// In the program without gRPC.

#include "headrace/cli/servers/serve/grpc_front.h"

namespace headrace {

Result<std::unique_ptr<GrpcFront>> start_grpc_front(const GrpcFrontOptions&, GrpcHandlers) {
  return Error{Code::kUnimplemented, "gRPC is not built in, so no port is open for it"};
}

}  // namespace headrace
