// What tests/python/test_sigv4.py drives: signatures of requests that stand on standard input, one JSON
// object a line; answers on standard output: the Authorization field, or the query of a presigned URL.

#include <iostream>
#include <nlohmann/json.hpp>

#include "headrace/net/url_encoding.h"
#include "headrace/store/s3/credentials/sigv4.h"

namespace headrace {
namespace {

using Json = nlohmann::json;

std::string answer(const Json& request) {
  const S3Credentials keys{request.at("id"), request.at("secret"), request.at("token")};
  const std::string method = request.at("method"), region = request.at("region"), date = request.at("date"),
                    path = percent_encode(request.at("path").get<std::string>(), "/");
  const QueryParameters query = request.at("query").get<QueryParameters>();
  HttpHeaders headers;
  for (const auto& [name, value] : request.at("headers").items()) headers.push_back({name, value});
  SigV4Signer signer;
  if (request.contains("expires")) {
    return signer.presigned_query(keys, method, path, query, headers,
                                  std::chrono::seconds(request.at("expires").get<int>()), region, date);
  }
  const std::string text = canonical_query(query), digest = request.at("digest");
  return signer.authorization(keys, {method, path, text, headers, digest}, region, date);
}

}  // namespace
}  // namespace headrace

int main() {
  for (std::string line; std::getline(std::cin, line);)
    std::cout << headrace::answer(nlohmann::json::parse(line)) << "\n";
}
