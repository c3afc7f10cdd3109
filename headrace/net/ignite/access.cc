#include "headrace/net/ignite/access.h"

#include "headrace/base/text.h"

namespace headrace::ignite {

Result<ClusterOptions> cluster_options(std::string_view hosts, const Environment& environment) {
  ClusterOptions options;
  for (const std::string& host : split(std::string(hosts), ',')) {
    HEADRACE_TRY(Address address, parse_address(host));
    options.addresses.push_back(std::move(address));
  }
  const auto variable = [&](std::string_view name) {
    return environment.get(concat("HEADRACE_IGNITE_", name)).value_or("");
  };
  options.connection.credentials = {.user = variable("USER"), .password = variable("PASSWORD")};
  options.tls.ca_file = variable("CA_FILE");
  options.tls.certificate_file = variable("CERTIFICATE_FILE");
  options.tls.key_file = variable("KEY_FILE");
  options.tls.key_password = variable("KEY_PASSWORD");
  HEADRACE_TRY(options.tls.verify, environment.is_on("HEADRACE_IGNITE_VERIFY_TLS", true));
  const bool has_files = !options.tls.ca_file.empty() || !options.tls.certificate_file.empty();
  HEADRACE_TRY(options.connection.tls, environment.is_on("HEADRACE_IGNITE_TLS", has_files));
  HEADRACE_TRY(options.discover, environment.is_on("HEADRACE_IGNITE_DISCOVER", true));
  return options;
}

Result<std::shared_ptr<Cluster>> connect_cluster(std::string_view hosts, const Environment& environment,
                                                 const std::stop_token& stop,
                                                 std::optional<std::chrono::milliseconds> call_timeout) {
  HEADRACE_TRY(ClusterOptions options, cluster_options(hosts, environment));
  if (call_timeout) options.call_timeout = *call_timeout;
  return Cluster::connect(std::move(options), stop);
}

}  // namespace headrace::ignite
