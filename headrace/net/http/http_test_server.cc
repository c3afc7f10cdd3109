#include "headrace/net/http/http_test_server.h"

#include <arpa/inet.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <vector>

#include "headrace/base/text.h"

namespace headrace {
namespace {

std::string pem_text(const std::function<void(BIO*)>& write) {
  BIO* bio = BIO_new(BIO_s_mem());
  write(bio);
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  std::string text(data, static_cast<std::size_t>(size));
  BIO_free(bio);
  return text;
}

// One accepted connection, plain or TLS, with blocking calls.
class Peer {
 public:
  Peer(int fd, SSL_CTX* tls) : fd_(fd) {
    if (tls == nullptr) return;
    ssl_ = SSL_new(tls);
    SSL_set_fd(ssl_, fd);
    open_ = SSL_accept(ssl_) == 1;
    if (!open_) deliver_alert();
  }
  ~Peer() { SSL_free(ssl_); }

  bool read_more(std::string& into) {
    if (!open_) return false;
    char data[16384];
    const ssize_t size =
        ssl_ != nullptr ? SSL_read(ssl_, data, sizeof data) : ::recv(fd_, data, sizeof data, 0);
    if (size > 0) into.append(data, static_cast<std::size_t>(size));
    return size > 0;
  }
  void write_all(std::string_view data) {
    while (!data.empty()) {
      const ssize_t size = ssl_ != nullptr ? SSL_write(ssl_, data.data(), static_cast<int>(data.size()))
                                           : ::send(fd_, data.data(), data.size(), MSG_NOSIGNAL);
      if (size <= 0) return;
      data.remove_prefix(static_cast<std::size_t>(size));
    }
  }

 private:
  // Closing a socket with unread data resets the connection, and the alert is lost.
  void deliver_alert() const {
    ::shutdown(fd_, SHUT_WR);
    char ignored[4096];
    while (::recv(fd_, ignored, sizeof ignored, 0) > 0) {
    }
  }

  int fd_;
  SSL* ssl_ = nullptr;
  bool open_ = true;
};

TestHttpRequest parse_head(std::string_view head, int connection) {
  TestHttpRequest request{.connection = connection};
  const std::vector<std::string> lines = split(head, '\n');
  const std::vector<std::string> words = split(trim(lines[0]), ' ');
  if (words.size() >= 2) request.method = words[0], request.target = words[1];
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const std::size_t colon = lines[i].find(':');
    if (colon == std::string::npos) continue;
    request.headers.push_back(
        {lines[i].substr(0, colon), std::string(trim(std::string_view(lines[i]).substr(colon + 1)))});
  }
  return request;
}

}  // namespace

TestHttpReply test_reply(int status, std::string_view body, std::string_view header_lines) {
  return {concat("HTTP/1.1 ", status, " Test\r\n", header_lines, "Content-Length: ", body.size(), "\r\n\r\n",
                 body)};
}

TestCertificate make_test_certificate(const std::string& subject_alternative, bool expired,
                                      const std::string& key_password) {
  EVP_PKEY* key = EVP_EC_gen("P-256");
  X509* certificate = X509_new();
  X509_set_version(certificate, 2);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
  X509_gmtime_adj(X509_getm_notBefore(certificate), -7200);
  X509_gmtime_adj(X509_getm_notAfter(certificate), expired ? -3600 : 3600);
  X509_set_pubkey(certificate, key);
  X509_NAME* name = X509_get_subject_name(certificate);
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>("test"), -1, -1,
                             0);
  X509_set_issuer_name(certificate, name);
  X509_EXTENSION* extension =
      X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, subject_alternative.c_str());
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
  X509_sign(certificate, key, EVP_sha256());
  TestCertificate made{
      pem_text([&](BIO* bio) { PEM_write_bio_X509(bio, certificate); }), pem_text([&](BIO* bio) {
        PEM_write_bio_PrivateKey(bio, key, key_password.empty() ? nullptr : EVP_aes_256_cbc(),
                                 reinterpret_cast<const unsigned char*>(key_password.data()),
                                 static_cast<int>(key_password.size()), nullptr, nullptr);
      })};
  X509_free(certificate);
  EVP_PKEY_free(key);
  return made;
}

struct HttpTestServer::State {
  Handler handler;
  TestHttpServerOptions options;
  int listener = -1;
  std::uint16_t port = 0;
  SSL_CTX* tls = nullptr;
  std::atomic<int> accepted{0};
  std::mutex mutex;
  std::vector<int> open;
  std::vector<std::thread> threads;
  bool stopping = false;
  std::thread acceptor;

