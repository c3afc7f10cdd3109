#include "headrace/net/http/http_proxy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "headrace/base/text.h"
#include "headrace/net/http/http_client.h"
#include "headrace/net/http/http_test_server.h"
#include "headrace/os/file_descriptor.h"

namespace headrace {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

Environment with(std::map<std::string, std::string, std::less<>> variables) {
  return {.variables = std::move(variables)};
}

HttpEndpoint endpoint_of(std::string_view text) { return *parse_http_endpoint(text); }

TEST(HttpProxies, AreReadFromTheVariables) {
  const auto none = http_proxies_from(with({}));
  ASSERT_TRUE(none);
  EXPECT_EQ(none->of(endpoint_of("https://store.example")), nullptr);

  const auto both = http_proxies_from(with({{"http_proxy", "plain.example:3128"},
                                            {"HTTP_PROXY", "http://not-taken:1"},
                                            {"HTTPS_PROXY", "http://me:p%40ss@secure.example"}}));
  ASSERT_TRUE(both);
  const HttpProxy* plain = both->of(endpoint_of("http://store.example:9000"));
  ASSERT_NE(plain, nullptr);
  EXPECT_EQ(plain->endpoint.text(), "http://plain.example:3128");
  EXPECT_EQ(plain->source, "http_proxy");
  EXPECT_TRUE(plain->authorization.empty());
  const HttpProxy* secure = both->of(endpoint_of("https://store.example"));
  ASSERT_NE(secure, nullptr);
  EXPECT_EQ(secure->endpoint.text(), "http://secure.example:1080");
  EXPECT_EQ(secure->authorization, "Basic bWU6cEBzcw==") << "me:p@ss";
}

TEST(HttpProxies, AreNotTakenForThisMachineNorForWhatNoProxyNames) {
  const auto proxies = http_proxies_from(with(
      {{"https_proxy", "proxy:1"}, {"NO_PROXY", "Direct.example, .inside.example,10.0.0.7:9000,[fd00::7]"}}));
  ASSERT_TRUE(proxies);
  for (const char* direct :
       {"https://direct.example", "https://a.direct.example", "https://b.inside.example",
        "https://10.0.0.7:9000", "https://[fd00::7]:9000", "https://localhost:9000", "https://127.0.0.1:1"}) {
    EXPECT_EQ(proxies->of(endpoint_of(direct)), nullptr) << direct;
  }
  for (const char* far : {"https://notdirect.example", "https://10.0.0.7:9001", "https://example"}) {
    EXPECT_NE(proxies->of(endpoint_of(far)), nullptr) << far;
  }
  EXPECT_EQ(http_proxies_from(with({{"https_proxy", "proxy:1"}, {"no_proxy", "*"}}))
                ->of(endpoint_of("https://a.example")),
            nullptr);
}

TEST(HttpProxies, WhatIsNoProxyIsRefusedWithoutShowingThePassword) {
  for (const char* value : {"https://proxy:1", "socks5://me:canary@proxy:1", "http://me:canary@", "proxy:0",
                            "http://me:canary@proxy/path", "http://m%ze:canary@proxy"}) {
    const auto refused = http_proxies_from(with({{"HTTPS_PROXY", value}}));
    ASSERT_FALSE(refused) << value;
    EXPECT_EQ(refused.error().code, Code::kInvalidArgument);
    EXPECT_THAT(refused.error().message, AllOf(HasSubstr("HTTPS_PROXY"), Not(HasSubstr("canary"))));
  }
}

HttpClientOptions through(const HttpEndpoint& proxy, std::string authorization = "") {
  HttpClientOptions options{.tls = {.verify = false}};
  options.proxies.for_http = {proxy, authorization, "HTTP_PROXY"};
  options.proxies.for_https = {proxy, authorization, "HTTPS_PROXY"};
  return options;
}

TEST(HttpProxies, APlainRequestIsHandedOnWithTheWholeUrl) {
  std::mutex mutex;
  std::vector<std::string> seen;
  HttpTestServer proxy([&](const TestHttpRequest& request) {
    const std::scoped_lock lock(mutex);
    seen.push_back(
        concat(request.target, ' ', request.header("Host"), ' ', request.header("Proxy-Authorization")));
    return test_reply(200, "x");
  });
  HttpClient client(through(proxy.endpoint(), "Basic bWU6cGFzcw=="));
  const HttpRequest request{.endpoint = endpoint_of("http://nowhere.invalid:9000"), .target = "/bucket/key"};
  for (int i = 0; i < 2; ++i) {
    const auto answer = client.perform(request);
    ASSERT_TRUE(answer) << answer.error().message;
  }
  const std::string expected =
      "http://nowhere.invalid:9000/bucket/key nowhere.invalid:9000 Basic bWU6cGFzcw==";
  EXPECT_THAT(seen, ElementsAre(expected, expected));
  EXPECT_EQ(proxy.accepted_connections(), 1) << "it is kept";
}

TEST(HttpProxies, WhoWantsAPasswordSaysSo) {
  HttpTestServer proxy([&](const TestHttpRequest&) { return test_reply(407, "who are you?"); });
  HttpClient client(through(proxy.endpoint()));
  for (const char* store : {"http://store.example", "https://store.example"}) {
    const auto refused = client.perform({.endpoint = endpoint_of(store)});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::kUnauthenticated);
    EXPECT_THAT(refused.error().message, HasSubstr("requires a name and a password"));
  }
}

