#pragma once

/// \file Reads the options of server_options.h for servers; also --listen, --tokens and numbers of threads.

#include <optional>

#include "headrace/cli/command.h"
#include "headrace/cli/servers/serve/http_server.h"

namespace headrace {

/// Checks the TLS options.
/// \error kInvalidArgument  one lacks another that it needs
Status check_tls_options(const OptionValues& options);

/// The files that the TLS options name; none: clients use HTTP without TLS.
std::optional<HttpServerTls> tls_of(const OptionValues& options);

/// The number of threads that an option gives; `otherwise` if it is 0.
int threads_option(const OptionValues& options, std::string_view name, int otherwise);

/// Whether other machines can reach the address, and no option restricts who may send requests.
bool may_anybody_ask(const OptionValues& options);

}  // namespace headrace
