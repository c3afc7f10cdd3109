#include "headrace/store/ignite/ignite_options.h"

#include "headrace/base/text.h"

namespace headrace {
namespace {

constexpr std::int32_t kMostBackups = 1'000;

Result<std::vector<ignite::Address>> addresses_of(std::string_view authority) {
  std::vector<ignite::Address> addresses;
  for (const std::string& text : split(authority, ',')) {
    HEADRACE_TRY(const ignite::Address address, ignite::parse_address(text));
    addresses.push_back(address);
  }
  return addresses;
}

// Where an igfs:// URL without a host leads.
std::string configured_address(const Environment& environment) {
  const std::string host =
      environment.get("IGNITE_HOST").value_or(environment.get("IGFS_HOST").value_or("localhost"));
  const std::optional<std::string> port = environment.get("IGNITE_PORT");
  return port ? concat(host, ":", *port) : host;
}

Status read_tls(const Environment& environment, ignite::ClusterOptions& options) {
  TlsOptions& tls = options.tls;
  tls.ca_file = environment.get("HEADRACE_IGNITE_CA_FILE").value_or("");
  tls.certificate_file = environment.get("HEADRACE_IGNITE_CERTIFICATE_FILE").value_or("");
  tls.key_file = environment.get("HEADRACE_IGNITE_KEY_FILE").value_or("");
  tls.key_password = environment.get("HEADRACE_IGNITE_KEY_PASSWORD").value_or("");
  HEADRACE_TRY(tls.verify, environment.is_on("HEADRACE_IGNITE_VERIFY_TLS", true));
  const bool has_files = !tls.ca_file.empty() || !tls.certificate_file.empty();
  HEADRACE_TRY(options.connection.tls, environment.is_on("HEADRACE_IGNITE_TLS", has_files));
  return {};
}

}  // namespace

Result<IgnitePlace> ignite_place_from(const Url& url, const Environment& environment) {
  IgnitePlace place;
  std::string authority = url.authority;
  if (url.scheme == "igfs") {
    if (authority.empty()) authority = configured_address(environment);
    place.name = environment.get("IGFS_FS_NAME").value_or("default_fs");
  } else {
    const std::size_t slash = authority.find('/');
    place.name = slash == authority.npos ? "" : authority.substr(slash + 1);
    authority.resize(std::min(slash, authority.size()));
  }
  ignite::ClusterOptions& cluster = place.options.cluster;
  Result<std::vector<ignite::Address>> addresses = addresses_of(authority);
  if (!addresses) return std::move(addresses).error().in(url.text());
  cluster.addresses = *std::move(addresses);
  cluster.connection.credentials = {environment.get("HEADRACE_IGNITE_USER").value_or(""),
                                    environment.get("HEADRACE_IGNITE_PASSWORD").value_or("")};
  HEADRACE_CHECK(read_tls(environment, cluster));
  HEADRACE_TRY(cluster.discover, environment.is_on("HEADRACE_IGNITE_DISCOVER", true));
  if (const std::optional<std::string> backups = environment.get("HEADRACE_IGNITE_BACKUPS")) {
    const std::optional<std::int32_t> number = parse_number<std::int32_t>(*backups);
    if (!number || *number < 0 || *number > kMostBackups)
      return Error{Code::kInvalidArgument,
                   concat("HEADRACE_IGNITE_BACKUPS is \"", printable_line(*backups, 40),
                          "\"; it is a number from 0 to ", kMostBackups)};
    place.options.backups = *number;
  }
  place.options.now = environment.now;
  return place;
}

}  // namespace headrace
