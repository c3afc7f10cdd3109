// For the program without gRPC.

#include "headrace/cli/servers/serve/grpc_front.h"

namespace headrace {

Result<std::unique_ptr<GrpcFront>> start_grpc_front(const GrpcFrontOptions&, GrpcHandlers) {
  return Error{Code::kUnimplemented, "this server was built without gRPC, so it opens no port for it"};
}

}  // namespace headrace
