#pragma once

/// \file The page at `/` of the clients' port: which models are served, their traffic, and a form to try
/// them. docs/decisions/serving.md, "The page".

#include <optional>
#include <string>
#include <string_view>

#include "headrace/cli/servers/serve/access_tokens.h"
#include "headrace/cli/servers/serve/http_server.h"
#include "headrace/cli/servers/serve/served_models.h"
#include "headrace/cli/servers/serve/serving_metrics.h"

namespace headrace {

/// Thread-safe. `GET /` is the document, which is the same for everybody; its script asks for
/// `/page/state` (models, versions, labels, totals of traffic) and `/page/signatures/MODEL/VERSION`.
class StatusPage {
 public:
  /// Borrows all. `tokens`: null: anyone may ask.
  StatusPage(const ServedModels& models, const ServingMetrics& metrics, AccessTokens* tokens)
      : models_(models), metrics_(metrics), tokens_(tokens) {}

  /// Whether the page answers this path: "/", and all below "/page/".
  static bool has(std::string_view path) { return is_document(path) || path.starts_with("/page/"); }
  /// The document holds no data, so it needs no token.
  static bool is_document(std::string_view path) { return path == "/"; }

  /// Shows only models that the token may ask. REQUIRES: has(path); a token is valid, but for the document
  HttpAnswer answer(std::string_view method, std::string_view path,
                    std::optional<std::string_view> authorization) const;

 private:
  std::string state(std::optional<std::string_view> authorization) const;
  Result<std::string> signatures(std::string_view path, std::optional<std::string_view> authorization) const;

  const ServedModels& models_;
  const ServingMetrics& metrics_;
  AccessTokens* const tokens_;
};

}  // namespace headrace
