#include "headrace/cli/servers/serve/tls_files.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <sys/stat.h>

#include <system_error>

#include "headrace/base/text.h"

namespace headrace {
namespace {

std::string openssl_reason() {
  const unsigned long first = ERR_peek_error();
  const unsigned long last = ERR_peek_last_error();
  ERR_clear_error();
  if (ERR_SYSTEM_ERROR(first)) return std::generic_category().message(ERR_GET_REASON(first));
  const char* reason = ERR_reason_error_string(last);
  return reason != nullptr ? reason : "no reason given";
}

// Without this function, OpenSSL asks on the terminal.
int no_password(char*, int, int, void*) { return -1; }

int choose_http_1_1(SSL*, const unsigned char** out, unsigned char* out_size, const unsigned char* offered,
                    unsigned int offered_size, void*) {
  static constexpr unsigned char kOurs[] = "\x08http/1.1";
  unsigned char* chosen = nullptr;
  if (SSL_select_next_proto(&chosen, out_size, kOurs, sizeof kOurs - 1, offered, offered_size) !=
      OPENSSL_NPN_NEGOTIATED)
    return SSL_TLSEXT_ERR_ALERT_FATAL;
  *out = chosen;
  return SSL_TLSEXT_ERR_OK;
}

std::string time_text(const ASN1_TIME* time) {
  BIO* const memory = BIO_new(BIO_s_mem());
  ASN1_TIME_print(memory, time);
  char* data = nullptr;
  const long size = BIO_get_mem_data(memory, &data);
  std::string text(data, static_cast<std::size_t>(size));
  BIO_free(memory);
  return text;
}

Error tls_error(std::string message) { return Error{Code::kFailedPrecondition, std::move(message)}; }

Status take_server_certificate(SSL_CTX* context, const HttpServerTls& options) {
  const std::string& file = options.certificate_file;
  if (SSL_CTX_use_certificate_chain_file(context, file.c_str()) != 1) {
    return tls_error(
        concat("cannot read the server's certificate (PEM) from ", file, ": ", openssl_reason()));
  }
  if (SSL_CTX_use_PrivateKey_file(context, options.key_file.c_str(), SSL_FILETYPE_PEM) != 1 ||
      SSL_CTX_check_private_key(context) != 1) {
    return tls_error(concat("cannot use the key (PEM, without password) in ", options.key_file,
                            " with the certificate in ", file, ": ", openssl_reason()));
  }
  const X509* const certificate = SSL_CTX_get0_certificate(context);
  const ASN1_TIME* const end = X509_get0_notAfter(certificate);
  if (X509_cmp_current_time(end) <= 0) {
    return tls_error(concat("the server's certificate in ", file, " expired at ", time_text(end),
                            "; clients would refuse it: put a new one there"));
  }
  const ASN1_TIME* const begin = X509_get0_notBefore(certificate);
  if (X509_cmp_current_time(begin) > 0) {
    return tls_error(concat("the server's certificate in ", file, " is valid only from ", time_text(begin),
                            " on; wait, or correct this machine's clock"));
  }
  return {};
}

Status take_client_authorities(SSL_CTX* context, const HttpServerTls& options) {
  const std::string& file = options.client_ca_file;
  if (file.empty()) return {};
  STACK_OF(X509_NAME)* const names = SSL_load_client_CA_file(file.c_str());
  if (names != nullptr) SSL_CTX_set_client_CA_list(context, names);
  if (names == nullptr || SSL_CTX_load_verify_file(context, file.c_str()) != 1) {
    return tls_error(
        concat("cannot read the authorities of clients (PEM) from ", file, ": ", openssl_reason()));
  }
  const int required = options.is_client_certificate_required ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0;
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER | required, nullptr);
  return {};
}

Result<std::shared_ptr<ssl_ctx_st>> load_context(const HttpServerTls& options) {
  OPENSSL_init_ssl(OPENSSL_INIT_NO_LOAD_CONFIG | OPENSSL_INIT_NO_ATEXIT, nullptr);
  ERR_clear_error();
  std::shared_ptr<SSL_CTX> context(SSL_CTX_new(TLS_server_method()), SSL_CTX_free);
  if (!context) return Error{Code::kResourceExhausted, concat("cannot set up TLS: ", openssl_reason())};
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  SSL_CTX_set_options(context.get(), SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                                         SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_PRIORITIZE_CHACHA);
  SSL_CTX_set_default_passwd_cb(context.get(), no_password);
  SSL_CTX_set_alpn_select_cb(context.get(), choose_http_1_1, nullptr);
  // Tickets carry sessions; without a name for them, clients with certificates could not resume.
  static constexpr unsigned char kSessions[] = "headrace";
  SSL_CTX_set_session_id_context(context.get(), kSessions, sizeof kSessions - 1);
  SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
  HEADRACE_CHECK(take_server_certificate(context.get(), options));
  HEADRACE_CHECK(take_client_authorities(context.get(), options));
  ERR_clear_error();
  return std::shared_ptr<ssl_ctx_st>(std::move(context));
}

std::vector<std::uint64_t> identity_of_files(const HttpServerTls& options) {
  std::vector<std::uint64_t> identity;
  for (const std::string* file : {&options.certificate_file, &options.key_file, &options.client_ca_file}) {
    struct stat status {};
    if (file->empty() || ::stat(file->c_str(), &status) != 0) status = {};
    identity.insert(identity.end(), {status.st_dev, status.st_ino, static_cast<std::uint64_t>(status.st_size),
                                     static_cast<std::uint64_t>(status.st_mtim.tv_sec),
                                     static_cast<std::uint64_t>(status.st_mtim.tv_nsec)});
  }
  return identity;
}

}  // namespace

Result<std::unique_ptr<TlsFiles>> TlsFiles::open(const HttpServerTls& options) {
  // Read before the files, so that the next check sees a change in between.
  Identity identity = identity_of_files(options);
  HEADRACE_TRY(std::shared_ptr<ssl_ctx_st> context, load_context(options));
  return std::unique_ptr<TlsFiles>(new TlsFiles(options, std::move(context), std::move(identity)));
}

std::shared_ptr<ssl_ctx_st> TlsFiles::current() const {
  const std::lock_guard lock(mutex_);
  return context_;
}

TlsFiles::Identity TlsFiles::identity() const { return identity_of_files(options_); }

std::string TlsFiles::look() {
  Identity seen = identity();
  {
    const std::lock_guard lock(mutex_);
    if (seen == used_ || (seen == wrong_ && is_remarked_)) return "";
  }
  Result<std::shared_ptr<ssl_ctx_st>> loaded = load_context(options_);
  const std::lock_guard lock(mutex_);
  if (loaded) {
    context_ = *std::move(loaded);
    used_ = std::move(seen);
    wrong_.clear();
    return concat("new connections use the new certificate in ", options_.certificate_file);
  }
  is_remarked_ = seen == wrong_;
  wrong_ = std::move(seen);
  if (!is_remarked_) return "";
  return concat("the server keeps its old certificate, since the new one cannot be used: ",
                loaded.error().message);
}

std::string client_subject(ssl_st* connection) {
  X509* const certificate = SSL_get0_peer_certificate(connection);
  if (certificate == nullptr) return "";
  BIO* const memory = BIO_new(BIO_s_mem());
  X509_NAME_print_ex(memory, X509_get_subject_name(certificate), 0, XN_FLAG_RFC2253);
  char* data = nullptr;
  const long size = BIO_get_mem_data(memory, &data);
  std::string subject(data, static_cast<std::size_t>(size));
  BIO_free(memory);
  return subject;
}

}  // namespace headrace
