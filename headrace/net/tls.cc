#include "headrace/net/tls.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <limits>

#include "headrace/base/text.h"

namespace headrace {
namespace {

// Where Debian, Fedora, openSUSE and Alpine keep the certificate authorities that their users trust.
// OpenSSL's own default is not used: a statically linked copy takes it from the machine it was built on and
// from the environment.
constexpr std::array<const char*, 4> kSystemAuthorities = {"/etc/ssl/certs/ca-certificates.crt",
                                                           "/etc/pki/tls/certs/ca-bundle.crt",
                                                           "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem"};

std::string tls_message() {
  const unsigned long code = ERR_peek_last_error();
  if (ERR_GET_REASON(code) == SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED)
    return "the server requires a client certificate";
  if (ERR_GET_REASON(code) == SSL_R_WRONG_VERSION_NUMBER)
    return "the server speaks no TLS at this port; its address should begin with http://";
  const char* reason = ERR_reason_error_string(code);
  return reason != nullptr ? reason : "connection closed";
}

// OpenSSL's own socket BIO writes with write(2), which raises SIGPIPE.
int bio_write(BIO* bio, const char* data, int size) {
  BIO_clear_retry_flags(bio);
  const int fd = static_cast<int>(reinterpret_cast<std::intptr_t>(BIO_get_data(bio)));
  const IoAttempt sent =
      send_to_socket(fd, {reinterpret_cast<const std::byte*>(data), static_cast<std::size_t>(size)});
  if (sent.state == IoAttempt::State::kDone) return static_cast<int>(sent.bytes);
  if (sent.state == IoAttempt::State::kWantWrite) BIO_set_retry_write(bio);
  return -1;
}

int bio_read(BIO* bio, char* target, int size) {
  BIO_clear_retry_flags(bio);
  const int fd = static_cast<int>(reinterpret_cast<std::intptr_t>(BIO_get_data(bio)));
  const IoAttempt got =
      receive_from_socket(fd, {reinterpret_cast<std::byte*>(target), static_cast<std::size_t>(size)});
  if (got.state == IoAttempt::State::kDone) return static_cast<int>(got.bytes);
  if (got.state == IoAttempt::State::kWantRead) BIO_set_retry_read(bio);
  return got.state == IoAttempt::State::kEnd ? 0 : -1;
}

long bio_control(BIO*, int command, long, void*) { return command == BIO_CTRL_FLUSH ? 1 : 0; }

const BIO_METHOD* socket_bio_method() {
  static const BIO_METHOD* const method = [] {
    BIO_METHOD* made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "headrace socket");
    BIO_meth_set_write(made, bio_write);
    BIO_meth_set_read(made, bio_read);
    BIO_meth_set_ctrl(made, bio_control);
    return made;
  }();
  return method;
}

using SslHandle = std::unique_ptr<SSL, decltype([](SSL* ssl) { SSL_free(ssl); })>;

class TlsStream final : public ByteStream {
 public:
  TlsStream(FileDescriptor socket, SslHandle ssl, std::string host, bool verify)
      : socket_(std::move(socket)), ssl_(std::move(ssl)), host_(std::move(host)), verify_(verify) {}
  ~TlsStream() override {
    ERR_clear_error();
    if (!broken_) SSL_shutdown(ssl_.get());  // sends close_notify without waiting for an answer
  }

  IoAttempt try_receive(MutableBytesView target) override {
    ERR_clear_error();
    return outcome(SSL_read(ssl_.get(), target.data(), clamp_size(target.size())));
  }
  IoAttempt try_send(BytesView data) override {
    if (data.empty()) return {IoAttempt::State::kDone};
    ERR_clear_error();
    return outcome(SSL_write(ssl_.get(), data.data(), clamp_size(data.size())));
  }
  Result<IoAttempt> try_handshake() override {
    ERR_clear_error();
    const int done = SSL_connect(ssl_.get());
    if (done == 1) return IoAttempt{IoAttempt::State::kDone};
    IoAttempt attempt = outcome(done);
    if (attempt.state != IoAttempt::State::kFailed && attempt.state != IoAttempt::State::kEnd) return attempt;
    if (const long result = SSL_get_verify_result(ssl_.get()); verify_ && result != X509_V_OK) {
      return Error{
          Code::kUnauthenticated,
          concat("the certificate of ", host_, " is not accepted: ", X509_verify_cert_error_string(result))};
    }
    return Error{Code::kUnavailable, concat("no TLS connection with ", host_, ": ",
                                            attempt.why.empty() ? "closed by the server" : attempt.why)};
  }
  int fd() const override { return socket_.get(); }
  std::string_view tls_version() const override { return SSL_get_version(ssl_.get()); }

 private:
  static int clamp_size(std::size_t size) {
    return static_cast<int>(std::min<std::size_t>(size, std::numeric_limits<int>::max() / 2));
  }
  IoAttempt outcome(int returned) {
    if (returned > 0) return {IoAttempt::State::kDone, static_cast<std::size_t>(returned)};
    switch (SSL_get_error(ssl_.get(), returned)) {
      case SSL_ERROR_WANT_READ:
        return {IoAttempt::State::kWantRead};
      case SSL_ERROR_WANT_WRITE:
        return {IoAttempt::State::kWantWrite};
      case SSL_ERROR_ZERO_RETURN:
        return {IoAttempt::State::kEnd};
      default:
        broken_ = true;
        return {IoAttempt::State::kFailed, 0, concat("TLS: ", tls_message())};
    }
  }

