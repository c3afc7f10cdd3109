#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/ssl.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "headrace/base/environment.h"
#include "headrace/cli/servers/serve/http_server.h"
#include "headrace/cli/servers/serve/raw_client_test.h"
#include "headrace/net/http/http_test_server.h"
#include "headrace/net/temporary_file_test.h"

namespace headrace {
namespace {

using std::chrono::milliseconds;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

constexpr std::string_view kTlsGet = "GET /t HTTP/1.1\r\nHost: h\r\n\r\n";

// Files of a certificate and its key that can be replaced.
class CertificateFiles {
 public:
  explicit CertificateFiles(const TestCertificate& made) : certificate_(made.certificate), key_(made.key) {}
  // Replaces the file as a whole, as programs do that renew certificates.
  static void replace(const TemporaryFile& file, const std::string& content) {
    const std::string next = file.path() + ".next";
    std::ofstream(next, std::ios::binary) << content;
    std::filesystem::rename(next, file.path());
  }
  void replace(const TestCertificate& made) {
    replace(certificate_, made.certificate);
    replace(key_, made.key);
  }
  const TemporaryFile& certificate() const { return certificate_; }
  const TemporaryFile& key() const { return key_; }
  HttpServerTls options() const {
    return {.certificate_file = certificate_.path(), .key_file = key_.path(), .look_every = milliseconds(20)};
  }

