#include "headrace/net/tls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <string>
#include <thread>

#include "headrace/net/http/http_client.h"
#include "headrace/net/http/http_test_server.h"
#include "headrace/net/temporary_file_test.h"
#include "headrace/os/file_descriptor.h"

namespace headrace {
namespace {

using testing::HasSubstr;

TestHttpReply echo(const TestHttpRequest& request) { return test_reply(200, request.body); }

Result<HttpResponse> ask(const HttpTestServer& server, const TlsOptions& tls,
                         std::string_view host = "127.0.0.1", BytesView body = {}) {
  HttpClient client({.tls = tls});
  HttpEndpoint endpoint = server.endpoint();
  endpoint.host = host;
  return client.perform({.endpoint = endpoint, .method = "PUT", .body = body});
}

TEST(Tls, CarriesBodiesBothWays) {
  const TestCertificate certificate = make_test_certificate("IP:127.0.0.1,DNS:localhost");
  HttpTestServer server(echo, {.tls = certificate});
  const TemporaryFile authorities(certificate.certificate);
  Bytes body(3 << 20);
  for (std::size_t i = 0; i < body.size(); ++i) body[i] = static_cast<std::byte>(i * 7 >> 3);
  for (const char* host : {"127.0.0.1", "localhost"}) {
    const auto response = ask(server, {.ca_file = authorities.path()}, host, body);
    ASSERT_TRUE(response) << response.error().message;
    EXPECT_TRUE(response->body == body);
  }
}

TEST(Tls, KeepsItsConnectionBetweenRequests) {
  const TestCertificate certificate = make_test_certificate("IP:127.0.0.1");
  HttpTestServer server(echo, {.tls = certificate});
  HttpClient client({.tls = {.verify = false}});
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(client.perform({.endpoint = server.endpoint()}));
  EXPECT_EQ(server.accepted_connections(), 1);
}

TEST(Tls, RefusesACertificateItDoesNotTrust) {
  const TestCertificate good = make_test_certificate("IP:127.0.0.1");
  const TemporaryFile authorities(good.certificate);
  const auto refused_because = [&](const TestCertificate& shown, const std::string& why) {
    HttpTestServer server(echo, {.tls = shown});
    const TemporaryFile itself(shown.certificate);
    const bool foreign = why == "self-signed certificate";
    const auto response = ask(server, {.ca_file = foreign ? authorities.path() : itself.path()});
    ASSERT_FALSE(response) << why;
    EXPECT_EQ(response.error().code, Code::kUnauthenticated);
    EXPECT_THAT(response.error().message, HasSubstr(why));
    const auto unverified = ask(server, {.verify = false});
    EXPECT_TRUE(unverified) << "must be accepted where verification is off: " << why;
  };
  refused_because(make_test_certificate("IP:127.0.0.1"), "self-signed certificate");
  refused_because(make_test_certificate("IP:127.0.0.2"), "IP address mismatch");
  refused_because(make_test_certificate("DNS:elsewhere.example"), "IP address mismatch");
  refused_because(make_test_certificate("IP:127.0.0.1", true), "certificate has expired");
}

TEST(Tls, ChecksTheHostName) {
  const TestCertificate certificate = make_test_certificate("DNS:elsewhere.example,DNS:*host");
  HttpTestServer server(echo, {.tls = certificate});
  const TemporaryFile authorities(certificate.certificate);
  const auto response = ask(server, {.ca_file = authorities.path()}, "localhost");
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().code, Code::kUnauthenticated);
  EXPECT_THAT(response.error().message, HasSubstr("hostname mismatch"));
}

TEST(Tls, RefusesVersionsBefore12) {
  HttpTestServer server(echo, {.tls = make_test_certificate("IP:127.0.0.1"), .only_tls_1_1 = true});
  const auto response = ask(server, {.verify = false});
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().code, Code::kUnavailable);
}

