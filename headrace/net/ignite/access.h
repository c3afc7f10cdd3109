#pragma once

/// \file Settings for a cluster that a URL names. The addresses come from the URL, and all secrets from the
/// environment.

#include <chrono>
#include <memory>
#include <optional>
#include <stop_token>
#include <string_view>

#include "headrace/base/environment.h"
#include "headrace/base/result.h"
#include "headrace/net/ignite/cluster.h"

namespace headrace::ignite {

/// `hosts` is "host[:port]", or several of these separated by commas. Reads from the environment:
///
///   HEADRACE_IGNITE_USER, HEADRACE_IGNITE_PASSWORD   the user
///   HEADRACE_IGNITE_TLS                              on: connections are encrypted
///   HEADRACE_IGNITE_CA_FILE                          PEM file of the authority; also turns TLS on
///   HEADRACE_IGNITE_CERTIFICATE_FILE, HEADRACE_IGNITE_KEY_FILE, HEADRACE_IGNITE_KEY_PASSWORD
///                                                    this client's certificate; also turns TLS on
///   HEADRACE_IGNITE_VERIFY_TLS                       off: certificates of nodes are not verified
///   HEADRACE_IGNITE_DISCOVER                         off: only the given addresses are used
///
/// \error kInvalidArgument  there is no valid address, or a variable cannot be understood
Result<ClusterOptions> cluster_options(std::string_view hosts, const Environment& environment);

/// Connects to such a cluster. `call_timeout` replaces the default of ClusterOptions.
/// \error as for cluster_options and Cluster::connect
Result<std::shared_ptr<Cluster>> connect_cluster(std::string_view hosts, const Environment& environment,
                                                 const std::stop_token& stop = {},
                                                 std::optional<std::chrono::milliseconds> call_timeout = {});

}  // namespace headrace::ignite
