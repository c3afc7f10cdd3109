#include "headrace/store/ignite/ignite_examine.h"

#include <algorithm>

#include "headrace/base/text.h"
#include "headrace/net/ignite/cache.h"

namespace headrace {
namespace {

using Outcome = Finding::Outcome;

std::string advice_for(const Error& error) {
  switch (error.code) {
    case Code::kUnauthenticated:
      return "set HEADRACE_IGNITE_USER and HEADRACE_IGNITE_PASSWORD, or the files for TLS";
    case Code::kUnimplemented:
      return "use a cluster of Ignite 2.5 or a later version 2";
    default:
      return "check host and port (10800 unless it was changed) and whether the nodes speak TLS";
  }
}

Result<std::shared_ptr<ignite::Cluster>> examine_connection(const IgnitePlace& place, const CallOptions& call,
                                                            const Report& report) {
  ignite::ClusterOptions options = place.options.cluster;
  options.call_timeout = call.deadline;
  options.connection.connect_timeout = std::min(options.connection.connect_timeout, call.deadline);
  Result<std::shared_ptr<ignite::Cluster>> cluster = ignite::Cluster::connect(options, call.stop);
  if (!cluster) {
    report({"connection", Outcome::kFailure, cluster.error().message, advice_for(cluster.error())});
    return cluster;
  }
  const Result<std::shared_ptr<ignite::Connection>> connection = (*cluster)->connection({}, call.stop);
  if (!connection) {
    report({"connection", Outcome::kFailure, connection.error().message, advice_for(connection.error())});
    return connection.error();
  }
  report({"connection", Outcome::kOk,
          concat((*connection)->address().text(), " speaks version ",
                 (*connection)->agreement().version.text(), "; nodes known: ", (*cluster)->nodes().size(),
                 options.connection.tls ? "; TLS" : "; no TLS: nothing protects the bytes on the network")});
  return cluster;
}

bool examine_caches(const std::shared_ptr<ignite::Cluster>& cluster, const IgnitePlace& place,
                    const CallOptions& call, const Report& report) {
  const ignite::Cache chunks(cluster, concat(place.name, ".chunks"));
  const Result<std::int32_t> backups = chunks.backups(call.stop);
  if (!backups && backups.error().code == Code::kNotFound) {
    report({"caches", Outcome::kOk,
            concat("there is no store \"", place.name, "\" yet; the first write creates it with ",
                   place.options.backups, " backups")});
    return true;
  }
  if (!backups) {
    report({"caches", Outcome::kFailure, backups.error().message,
            backups.error().code == Code::kFailedPrecondition
                ? "activate the cluster: control.sh --set-state ACTIVE"
                : "look at the node's log"});
    return false;
  }
  const bool is_alone = *backups == 0 && cluster->nodes().size() > 1;
  report({"caches", is_alone ? Outcome::kWarning : Outcome::kOk,
          concat("backups of ", chunks.name(), ": ", *backups),
          is_alone ? "the loss of one node loses objects; create the caches again with backups" : ""});
  return true;
}

}  // namespace

bool examine_ignite(const IgnitePlace& place, const CallOptions& call, const Report& report) {
  const Result<std::shared_ptr<ignite::Cluster>> cluster = examine_connection(place, call, report);
  return cluster && examine_caches(*cluster, place, call, report);
}

}  // namespace headrace