TEST(Tls, AServerWithoutTlsIsTold) {
  // As servers do, it answers bytes that it cannot read.
  const FileDescriptor listener(::socket(AF_INET, SOCK_STREAM, 0));
  sockaddr_in address{
      .sin_family = AF_INET, .sin_port = 0, .sin_addr = {htonl(INADDR_LOOPBACK)}, .sin_zero = {}};
  socklen_t size = sizeof address;
  ASSERT_EQ(::bind(listener.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(::listen(listener.get(), 1), 0);
  ASSERT_EQ(::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
  const std::jthread server([&] {
    const FileDescriptor client(::accept(listener.get(), nullptr, nullptr));
    EXPECT_TRUE(write_all(client, as_bytes("HTTP/1.1 400 Bad Request\r\n\r\n")));
    std::array<char, 4096> hello;
    while (::read(client.get(), hello.data(), hello.size()) > 0) continue;
  });
  HttpClient client({.tls = {.verify = false}});
  const HttpEndpoint endpoint{.tls = true, .host = "127.0.0.1", .port = ntohs(address.sin_port)};
  const auto response = client.perform({.endpoint = endpoint});
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().code, Code::kUnavailable);
  EXPECT_THAT(response.error().message, HasSubstr("should begin with http://"));
}

TEST(Tls, ByDefaultTrustsTheSystemOnly) {
  HttpTestServer server(echo, {.tls = make_test_certificate("IP:127.0.0.1")});
  const auto response = ask(server, {});
  ASSERT_FALSE(response);
  // kFailedPrecondition: this machine has no authorities at all.
  EXPECT_THAT(response.error().code, testing::AnyOf(Code::kUnauthenticated, Code::kFailedPrecondition));
}

TEST(Tls, NamesAnAuthorityFileItCannotRead) {
  HttpTestServer server(echo, {.tls = make_test_certificate("IP:127.0.0.1")});
  const TemporaryFile nonsense("no certificate");
  for (const std::string& path : {std::string("/nonexistent.pem"), nonsense.path()}) {
    const auto response = ask(server, {.ca_file = path});
    ASSERT_FALSE(response);
    EXPECT_EQ(response.error().code, Code::kFailedPrecondition);
    EXPECT_THAT(response.error().message, HasSubstr(path));
  }
}

TEST(Tls, ShowsItsCertificateToAServerThatWantsOne) {
  const TestCertificate shown = make_test_certificate("IP:127.0.0.1");
  const TestCertificate own = make_test_certificate("DNS:client.example");
  const TestCertificate secret = make_test_certificate("DNS:client.example", false, "open sesame");
  const TemporaryFile authorities(shown.certificate);
  const TemporaryFile certificate(own.certificate);
  const TemporaryFile key(own.key);
  const TemporaryFile both(own.certificate + own.key);
  const TemporaryFile secret_both(secret.certificate + secret.key);
  HttpTestServer server(echo, {.tls = shown, .client_certificate = own.certificate});
  HttpTestServer secret_server(echo, {.tls = shown, .client_certificate = secret.certificate});
  const TlsOptions base{.ca_file = authorities.path()};

  TlsOptions two_files = base;
  two_files.certificate_file = certificate.path();
  two_files.key_file = key.path();
  EXPECT_TRUE(ask(server, two_files)) << "certificate and key in two files";
  TlsOptions one_file = base;
  one_file.certificate_file = both.path();
  EXPECT_TRUE(ask(server, one_file)) << "both in one file";
  TlsOptions encrypted = base;
  encrypted.certificate_file = secret_both.path();
  encrypted.key_password = "open sesame";
  EXPECT_TRUE(ask(secret_server, encrypted)) << "a key with a password";

  const auto nobody = ask(server, base);
  ASSERT_FALSE(nobody);
  EXPECT_EQ(nobody.error().code, Code::kUnavailable);
  EXPECT_THAT(nobody.error().message, HasSubstr("the server requires a client certificate"));
  EXPECT_FALSE(ask(server, encrypted)) << "a certificate that the server does not trust";
}

TEST(Tls, NamesAClientCertificateItCannotUse) {
  HttpTestServer server(echo, {.tls = make_test_certificate("IP:127.0.0.1")});
  const TestCertificate own = make_test_certificate("DNS:client.example");
  const TestCertificate secret = make_test_certificate("DNS:client.example", false, "open sesame");
  const TemporaryFile certificate(own.certificate);
  const TemporaryFile foreign_key(secret.key);
  const TemporaryFile other_key(make_test_certificate("DNS:client.example").key);
  const TemporaryFile secret_both(secret.certificate + secret.key);
  const auto refused = [&](TlsOptions tls, const std::string& names) {
    tls.verify = false;
    const auto response = ask(server, tls);
    ASSERT_FALSE(response) << names;
    EXPECT_EQ(response.error().code, Code::kFailedPrecondition);
    EXPECT_THAT(response.error().message, HasSubstr(names));
    EXPECT_THAT(response.error().message, testing::Not(HasSubstr("canary")));
  };
  refused({.certificate_file = "/nonexistent.pem"}, "/nonexistent.pem");
  refused({.certificate_file = certificate.path()}, certificate.path());
  refused({.certificate_file = certificate.path(), .key_file = other_key.path()}, other_key.path());
  refused({.certificate_file = secret_both.path()}, secret_both.path());
  refused({.certificate_file = secret_both.path(), .key_password = "canary"}, secret_both.path());
  refused({.key_file = foreign_key.path()}, foreign_key.path());
}

TEST(Tls, SaysSoWhenTheServerSpeaksPlainHttp) {
  HttpTestServer server(echo);
  HttpEndpoint endpoint = server.endpoint();
  endpoint.tls = true;
  HttpClient client({.tls = {.verify = false}});
  const auto response =
      client.perform({.endpoint = endpoint, .stall_timeout = std::chrono::milliseconds(200)});
  ASSERT_FALSE(response);
}

TEST(Tls, WithoutVerificationNoAuthoritiesAreRead) {
  EXPECT_TRUE(TlsContext::create({.verify = false, .ca_file = "/nonexistent.pem"}));
  EXPECT_FALSE(TlsContext::create({.verify = true, .ca_file = "/nonexistent.pem"}));
}

}  // namespace
}  // namespace headrace
