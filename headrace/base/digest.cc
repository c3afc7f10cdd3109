#include "headrace/base/digest.h"

#include <openssl/evp.h>

namespace headrace {

struct Sha256::State {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  ~State() { EVP_MD_CTX_free(context); }
};

Sha256::Sha256() : state_(std::make_unique<State>()) {
  EVP_DigestInit_ex(state_->context, EVP_sha256(), nullptr);
}
Sha256::~Sha256() = default;
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;

void Sha256::update(BytesView data) { EVP_DigestUpdate(state_->context, data.data(), data.size()); }

Bytes Sha256::finish() {
  Bytes digest(32);
  EVP_DigestFinal_ex(state_->context, reinterpret_cast<unsigned char*>(digest.data()), nullptr);
  return digest;
}

Bytes sha256(BytesView data) {
  Sha256 state;
  state.update(data);
  return state.finish();
}

std::string sha256_hex(BytesView data) { return hex(sha256(data)); }

std::string hex(BytesView data) {
  std::string text;
  text.reserve(2 * data.size());
  for (const std::byte byte : data) {
    text += "0123456789abcdef"[std::to_integer<int>(byte) >> 4];
    text += "0123456789abcdef"[std::to_integer<int>(byte) & 15];
  }
  return text;
}

std::string base64(BytesView data) {
  std::string text(4 * ((data.size() + 2) / 3) + 1, '\0');
  const int size =
      EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()),
                      reinterpret_cast<const unsigned char*>(data.data()), static_cast<int>(data.size()));
  text.resize(static_cast<std::size_t>(size));
  return text;
}

std::optional<Bytes> parse_base64(std::string_view text) {
  const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  if (text.empty() || text.size() % 4 != 0) return std::nullopt;
  // EVP_DecodeBlock takes '=' for a zero wherever it stands.
  if (text.substr(0, text.size() - padding).find('=') != std::string_view::npos) return std::nullopt;
  Bytes data(text.size() / 4 * 3);
  if (EVP_DecodeBlock(reinterpret_cast<unsigned char*>(data.data()),
                      reinterpret_cast<const unsigned char*>(text.data()),
                      static_cast<int>(text.size())) != static_cast<int>(data.size()))
    return std::nullopt;
  data.resize(data.size() - padding);
  return data;
}

}  // namespace headrace