  FileDescriptor socket_;
  SslHandle ssl_;
  const std::string host_;
  const bool verify_;
  bool broken_ = false;
};

bool is_address(const std::string& host) {
  std::array<unsigned char, sizeof(in6_addr)> address;
  return inet_pton(AF_INET, host.c_str(), address.data()) == 1 ||
         inet_pton(AF_INET6, host.c_str(), address.data()) == 1;
}

// Without this function, OpenSSL would ask for the password on the terminal.
int give_password(char* target, int size, int, void* password) {
  const auto& text = *static_cast<const std::string*>(password);
  if (text.empty() || text.size() > static_cast<std::size_t>(size)) return -1;
  std::ranges::copy(text, target);
  return static_cast<int>(text.size());
}

Status take_client_certificate(SSL_CTX* context, const TlsOptions& options) {
  if (options.certificate_file.empty()) {
    if (options.key_file.empty()) return {};
    return Error{Code::kFailedPrecondition,
                 concat("a client key is given without its certificate: ", options.key_file)};
  }
  if (SSL_CTX_use_certificate_chain_file(context, options.certificate_file.c_str()) != 1) {
    return Error{Code::kFailedPrecondition, concat("cannot read the client certificate (PEM) from ",
                                                   options.certificate_file, ": ", tls_message())};
  }
  const std::string& key_file = options.key_file.empty() ? options.certificate_file : options.key_file;
  std::string password = options.key_password;
  SSL_CTX_set_default_passwd_cb(context, give_password);
  SSL_CTX_set_default_passwd_cb_userdata(context, &password);
  const bool taken = SSL_CTX_use_PrivateKey_file(context, key_file.c_str(), SSL_FILETYPE_PEM) == 1;
  SSL_CTX_set_default_passwd_cb_userdata(context, nullptr);
  OPENSSL_cleanse(password.data(), password.size());
  if (taken) return {};
  return Error{Code::kFailedPrecondition,
               concat("cannot read the key (PEM) of the client certificate ", options.certificate_file,
                      " from ", key_file, ": ", tls_message(),
                      "; does the key belong to the certificate, and is its password right?")};
}

Status take_authorities(SSL_CTX* context, const std::string& ca_file) {
  if (!ca_file.empty()) {
    if (SSL_CTX_load_verify_file(context, ca_file.c_str()) == 1) return {};
    return Error{Code::kFailedPrecondition,
                 concat("cannot read certificate authorities (PEM) from ", ca_file, ": ", tls_message())};
  }
  const bool found = std::ranges::any_of(kSystemAuthorities, [&](const char* file) {
    return ::access(file, R_OK) == 0 && SSL_CTX_load_verify_file(context, file) == 1;
  });
  if (found) return {};
  return Error{
      Code::kFailedPrecondition,
      "this machine has no certificate authorities to trust; install ca-certificates or name a CA file"};
}

}  // namespace

struct TlsContext::State {
  SSL_CTX* context = nullptr;
  bool verify = true;
  ~State() { SSL_CTX_free(context); }
};

TlsContext::TlsContext(std::unique_ptr<State> state) : state_(std::move(state)) {}
TlsContext::~TlsContext() = default;

Result<std::unique_ptr<TlsContext>> TlsContext::create(const TlsOptions& options) {
  OPENSSL_init_ssl(OPENSSL_INIT_NO_LOAD_CONFIG | OPENSSL_INIT_NO_ATEXIT, nullptr);
  ERR_clear_error();
  auto state = std::make_unique<State>();
  state->verify = options.verify;
  state->context = SSL_CTX_new(TLS_client_method());
  if (state->context == nullptr) return Error{Code::kInternal, concat("cannot set up TLS: ", tls_message())};
  SSL_CTX_set_min_proto_version(state->context, TLS1_2_VERSION);
  SSL_CTX_set_mode(state->context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_clear_mode(state->context, SSL_MODE_AUTO_RETRY);
  SSL_CTX_set_verify(state->context, options.verify ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, nullptr);
  if (options.verify) HEADRACE_CHECK(take_authorities(state->context, options.ca_file));
  HEADRACE_CHECK(take_client_certificate(state->context, options));
  return std::unique_ptr<TlsContext>(new TlsContext(std::move(state)));
}

Result<std::unique_ptr<ByteStream>> TlsContext::open(FileDescriptor socket, const std::string& host) const {
  SslHandle ssl(SSL_new(state_->context));
  BIO* bio = BIO_new(socket_bio_method());
  if (!ssl || bio == nullptr) {
    BIO_free(bio);
    return Error{Code::kResourceExhausted, "no memory for a TLS connection"};
  }
  BIO_set_data(bio, reinterpret_cast<void*>(static_cast<std::intptr_t>(socket.get())));
  BIO_set_init(bio, 1);
  SSL_set_bio(ssl.get(), bio, bio);
  X509_VERIFY_PARAM* parameters = SSL_get0_param(ssl.get());
  X509_VERIFY_PARAM_set_hostflags(parameters, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  const bool address = is_address(host);
  const bool accepted = address ? X509_VERIFY_PARAM_set1_ip_asc(parameters, host.c_str()) == 1
                                : X509_VERIFY_PARAM_set1_host(parameters, host.c_str(), host.size()) == 1 &&
                                      SSL_set_tlsext_host_name(ssl.get(), host.c_str()) == 1;
  if (!accepted) return Error{Code::kInvalidArgument, concat("\"", host, "\" is not a host name")};

  return std::unique_ptr<ByteStream>(
      std::make_unique<TlsStream>(std::move(socket), std::move(ssl), host, state_->verify));
}

}  // namespace headrace
