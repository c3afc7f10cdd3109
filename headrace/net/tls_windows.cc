#include "headrace/net/tls.h"

namespace headrace {
namespace {

Error no_tls() {
  return {
      Code::kUnimplemented,
      "TLS is not in this build of Headrace, which is for Windows; connect without TLS, for example through "
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
