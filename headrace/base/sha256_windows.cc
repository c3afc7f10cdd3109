#include <windows.h>
// windows.h must come first.
#include <bcrypt.h>

#include <algorithm>
#include <limits>

#include "headrace/base/digest.h"

namespace headrace {
namespace {

BCRYPT_ALG_HANDLE sha256_algorithm() {
  static const BCRYPT_ALG_HANDLE algorithm = [] {
    BCRYPT_ALG_HANDLE opened = nullptr;
    ::BCryptOpenAlgorithmProvider(&opened, BCRYPT_SHA256_ALGORITHM, nullptr, 0);
    return opened;
  }();
  return algorithm;
}

}  // namespace

struct Sha256::State {
  BCRYPT_HASH_HANDLE hash = nullptr;
  State() { ::BCryptCreateHash(sha256_algorithm(), &hash, nullptr, 0, nullptr, 0, 0); }
  ~State() { ::BCryptDestroyHash(hash); }
};

Sha256::Sha256() : state_(std::make_unique<State>()) {}
Sha256::~Sha256() = default;
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;

void Sha256::update(BytesView data) {
  while (!data.empty()) {
    const std::size_t piece = std::min<std::size_t>(data.size(), std::numeric_limits<int>::max());
    auto* bytes = reinterpret_cast<unsigned char*>(const_cast<std::byte*>(data.data()));  // only read
    ::BCryptHashData(state_->hash, bytes, static_cast<ULONG>(piece), 0);
    data = data.subspan(piece);
  }
}

Bytes Sha256::finish() {
  Bytes digest(32);
  ::BCryptFinishHash(state_->hash, reinterpret_cast<unsigned char*>(digest.data()), 32, 0);
  return digest;
}

}  // namespace headrace
