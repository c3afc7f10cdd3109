#pragma once

/// \file The options of server_options.h, as servers use them; --listen, --tokens, and numbers of threads.

#include <optional>

#include "headrace/cli/command.h"
#include "headrace/cli/servers/serve/http_server.h"

namespace headrace {

/// \error kInvalidArgument  an option of TLS lacks the one that it needs
Status check_tls_options(const OptionValues& options);

/// None: clients speak HTTP without TLS.
std::optional<HttpServerTls> tls_of(const OptionValues& options);

/// A number of threads; `otherwise` if it is 0.
int threads_option(const OptionValues& options, std::string_view name, int otherwise);

/// Whether other machines can reach the address, and nothing says who may ask.
bool may_anybody_ask(const OptionValues& options);

}  // namespace headrace
