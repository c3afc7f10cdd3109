// The program of tests/python/test_http_against_curl.py: sends "METHOD http://host:port/target" for each line
// of standard input, and writes the outcome as a JSON object in each line: status and body, or the error's
// code.

#include <iostream>

#include "headrace/base/digest.h"
#include "headrace/base/json.h"
#include "headrace/net/http/http_client.h"

namespace headrace {
namespace {

Json outcome(HttpClient& client, const std::string& line) {
  const std::size_t space = line.find(' '), slash = line.find('/', line.find("://") + 3);
  const auto endpoint = parse_http_endpoint(std::string_view(line).substr(space + 1, slash - space - 1));
  if (!endpoint) return {{"error", "endpoint"}};
  const auto answer = client.perform({.endpoint = *endpoint,
                                      .method = line.substr(0, space),
                                      .target = line.substr(slash),
                                      .stall_timeout = std::chrono::milliseconds(5'000)});
  if (!answer) return {{"error", code_name(answer.error().code)}};
  return {{"status", answer->status}, {"body", hex(answer->body)}};
}

}  // namespace
}  // namespace headrace

int main() {
  headrace::HttpClient client({});
  for (std::string line; std::getline(std::cin, line);)
    std::cout << headrace::outcome(client, line).dump() << std::endl;
}
