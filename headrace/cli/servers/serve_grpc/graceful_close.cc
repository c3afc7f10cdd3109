#include "headrace/cli/servers/serve_grpc/graceful_close.h"

#include <grpc/grpc.h>
#include <grpc/support/time.h>
#include <grpcpp/alarm.h>

#include <future>

// gRPC's own functions, which no header of its packages declares. A version that lacks one does not link.
namespace grpc_core {

class Server {
 public:
  void StopListening();
  void SendGoaways();
  bool HasOpenConnections();
};

}  // namespace grpc_core

namespace headrace {
namespace {

grpc_core::Server& core_of(grpc_server& server) { return *reinterpret_cast<grpc_core::Server*>(&server); }

}  // namespace

void stop_listening_and_tell_clients(grpc_server& server) {
  // Both functions may be called only in a thread of gRPC, such as that of an alarm.
  std::promise<void> told;
  grpc::Alarm alarm;
  alarm.Set(gpr_now(GPR_CLOCK_MONOTONIC), [&](bool) {
    core_of(server).StopListening();
    core_of(server).SendGoaways();
    told.set_value();
  });
  told.get_future().wait();
}

bool has_connections(grpc_server& server) { return core_of(server).HasOpenConnections(); }

}  // namespace headrace
