#include "headrace/store/ignite/ignite_driver.h"

#include "headrace/base/text.h"
#include "headrace/store/ignite/ignite_examine.h"
#include "headrace/store/ignite/ignite_options.h"
#include "headrace/store/ignite/ignite_store.h"

namespace headrace {
namespace {

constexpr Option kIgniteOptionTable[] = {
    {.name = "username",
     .sentence = "The user, if the cluster asks for one.",
     .variable = "HEADRACE_IGNITE_USER"},
    {.name = "password", .sentence = "The password of username.", .variable = "HEADRACE_IGNITE_PASSWORD"},
    {.name = "tls",
     .sentence = "true: the nodes use TLS, as they also do if a file for TLS is given.",
     .choices = "true|false",
     .variable = "HEADRACE_IGNITE_TLS"},
    {.name = "verify-tls",
     .sentence = "false: do not check the nodes' certificates.",
     .choices = "true|false",
     .variable = "HEADRACE_IGNITE_VERIFY_TLS"},
    {.name = "ca-file",
     .unit = "FILE",
     .sentence = "PEM file of certificate authorities to trust instead of the system's.",
     .variable = "HEADRACE_IGNITE_CA_FILE"},
    {.name = "client-certificate",
     .unit = "FILE",
     .sentence = "PEM file of the certificate that is shown to nodes that ask for one.",
     .variable = "HEADRACE_IGNITE_CERTIFICATE_FILE"},
    {.name = "client-key",
     .unit = "FILE",
     .sentence = "PEM file of its key, unless client_certificate also contains the key.",
     .variable = "HEADRACE_IGNITE_KEY_FILE"},
    {.name = "client-key-password",
     .sentence = "The password of that key, if the key is encrypted.",
     .variable = "HEADRACE_IGNITE_KEY_PASSWORD"},
    {.name = "backups",
     .unit = "copies",
     .sentence = "Copies of each chunk besides the first one, if the first write creates the caches; else 1.",
     .variable = "HEADRACE_IGNITE_BACKUPS"},
    {.name = "discover",
     .sentence = "false: connect to the given addresses only, not to others that the nodes report.",
     .choices = "true|false",
     .variable = "HEADRACE_IGNITE_DISCOVER"},
};

constexpr DriverVariable kIgfsVariables[] = {
    {"IGNITE_HOST, IGFS_HOST, IGNITE_PORT",
     "The node for URLs without a host (igfs:///key); default: localhost, port 10800."},
    {"IGFS_FS_NAME", "The name of the store; default: default_fs."},
};

constexpr std::string_view kDetails =
    "Objects lie in the memory of the nodes: two caches, NAME.heads and NAME.chunks, which the first write "
    "creates. Copy everything that must survive a power failure to another store, unless the cluster has "
    "Ignite's persistence. Ignite 3 speaks another protocol and is not supported.\n"
    "\n"
    "docs/how-to/ignite.md shows how to use it, docs/formats/ignite-store.md what lies in the caches.";

Status check_user(const OptionValues& given, Environment&) {
  if (given.given("username") != given.given("password"))
    return Error{Code::kInvalidArgument, "give username and password together, or neither of them"};
  if (given.given("client-key") && !given.given("client-certificate"))
    return Error{Code::kInvalidArgument, "client_key is given without client_certificate; give both"};
  return {};
}

std::string root_of(const Url& url) { return Url{url.scheme, url.authority, ""}.text(); }

Result<OpenedStore> open_store(const Url& url, const Environment& environment) {
  HEADRACE_TRY(IgnitePlace place, ignite_place_from(url, environment));
  OpenedStore opened;
  const bool is_unchecked = place.options.cluster.connection.tls && !place.options.cluster.tls.verify;
  if (is_unchecked)
    opened.warning =
        concat(root_of(url),
               ": the nodes' certificates are not checked (HEADRACE_IGNITE_VERIFY_TLS); anyone on "
               "the network path can read and change everything");
  for (const ignite::Address& node : place.options.cluster.addresses)
    opened.server += concat(opened.server.empty() ? "" : ",", node.text());
  opened.server += concat("/", place.name);  // igfs:///key names neither node nor store
  opened.store = open_ignite_store(root_of(url), place.name, place.options);
  return opened;
}

bool examine_store(const Url& url, const Environment& environment, const CallOptions& call,
                   const Report& report) {
  const Result<IgnitePlace> place = ignite_place_from(url, environment);
  if (place) return examine_ignite(*place, call, report);
  report({"settings", Finding::Outcome::kFailure, place.error().message,
          "docs/environment.md lists the variables"});
  return false;
}

}  // namespace

const StoreDriver kIgniteDriver = {.scheme = "ignite",
                                   .example = "ignite://host:10800/name/key",
                                   .summary = "Memory of an Apache Ignite 2 cluster",
                                   .details = kDetails,
                                   .url_form = {.has_bucket_in_path = true},
                                   .options = kIgniteOptionTable,
                                   .open = open_store,
                                   .check_options = check_user,
                                   .examine = examine_store};

const StoreDriver kIgfsDriver = {
    .scheme = "igfs",
    .example = "igfs:///key",
    .summary = "The same, with the URLs of TensorFlow's former Ignite file system",
    .details = kDetails,
    .url_form = {.may_lack_authority = true},
    .options = kIgniteOptionTable,
    .variables = kIgfsVariables,
    .open = open_store,
    .check_options = check_user,
    .examine = examine_store};

}  // namespace headrace
