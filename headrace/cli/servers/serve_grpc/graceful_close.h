#pragma once

/// \file Lets clients leave before a gRPC server is shut down. grpc::Server::Shutdown alone ends running
/// calls with CANCELLED, although nobody cancelled them: https://github.com/grpc/grpc/issues/41785.

struct grpc_server;
namespace headrace {

/// Closes the ports, and tells every client to begin no more calls on its connection; a connection ends when
/// its calls have ended. Calls that are under way still arrive, and should be answered. Waits until all
/// clients are told.
void stop_listening_and_tell_clients(grpc_server& server);

bool has_connections(grpc_server& server);

}  // namespace headrace
