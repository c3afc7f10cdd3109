#pragma once

/// \file The page at `/` of the clients' port: the served models, their traffic, and a form to try them.
/// docs/decisions/serving.md, "The page".

#include <optional>
#include <string>
#include <string_view>

#include "headrace/cli/servers/serve/access_tokens.h"
#include "headrace/cli/servers/serve/http_server.h"
#include "headrace/cli/servers/serve/served_models.h"
#include "headrace/cli/servers/serve/serving_metrics.h"

namespace headrace {

/// Answers the requests of the page. Thread-safe. `GET /` is the document, which is the same for everybody;
/// its script asks for `/page/state` (models, versions, labels, totals of traffic) and
/// `/page/signatures/MODEL/VERSION`.
class StatusPage {
 public:
  /// All arguments must outlive this. `tokens`: null: everybody may send requests.
  StatusPage(const ServedModels& models, const ServingMetrics& metrics, AccessTokens* tokens)
      : models_(models), metrics_(metrics), tokens_(tokens) {}

  /// Whether the page answers this path: "/", and every path below "/page/".
  static bool has(std::string_view path) { return is_document(path) || path.starts_with("/page/"); }
  /// Whether the path is that of the document, which holds no data and so needs no token.
  static bool is_document(std::string_view path) { return path == "/"; }

  /// Answers a request. Shows only models that the token allows. REQUIRES: has(path); the token is valid,
  /// unless the path is the document's
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
