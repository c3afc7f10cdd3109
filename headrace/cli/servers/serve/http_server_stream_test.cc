// Bodies and answers that come in pieces.

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <thread>
#include <vector>

#include "headrace/cli/servers/serve/http_server.h"
#include "headrace/cli/servers/serve/raw_client_test.h"

namespace headrace {
namespace {

std::string some_bytes(std::size_t size) {
  std::string bytes(size, '\0');
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(i * 2'654'435'761U >> 13);
  return bytes;
}

std::string put_head(std::string_view length) {
  return concat("PUT /large HTTP/1.1\r\nHost: h\r\n", length, "\r\n\r\n");
}

// Gives each streamed request to a thread of its own.
class StreamingServer {
 public:
  using Handler = std::function<void(BodyStream* body, Responder responder)>;

  explicit StreamingServer(Handler handler, HttpServerLimits limits = {}) : handler_(std::move(handler)) {
    HttpServerOptions options{.listen = {"127.0.0.1:0"}};
    options.limits = limits;
    auto started = HttpServer::start(
        std::move(options),
        [](const RequestHead& head) {
          return HeadVerdict{.body_bytes_max = 64 << 20, .is_streamed = head.method() == "PUT"};
        },
        [this](ReceivedRequest request, Responder responder) {
          auto shared = std::make_shared<Responder>(std::move(responder));
          threads_.emplace_back([this, shared, stream = std::move(request.stream)] {
            handler_(stream.get(), std::move(*shared));
          });
        });
    EXPECT_TRUE(started);
    server_ = *std::move(started);
  }
  ~StreamingServer() {
    server_.reset();
    for (std::thread& thread : threads_) thread.join();
  }
  HttpServer* operator->() const { return server_.get(); }

 private:
  const Handler handler_;
  std::vector<std::thread> threads_;  // added to by the server's only thread
  std::unique_ptr<HttpServer> server_;
};

// The whole body, or why it did not come.
std::string take_all(BodyStream& body) {
  std::string all;
  while (true) {
    auto piece = body.take();
    if (!piece) return concat("error: ", piece.error().message);
    if (!*piece) return all;
    all += (*piece)->text();
  }
}

TEST(HttpServerStream, ABodyOfAnySizeComesWhole) {
  StreamingServer server(
      [&](BodyStream* body, Responder responder) { std::move(responder).send({.body = take_all(*body)}); });
  RawClient client(server->port());
  for (const std::size_t size : {0U, 1U, 1U << 20, (5U << 20) + 3}) {
    const std::string body = some_bytes(size);
    std::thread sender([&] { client.send(concat(put_head(concat("Content-Length: ", size)), body)); });
    EXPECT_EQ(body_of(client.answer()), body) << size;
    sender.join();
    std::thread chunks([&] {
      client.send(put_head("Transfer-Encoding: chunked"));
      for (std::size_t i = 0; i < size; i += 70'000) {
        const std::string_view chunk = std::string_view(body).substr(i, 70'000);
        std::string hex = hex64(chunk.size());
        client.send(concat(hex, "\r\n", chunk, "\r\n"));
      }
      client.send("0\r\n\r\n");
    });
    EXPECT_EQ(body_of(client.answer()), body) << size << " in chunks";
    chunks.join();
  }
}

TEST(HttpServerStream, ABodyThatIsCutShortIsAnError) {
  std::promise<std::string> taken;
  StreamingServer server([&](BodyStream* body, Responder responder) {
    taken.set_value(take_all(*body));
    std::move(responder).send({});
  });
  RawClient client(server->port());
  client.send(concat(put_head("Content-Length: 3000000"), some_bytes(2'500'000)));
  client.close();
  EXPECT_EQ(taken.get_future().get(), "error: the client has gone");
}

TEST(HttpServerStream, ABodyThatComesTooSlowlyOrIsTooLargeIsAnError) {
  HttpServerLimits limits;
  limits.transfer_timeout = std::chrono::milliseconds(100);
  StreamingServer server(
      [&](BodyStream* body, Responder responder) {
        std::move(responder).send({.status = 400, .body = take_all(*body)});
      },
      limits);
  RawClient slow(server->port());
  slow.send(concat(put_head("Content-Length: 3000000"), "x"));
  EXPECT_EQ(body_of(slow.answer()), "error: the body of the request came too slowly");
  EXPECT_TRUE(slow.is_ended());
  RawClient large(server->port());
  large.send(put_head("Content-Length: 100000000"));
  EXPECT_EQ(status_of(large.answer()), 413);
}

TEST(HttpServerStream, AnAnswerBeforeTheEndOfTheBodyEndsTheConnection) {
  StreamingServer server(
      [&](BodyStream*, Responder responder) { std::move(responder).send({.status = 503}); });
  RawClient client(server->port());
  client.send(concat(put_head("Content-Length: 3000000"), "x"));
  const std::string answer = client.answer();
  EXPECT_EQ(status_of(answer), 503);
  EXPECT_NE(answer.find("Connection: close"), answer.npos);
}

TEST(HttpServerStream, AnAnswerComesInPieces) {
  const std::string body = some_bytes((3 << 20) + 5);
  StreamingServer server([&](BodyStream*, Responder responder) {
    const auto stream = std::make_shared<PieceQueue<std::string>>();
    std::move(responder).send({.stream = stream, .stream_bytes = body.size()});
    for (std::size_t i = 0; i < body.size(); i += kBodyPieceBytes)
      EXPECT_TRUE(stream->put(body.substr(i, kBodyPieceBytes)));
    stream->end();
  });
  RawClient client(server->port());
  for (int i = 0; i < 3; ++i) {
    client.send("GET /a HTTP/1.1\r\nHost: h\r\n\r\n");
    EXPECT_EQ(body_of(client.answer()), body);
  }
}

TEST(HttpServerStream, AnAnswerThatBreaksOffIsNoWholeAnswer) {
  StreamingServer server([&](BodyStream*, Responder responder) {
    const auto stream = std::make_shared<PieceQueue<std::string>>();
    std::move(responder).send({.stream = stream, .stream_bytes = 10});
    EXPECT_TRUE(stream->put("12345"));
    stream->break_off({Code::kDataLoss, "the object was replaced"});
  });
  RawClient client(server->port());
  client.send("GET /a HTTP/1.1\r\nHost: h\r\n\r\n");
  const std::string answer = client.answer();
  EXPECT_NE(answer.find("Content-Length: 10"), answer.npos);
  EXPECT_LT(body_of(answer).size(), 10U);
  EXPECT_TRUE(client.is_ended());
}

TEST(HttpServerStream, AClientThatGoesEndsTheAnswer) {
  std::promise<void> began;
  std::promise<Code> ended;
  StreamingServer server([&](BodyStream*, Responder responder) {
    began.set_value();
    const auto stream = std::make_shared<PieceQueue<std::string>>();
    std::move(responder).send({.stream = stream, .stream_bytes = std::uint64_t{1} << 40});
    while (true) {
      const Status put = stream->put(std::string(kBodyPieceBytes, 'x'));
      if (!put) return ended.set_value(put.error().code);
    }
  });
  RawClient client(server->port());
  client.send("GET /a HTTP/1.1\r\nHost: h\r\n\r\n");
  began.get_future().get();
  client.reset();
  EXPECT_EQ(ended.get_future().get(), Code::kCancelled);
}

TEST(HttpServerStream, AServerThatEndsEndsStreams) {
  std::promise<void> began;
  std::atomic<int> broken = 0;
  {
    StreamingServer server([&](BodyStream* body, Responder responder) {
      began.set_value();
      broken += take_all(*body).starts_with("error") ? 1 : 0;
      const auto stream = std::make_shared<PieceQueue<std::string>>();
      std::move(responder).send({.stream = stream, .stream_bytes = 100 << 20});
      while (stream->put(std::string(kBodyPieceBytes, 'x'))) continue;
      ++broken;
    });
    RawClient client(server->port());
    client.send(concat(put_head("Content-Length: 3000000"), "x"));
    began.get_future().get();
  }
  EXPECT_EQ(broken, 2);
}

}  // namespace
}  // namespace headrace
