#include "headrace/store/ignite/ignite_options.h"

#include "headrace/base/text.h"
#include "headrace/net/ignite/access.h"

namespace headrace {
namespace {

constexpr std::int32_t kMostBackups = 1'000;

// Returns the address for an igfs:// URL without a host.
std::string configured_address(const Environment& environment) {
  const std::string host =
      environment.get("IGNITE_HOST").value_or(environment.get("IGFS_HOST").value_or("localhost"));
  const std::optional<std::string> port = environment.get("IGNITE_PORT");
  return port ? concat(host, ":", *port) : host;
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
  Result<ignite::ClusterOptions> cluster = ignite::cluster_options(authority, environment);
  if (!cluster) return std::move(cluster).error().in(url.text());
  place.options.cluster = *std::move(cluster);
  if (const std::optional<std::string> backups = environment.get("HEADRACE_IGNITE_BACKUPS")) {
    const std::optional<std::int32_t> number = parse_number<std::int32_t>(*backups);
    if (!number || *number < 0 || *number > kMostBackups)
      return Error{Code::kInvalidArgument,
                   concat("HEADRACE_IGNITE_BACKUPS is \"", printable_line(*backups, 40),
                          "\"; it must be a number from 0 to ", kMostBackups)};
    place.options.backups = *number;
  }
  place.options.now = environment.now;
  return place;
}

}  // namespace headrace
