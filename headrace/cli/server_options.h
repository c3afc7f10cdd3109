#pragma once

/// \file Options that all servers for clients share: `serve` and `serve-mlflow`.

#include "headrace/cli/command.h"

namespace headrace {

inline constexpr Option kTlsCertificateOption = {
    .name = "tls-certificate",
    .unit = "FILE",
    .sentence =
        "PEM with the server's certificate and the intermediate certificates. Clients then use "
        "HTTPS."};
inline constexpr Option kTlsKeyOption = {
    .name = "tls-key", .unit = "FILE", .sentence = "PEM with the certificate's key."};
inline constexpr Option kTlsClientCaOption = {
    .name = "tls-client-ca",
    .unit = "FILE",
    .sentence = "PEM with certificate authorities: clients must show a certificate of one of them."};
inline constexpr Option kDrainOption = {
    .name = "drain",
    .default_value = "30s",
    .unit = "DURATION",
    .sentence = "Longest time that requests in flight may take after SIGTERM."};

}  // namespace headrace