 private:
  TemporaryFile certificate_;
  TemporaryFile key_;
};

struct TlsClientOptions {
  const TestCertificate* certificate = nullptr;  // that the client shows
  int version_max = TLS1_3_VERSION;
  std::string protocols{};  // ALPN, as on the wire
};

class TlsClient {
 public:
  // `trusted` is the certificate that the server must show.
  TlsClient(std::uint16_t port, const std::string& trusted, const TlsClientOptions& options = {})
      : context_(SSL_CTX_new(TLS_client_method())) {
    SSL_CTX_set_security_level(context_.get(), 0);
    SSL_CTX_set_max_proto_version(context_.get(), options.version_max);
    const TemporaryFile authority(trusted);
    SSL_CTX_load_verify_file(context_.get(), authority.path().c_str());
    SSL_CTX_set_verify(context_.get(), SSL_VERIFY_PEER, nullptr);
    if (options.certificate != nullptr) {
      const TemporaryFile certificate(options.certificate->certificate);
      const TemporaryFile key(options.certificate->key);
      SSL_CTX_use_certificate_chain_file(context_.get(), certificate.path().c_str());
      SSL_CTX_use_PrivateKey_file(context_.get(), key.path().c_str(), SSL_FILETYPE_PEM);
    }
    SSL_CTX_set_alpn_protos(context_.get(), reinterpret_cast<const unsigned char*>(options.protocols.data()),
                            static_cast<unsigned>(options.protocols.size()));
    socket_ = FileDescriptor(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const sockaddr_in address = loopback_address(port);
    ::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
    ssl_.reset(SSL_new(context_.get()));
    SSL_set_fd(ssl_.get(), socket_.get());
    is_connected_ = SSL_connect(ssl_.get()) == 1;
  }

  bool is_connected() const { return is_connected_; }
  std::string protocol() const {
    const unsigned char* name = nullptr;
    unsigned size = 0;
    SSL_get0_alpn_selected(ssl_.get(), &name, &size);
    return {reinterpret_cast<const char*>(name), size};
  }
  std::string version() const { return SSL_get_version(ssl_.get()); }

  // The answer of the server; empty if it ends the connection.
  std::string ask(std::string_view request) {
    if (!is_connected_) return "";
    SSL_write(ssl_.get(), request.data(), static_cast<int>(request.size()));
    std::string answer;
    std::array<char, 16384> piece;
    while (true) {
      const std::size_t end = answer.find("\r\n\r\n");
      const std::size_t at = answer.find("Content-Length: ");
      if (end != std::string::npos && answer.size() >= end + 4 + std::stoul(answer.substr(at + 16)))
        return answer;
      const int got = SSL_read(ssl_.get(), piece.data(), piece.size());
      if (got <= 0) return answer;
      answer.append(piece.data(), static_cast<std::size_t>(got));
    }
  }
  // Whether the server says goodbye, rather than break the connection.
  bool is_ended_properly() {
    std::array<char, 16384> piece;
    while (true) {
      const int got = SSL_read(ssl_.get(), piece.data(), piece.size());
      if (got <= 0) return SSL_get_error(ssl_.get(), got) == SSL_ERROR_ZERO_RETURN;
    }
  }

 private:
  std::unique_ptr<SSL_CTX, decltype([](SSL_CTX* context) { SSL_CTX_free(context); })> context_;
  FileDescriptor socket_;
  std::unique_ptr<SSL, decltype([](SSL* ssl) { SSL_free(ssl); })> ssl_;
  bool is_connected_ = false;
};

void tell_subject(ReceivedRequest request, Responder responder) {
  std::move(responder).send({.body = concat("[", request.head.client_subject(), "]", request.body.text())});
}

TEST(HttpServerTls, AnswersOverTls12And13) {
  const TestCertificate shown = make_test_certificate("IP:127.0.0.1");
  const CertificateFiles files(shown);
  const auto server = start_server({.tls = files.options()}, tell_subject);
  std::string body(5 << 20, 'x');
  for (std::size_t i = 0; i < body.size(); ++i) body[i] = static_cast<char>('a' + i * 7 % 23);
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    TlsClient client(server->port(), shown.certificate,
                     {.version_max = version, .protocols = "\x02h2\x08http/1.1"});
    ASSERT_TRUE(client.is_connected());
    EXPECT_EQ(client.protocol(), "http/1.1");
    EXPECT_EQ(client.version(), version == TLS1_2_VERSION ? "TLSv1.2" : "TLSv1.3");
    for (int i = 0; i < 3; ++i) EXPECT_EQ(body_of(client.ask(kTlsGet)), "[]");
    const std::string request =
        concat("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: ", body.size(), "\r\n\r\n", body);
    EXPECT_EQ(body_of(client.ask(request)), "[]" + body);
    EXPECT_THAT(client.ask("GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"), HasSubstr("close"));
    EXPECT_TRUE(client.is_ended_properly());
  }
}

TEST(HttpServerTls, RefusesOlderVersionsOtherProtocolsAndPlainText) {
  const TestCertificate shown = make_test_certificate("IP:127.0.0.1");
  const CertificateFiles files(shown);
  const auto server = start_server({.tls = files.options()});
  EXPECT_FALSE(TlsClient(server->port(), shown.certificate, {.version_max = TLS1_1_VERSION}).is_connected());
  EXPECT_FALSE(TlsClient(server->port(), shown.certificate, {.protocols = "\x02h2"}).is_connected());
  RawClient plain(server->port());
  plain.send(kTlsGet);
  EXPECT_NE(status_of(plain.rest()), 200);
  TlsClient good(server->port(), shown.certificate);
  EXPECT_EQ(status_of(good.ask(kTlsGet)), 200);
}

TEST(HttpServerTls, EndsHandshakesThatTakeTooLong) {
  const CertificateFiles files(make_test_certificate("IP:127.0.0.1"));
  const auto server = start_server({.limits = {.head_timeout = milliseconds(100)}, .tls = files.options()});
  RawClient silent(server->port());
  EXPECT_TRUE(silent.is_ended());
}

TEST(HttpServerTls, ChecksCertificatesOfClients) {
  const TestCertificate shown = make_test_certificate("IP:127.0.0.1");
  const TestCertificate known = make_test_certificate("DNS:client.example");
  const TestCertificate stranger = make_test_certificate("DNS:client.example");
  const CertificateFiles files(shown);
  const TemporaryFile authority(known.certificate);
  for (const bool is_required : {true, false}) {
    HttpServerTls tls = files.options();
    tls.client_ca_file = authority.path();
    tls.is_client_certificate_required = is_required;
    const auto server = start_server({.tls = tls}, tell_subject);
    for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
      const auto ask = [&](const TestCertificate* certificate) {
        return body_of(
            TlsClient(server->port(), shown.certificate, {.certificate = certificate, .version_max = version})
                .ask(kTlsGet));
      };
      EXPECT_EQ(ask(&known), "[CN=test]");
      EXPECT_EQ(ask(&stranger), "");
      EXPECT_EQ(ask(nullptr), is_required ? "" : "[]");
    }
  }
}

TEST(HttpServerTls, UsesCertificatesThatWereReplaced) {
  const TestCertificate first = make_test_certificate("IP:127.0.0.1");
  const TestCertificate second = make_test_certificate("IP:127.0.0.1");
  CertificateFiles files(first);
  TestSignal changed;
  std::string remark;
  const auto server = start_server({.tls = files.options(), .on_remark = [&](std::string text) {
                                      remark = std::move(text);
                                      changed.give();
                                    }});
  TlsClient old(server->port(), first.certificate);
  EXPECT_EQ(status_of(old.ask(kTlsGet)), 200);
  files.replace(second);
  ASSERT_TRUE(changed.wait());
  EXPECT_THAT(remark, HasSubstr(files.certificate().path()));
  EXPECT_TRUE(TlsClient(server->port(), second.certificate).is_connected());
  EXPECT_FALSE(TlsClient(server->port(), first.certificate).is_connected());
  EXPECT_EQ(status_of(old.ask(kTlsGet)), 200) << "connections that are open go on";
}

TEST(HttpServerTls, KeepsItsCertificateIfTheNewOneIsWrong) {
  const TestCertificate first = make_test_certificate("IP:127.0.0.1");
  const TestCertificate other = make_test_certificate("IP:127.0.0.1");
  const TestCertificate expired = make_test_certificate("IP:127.0.0.1", true);
  for (const auto& [wrong, why] :
       {std::pair(TestCertificate{other.certificate, first.key}, "key"), std::pair(expired, "expired"),
        std::pair(TestCertificate{"", ""}, "PEM")}) {
    CertificateFiles files(first);
    TestSignal remarked;
    std::string remark;
    const auto server = start_server({.tls = files.options(), .on_remark = [&](std::string text) {
                                        if (remark.empty()) remark = std::move(text);
                                        remarked.give();
                                      }});
    files.replace(wrong);
    ASSERT_TRUE(remarked.wait());
    EXPECT_THAT(remark, AllOf(StartsWith("the server keeps its old certificate"), HasSubstr(why)));
    EXPECT_TRUE(TlsClient(server->port(), first.certificate).is_connected());
  }
}

TEST(HttpServerTls, SaysWhatIsWrongWithItsFiles) {
  const TestCertificate good = make_test_certificate("IP:127.0.0.1");
  const TestCertificate other = make_test_certificate("IP:127.0.0.1");
  const TestCertificate expired = make_test_certificate("IP:127.0.0.1", true);
  const TestCertificate secret = make_test_certificate("IP:127.0.0.1", false, "password");
  const TemporaryFile good_key(good.key);
  const TemporaryFile good_certificate(good.certificate);
  const auto message = [&](const std::string& certificate, const std::string& key,
                           const std::string& ca = "") {
    const auto server = HttpServer::start(
        {.listen = {"127.0.0.1:0"},
         .tls = HttpServerTls{.certificate_file = certificate, .key_file = key, .client_ca_file = ca}},
        [](const RequestHead&) { return HeadVerdict{}; }, tell_subject);
    EXPECT_FALSE(server);
    if (server) return std::string();
    EXPECT_EQ(server.error().code, Code::kFailedPrecondition);
    return server.error().message;
  };
  EXPECT_THAT(message("/nonexistent.pem", good_key.path()),
              AllOf(HasSubstr("/nonexistent.pem"), HasSubstr("No such file")));
  EXPECT_THAT(message(good_certificate.path(), "/no.key"),
              AllOf(HasSubstr("/no.key"), HasSubstr("No such file")));
  EXPECT_THAT(message(good_certificate.path(), TemporaryFile(other.key).path()), HasSubstr("key"));
  const TemporaryFile other_key(other.key);
  EXPECT_THAT(message(good_certificate.path(), other_key.path()), HasSubstr("key values mismatch"));
  const TemporaryFile secret_key(secret.key);
  EXPECT_THAT(message(good_certificate.path(), secret_key.path()), HasSubstr("without password"));
  const TemporaryFile expired_certificate(expired.certificate);
  const TemporaryFile expired_key(expired.key);
  EXPECT_THAT(message(expired_certificate.path(), expired_key.path()),
              AllOf(HasSubstr("expired at "), HasSubstr("GMT"), HasSubstr(expired_certificate.path())));
  EXPECT_THAT(message(good_certificate.path(), good_key.path(), good_key.path()), HasSubstr("authorities"));
}

TEST(HttpServerTls, DrainsConnectionsWithTls) {
  const TestCertificate shown = make_test_certificate("IP:127.0.0.1");
  const CertificateFiles files(shown);
  std::optional<Responder> kept;
  TestSignal arrived;
  const auto server =
      start_server({.limits = {.drain_idle_timeout = milliseconds(50)}, .tls = files.options()},
                   [&](ReceivedRequest, Responder responder) {
                     kept.emplace(std::move(responder));
                     arrived.give();
                   });
  TlsClient idle(server->port(), shown.certificate);
  std::string answer;
  std::thread client([&] {
    TlsClient busy(server->port(), shown.certificate);
    answer = busy.ask(kTlsGet);
  });
  ASSERT_TRUE(arrived.wait());
  server->stop_accepting();
  std::move(*kept).send({.body = "last"});
  client.join();
  EXPECT_THAT(answer, AllOf(HasSubstr("Connection: close"), HasSubstr("last")));
  EXPECT_TRUE(server->wait_until_idle(std::chrono::steady_clock::now() + std::chrono::minutes(1)));
}

}  // namespace
}  // namespace headrace
