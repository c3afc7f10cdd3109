#include "headrace/cli/servers/serve/listen_options.h"

namespace headrace {

Status check_tls_options(const OptionValues& options) {
  if (options.given("tls-certificate") != options.given("tls-key"))
    return Error{Code::kInvalidArgument, "--tls-certificate and --tls-key need each other"};
  if (options.given("tls-client-ca") && !options.given("tls-certificate"))
    return Error{Code::kInvalidArgument, "--tls-client-ca needs --tls-certificate"};
  return {};
}

std::optional<HttpServerTls> tls_of(const OptionValues& options) {
  if (!options.given("tls-certificate")) return std::nullopt;
  return HttpServerTls{.certificate_file = options.text("tls-certificate"),
                       .key_file = options.text("tls-key"),
                       .client_ca_file = options.text("tls-client-ca")};
}

bool may_anybody_ask(const OptionValues& options) {
  const std::string& host = options.text("listen");
  const bool is_local = host == "127.0.0.1" || host == "localhost" || host == "::1";
  return !is_local && !options.given("tls-client-ca") && !options.given("tokens");
}

int threads_option(const OptionValues& options, std::string_view name, int otherwise) {
  const auto given = static_cast<int>(options.integer(name));
  return given != 0 ? given : otherwise;
}

}  // namespace headrace
