#include "headrace/sweep/file_digest.h"

#include <fstream>

#include "headrace/base/digest.h"
#include "headrace/base/text.h"

namespace headrace {
namespace {

constexpr std::size_t kDigestedAtOnce = 1 << 20;  // bytes

}  // namespace

Result<std::string> file_digest(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string piece(kDigestedAtOnce, '\0');
  Sha256 digest;
  while (file) {
    file.read(piece.data(), static_cast<std::streamsize>(piece.size()));
    digest.update(as_bytes(std::string_view(piece).substr(0, static_cast<std::size_t>(file.gcount()))));
  }
  if (!file.eof()) return Error{Code::kUnknown, concat(path, " cannot be read")};
  return hex(digest.finish());
}

}  // namespace headrace
