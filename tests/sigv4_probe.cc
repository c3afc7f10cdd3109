// The program of tests/python/test_sigv4.py: signs requests from standard input, one JSON object in each
// line; answers on standard output: the Authorization field, or the query of a presigned URL.

#include <iostream>

#include "headrace/base/json.h"
#include "headrace/net/url_encoding.h"
#include "headrace/store/s3/credentials/sigv4.h"

namespace headrace {
namespace {

std::string answer(const Json& request) {
  const S3Credentials keys{request.get<std::string>("id"), request.get<std::string>("secret"),
                           request.get<std::string>("token")};
  const auto method = request.get<std::string>("method"), region = request.get<std::string>("region"),
             date = request.get<std::string>("date"),
             path = percent_encode(request.get<std::string>("path"), "/");
  QueryParameters query;
  for (const Json& pair : request.at("query").values())
    query.push_back({pair.at(0).text(), pair.at(1).text()});
  HttpHeaders headers;
  for (const auto& [name, value] : request.at("headers").members()) headers.push_back({name, value.text()});
  SigV4Signer signer;
  if (request.contains("expires")) {
    return signer.presigned_query(keys, method, path, query, headers,
                                  std::chrono::seconds(request.get<int>("expires")), region, date);
  }
  const std::string text = canonical_query(query), digest = request.get<std::string>("digest");
  return signer.authorization(keys, {method, path, text, headers, digest}, region, date);
}

}  // namespace
}  // namespace headrace

int main() {
  for (std::string line; std::getline(std::cin, line);)
    std::cout << headrace::answer(*headrace::parse_json(line)) << "\n";
}