TEST(HttpProxies, ATunnelThatIsRefusedIsNotTakenForTheServersAnswer) {
  HttpTestServer proxy([&](const TestHttpRequest&) { return test_reply(403, "no"); });
  HttpClient client(through(proxy.endpoint()));
  const auto refused = client.perform({.endpoint = endpoint_of("https://store.example")});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kUnavailable);
  EXPECT_THAT(refused.error().message, AllOf(HasSubstr("403"), HasSubstr("HTTPS_PROXY")));
}

// Makes a tunnel to a port of this machine, whatever name it is asked for.
class TunnellingProxy {
 public:
  explicit TunnellingProxy(std::uint16_t server)
      : server_(server), listener_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address = local(0);
    socklen_t size = sizeof address;
    EXPECT_EQ(::bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(::listen(listener_.get(), 1), 0);
    EXPECT_EQ(::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { serve(); });
  }
  ~TunnellingProxy() {
    ::shutdown(listener_.get(), SHUT_RDWR);
    thread_.join();
  }

  HttpEndpoint endpoint() const { return {.tls = false, .host = "127.0.0.1", .port = port_}; }
  std::string asked() const { return asked_; }  // once a request has been answered

 private:
  static sockaddr_in local(std::uint16_t port) {
    return {.sin_family = AF_INET,
            .sin_port = htons(port),
            .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)},
            .sin_zero = {}};
  }

  void serve() {
    const FileDescriptor client(::accept(listener_.get(), nullptr, nullptr));
    char byte = 0;
    while (!asked_.ends_with("\r\n\r\n") && ::recv(client.get(), &byte, 1, 0) == 1) asked_ += byte;
    const FileDescriptor server(::socket(AF_INET, SOCK_STREAM, 0));
    const sockaddr_in to = local(server_);
    if (::connect(server.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0) return;
    write_all(client, as_bytes("HTTP/1.1 200 Connection established\r\n\r\n"));
    std::array<pollfd, 2> both = {pollfd{client.get(), POLLIN, 0}, pollfd{server.get(), POLLIN, 0}};
    while (::poll(both.data(), both.size(), 20'000) > 0) {
      for (std::size_t i = 0; i < 2; ++i) {
        if (both[i].revents == 0) continue;
        std::array<std::byte, 4096> piece{};
        const ssize_t count = ::recv(both[i].fd, piece.data(), piece.size(), 0);
        if (count <= 0) return;
        write_all(i == 0 ? server : client, BytesView(piece).first(static_cast<std::size_t>(count)));
      }
    }
  }

  const std::uint16_t server_;
  const FileDescriptor listener_;
  std::uint16_t port_ = 0;
  std::string asked_;
  std::thread thread_;
};

TEST(HttpProxies, TlsGoesThroughATunnelWhichTheProxyCannotRead) {
  HttpTestServer server([&](const TestHttpRequest& request) { return test_reply(200, request.target); },
                        {.tls = make_test_certificate("DNS:store.example")});
  TunnellingProxy proxy(server.endpoint().port);
  {
    HttpClient client(through(proxy.endpoint(), "Basic bWU6cGFzcw=="));
    for (const char* target : {"/first", "/second"}) {
      const auto answer =
          client.perform({.endpoint = endpoint_of("https://store.example:9443"), .target = target});
      ASSERT_TRUE(answer) << answer.error().message;
      EXPECT_EQ(as_text(answer->body), target);
    }
  }
  EXPECT_EQ(proxy.asked(),
            "CONNECT store.example:9443 HTTP/1.1\r\nHost: store.example:9443\r\n"
            "Proxy-Authorization: Basic bWU6cGFzcw==\r\n\r\n");
  EXPECT_EQ(server.accepted_connections(), 1);
}

TEST(HttpProxies, AnAddressMayBeOfIpv6) {
  const auto proxy_of = [](const char* value) {
    return http_proxies_from(with({{"http_proxy", value}}))->for_http->endpoint.text();
  };
  EXPECT_EQ(proxy_of("[fd00::7]"), "http://[fd00::7]:1080");
  EXPECT_EQ(proxy_of("HTTP://[fd00::7]:3128"), "http://[fd00::7]:3128");
  EXPECT_EQ(proxy_of("http://proxy/"), "http://proxy:1080");
}

TEST(HttpProxies, SaysWhatIsWrongWithAVariable) {
  const auto message = [](const char* name, const char* value) {
    return http_proxies_from(with({{name, value}})).error().message;
  };
  EXPECT_THAT(message("http_proxy", "socks5://p"), HasSubstr("http_proxy is not a proxy"));
  EXPECT_THAT(message("http_proxy", "socks5://p"), HasSubstr("its scheme is not http"));
  EXPECT_THAT(message("HTTPS_PROXY", "a%z:b@p"), HasSubstr("name or password is not percent-encoded"));
  EXPECT_THAT(message("HTTPS_PROXY", "p:0"), HasSubstr("no host, or no port number"));
  EXPECT_THAT(message("HTTPS_PROXY", "p/path"), HasSubstr("no host, or no port number"));
}

TEST(HttpProxies, EmptyNamesInNoProxyAreNone) {
  const auto proxies =
      http_proxies_from(with({{"http_proxy", "p"}, {"no_proxy", ", ,.,a.example,[,b.example,"}}));
  ASSERT_TRUE(proxies);
  EXPECT_THAT(proxies->direct, ElementsAre("a.example", "[", "b.example"));
  EXPECT_NE(proxies->of(endpoint_of("http://c.example")), nullptr);
}

TEST(HttpProxies, AProxyThatCannotBeReachedIsNamed) {
  HttpEndpoint gone;
  {
    HttpTestServer proxy([&](const TestHttpRequest&) { return test_reply(200); });
    gone = proxy.endpoint();
  }
  HttpClient client(through(gone));
  for (const auto& [store, variable] :
       {std::pair("http://store.example", "HTTP_PROXY"), {"https://store.example", "HTTPS_PROXY"}}) {
    const auto refused = client.perform({.endpoint = endpoint_of(store)});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::kUnavailable);
    EXPECT_EQ(refused.error().message, concat("GET to ", store, ": cannot connect to ", gone.text(),
                                              ", the proxy of ", variable, ": Connection refused"));
  }
}

TEST(HttpProxies, AnswersOfAServerBehindAProxyAreItsOwn) {
  HttpTestServer proxy([&](const TestHttpRequest&) { return test_reply(403, "no"); });
  HttpClient client(through(proxy.endpoint()));
  const auto answer = client.perform({.endpoint = endpoint_of("http://store.example")});
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->status, 403);
}

}  // namespace
}  // namespace headrace