  void set_up_tls() {
    tls = SSL_CTX_new(TLS_server_method());
    BIO* certificate_bio = BIO_new_mem_buf(options.tls->certificate.data(), -1);
    BIO* key_bio = BIO_new_mem_buf(options.tls->key.data(), -1);
    X509* certificate = PEM_read_bio_X509(certificate_bio, nullptr, nullptr, nullptr);
    EVP_PKEY* key = PEM_read_bio_PrivateKey(key_bio, nullptr, nullptr, nullptr);
    SSL_CTX_use_certificate(tls, certificate);
    SSL_CTX_use_PrivateKey(tls, key);
    if (!options.client_certificate.empty()) {
      BIO* bio = BIO_new_mem_buf(options.client_certificate.data(), -1);
      X509* trusted = PEM_read_bio_X509(bio, nullptr, nullptr, nullptr);
      X509_STORE_add_cert(SSL_CTX_get_cert_store(tls), trusted);
      SSL_CTX_set_verify(tls, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
      X509_free(trusted);
      BIO_free(bio);
    }
    if (options.only_tls_1_1) {
      SSL_CTX_set_security_level(tls, 0);
      SSL_CTX_set_min_proto_version(tls, TLS1_1_VERSION);
      SSL_CTX_set_max_proto_version(tls, TLS1_1_VERSION);
    }
    X509_free(certificate);
    EVP_PKEY_free(key);
    BIO_free(certificate_bio);
    BIO_free(key_bio);
  }

  void accept_all() {
    while (true) {
      const int fd = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
      if (fd < 0 && errno == EMFILE) {  // a test has used up the file descriptors
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        continue;
      }
      if (fd < 0) return;
      const std::scoped_lock lock(mutex);
      if (stopping) {
        ::close(fd);
        return;
      }
      const int number = accepted++;
      open.push_back(fd);
      threads.emplace_back([this, fd, number] { serve(fd, number); });
    }
  }

  void serve(int fd, int number) {
    sigset_t pipe_signal;
    sigemptyset(&pipe_signal);
    sigaddset(&pipe_signal, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_signal, nullptr);
    auto then = TestHttpReply::Then::kKeep;
    {
      Peer peer(fd, tls);
      std::string input;
      while (then == TestHttpReply::Then::kKeep && serve_one(peer, input, number, then)) {
      }
      if (then == TestHttpReply::Then::kReset) {
        const linger at_once{1, 0};  // close(2) then sends RST
        setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
      }
    }
    const std::scoped_lock lock(mutex);
    std::erase(open, fd);
    ::close(fd);
  }

  bool serve_one(Peer& peer, std::string& input, int number, TestHttpReply::Then& then) {
    std::size_t end;
    while ((end = input.find("\r\n\r\n")) == std::string::npos) {
      if (!peer.read_more(input)) return false;
    }
    TestHttpRequest request = parse_head(std::string_view(input).substr(0, end), number);
    input.erase(0, end + 4);
    if (request.header("Expect") == "100-continue") {
      if (options.before_body) {
        if (const auto reply = options.before_body(request)) {
          peer.write_all(reply->bytes);
          then = TestHttpReply::Then::kClose;
          return true;
        }
      }
      peer.write_all("HTTP/1.1 100 Continue\r\n\r\n");
    }
    const std::size_t length = parse_number<std::size_t>(request.header("Content-Length")).value_or(0);
    while (input.size() < length) {
      if (!peer.read_more(input)) return false;
    }
    request.body = input.substr(0, length);
    input.erase(0, length);
    const TestHttpReply reply = handler(request);
    const std::size_t piece = reply.piece_bytes == 0 ? reply.bytes.size() : reply.piece_bytes;
    for (std::size_t at = 0; at < reply.bytes.size(); at += piece) {
      if (at > 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      peer.write_all(reply.bytes.substr(at, piece));
    }
    then = reply.then;
    return true;
  }
};

HttpTestServer::HttpTestServer(Handler handler, TestHttpServerOptions options)
    : state_(std::make_unique<State>()) {
  state_->handler = std::move(handler);
  state_->options = std::move(options);
  if (state_->options.tls) state_->set_up_tls();
  const bool ipv6 = state_->options.ipv6;
  state_->listener = ::socket(ipv6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  union {
    sockaddr_in v4;
    sockaddr_in6 v6;
  } address{};
  socklen_t size = ipv6 ? sizeof address.v6 : sizeof address.v4;
  if (ipv6) {
    address.v6.sin6_family = AF_INET6;
    address.v6.sin6_addr = in6addr_loopback;
  } else {
    address.v4.sin_family = AF_INET;
    address.v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  }
  if (::bind(state_->listener, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      ::listen(state_->listener, 64) != 0 ||
      ::getsockname(state_->listener, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    std::perror("HttpTestServer");
    std::abort();
  }
  state_->port = ntohs(ipv6 ? address.v6.sin6_port : address.v4.sin_port);
  state_->acceptor = std::thread([state = state_.get()] { state->accept_all(); });
}

HttpTestServer::~HttpTestServer() {
  {
    const std::scoped_lock lock(state_->mutex);
    state_->stopping = true;
    ::shutdown(state_->listener, SHUT_RDWR);
    for (const int fd : state_->open) ::shutdown(fd, SHUT_RDWR);
  }
  state_->acceptor.join();
  for (std::thread& thread : state_->threads) thread.join();
  ::close(state_->listener);
  SSL_CTX_free(state_->tls);
}

HttpEndpoint HttpTestServer::endpoint() const {
  return {.tls = state_->tls != nullptr,
          .host = state_->options.ipv6 ? "::1" : "127.0.0.1",
          .port = state_->port};
}

int HttpTestServer::accepted_connections() const { return state_->accepted; }

}  // namespace headrace
