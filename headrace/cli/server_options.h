#pragma once

/// \file Options of every server of clients: `serve` and `serve-mlflow`.

#include "headrace/cli/command.h"

namespace headrace {

inline constexpr Option kTlsCertificateOption = {
    .name = "tls-certificate",
    .unit = "FILE",
    .sentence = "PEM with the server's certificate and those between it and a root: HTTPS for clients."};
inline constexpr Option kTlsKeyOption = {
    .name = "tls-key", .unit = "FILE", .sentence = "PEM with the certificate's key."};
inline constexpr Option kTlsClientCaOption = {
    .name = "tls-client-ca",
    .unit = "FILE",
    .sentence = "PEM with the authorities whose certificates clients must show."};
inline constexpr Option kDrainOption = {
    .name = "drain",
    .default_value = "30s",
    .unit = "DURATION",
    .sentence = "After SIGTERM: the longest time that requests in flight may take."};

}  // namespace headrace
