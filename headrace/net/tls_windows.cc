#include "headrace/net/tls.h"

namespace headrace {
namespace {

Error no_tls() {
  return {
      Code::kUnimplemented,
      "this build of Headrace, for Windows, does not include TLS; connect without TLS, for example through "
      "a tunnel, or use Headrace for Linux"};
}

}  // namespace

struct TlsContext::State {};

TlsContext::~TlsContext() = default;

Result<std::unique_ptr<TlsContext>> TlsContext::create(const TlsOptions&) { return no_tls(); }

Result<std::unique_ptr<ByteStream>> TlsContext::open(FileDescriptor, const std::string&) const {
  return no_tls();
}

}  // namespace headrace
