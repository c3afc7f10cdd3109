#include "headrace/cli/servers/serve/server_ports.h"

#include <cstdio>
#include <fstream>

#include "headrace/base/text.h"

namespace headrace {

std::string listen_address(const std::string& host, std::int64_t port) {
  const bool is_bare_ipv6 = host.find(':') != host.npos && !host.starts_with('[');
  return is_bare_ipv6 ? concat("[", host, "]:", port) : concat(host, ":", port);
}

Status write_port_file(const std::string& path, const std::vector<std::uint16_t>& ports) {
  if (path.empty()) return {};
  const std::string unfinished = path + ".new";
  std::ofstream file(unfinished);
  for (const std::uint16_t port : ports) file << port << '\n';
  file.close();
  if (file && std::rename(unfinished.c_str(), path.c_str()) == 0) return {};
  return Error{Code::kUnavailable, concat("--port-file: cannot write ", path)};
}

}  // namespace headrace
