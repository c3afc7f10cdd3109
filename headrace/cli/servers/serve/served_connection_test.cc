// Streams of a connection whose socket and client are the test.

#include "headrace/cli/servers/serve/served_connection.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "headrace/base/text.h"

namespace headrace {
namespace {

TEST(PieceQueue, LookingForAPieceThatIsNotThereTellsNobody) {
  PieceQueue<int> queue;
  int told = 0;
  queue.on_change([&] { ++told; });
  EXPECT_EQ(queue.take_now(), std::nullopt);
  EXPECT_EQ(told, 0);
  ASSERT_TRUE(queue.put(1));
  EXPECT_EQ(queue.take_now(), 1);
  EXPECT_EQ(told, 2);
}

// The test's thread is the one of the loop.
class HandTransport final : public Transport {
 public:
  void receive(MutableBytesView target) override { asked = target; }
  std::size_t send_now(BytesView, BytesView) override { return 0; }
  void send(BytesView first, BytesView second) override { sending = first.size() + second.size(); }
  void end_sending() override {}
  void close() override { is_closed = true; }
  bool wake(std::shared_ptr<TransportUser>) override {
    is_woken = true;
    return !has_ended;
  }
  bool is_own_thread() const override { return std::this_thread::get_id() == thread_; }

  std::optional<MutableBytesView> asked;  // by a receive that goes on
  std::size_t sending = 0;
  bool is_closed = false;
  std::atomic<bool> is_woken = false;
  std::atomic<bool> has_ended = false;

 private:
  const std::thread::id thread_ = std::this_thread::get_id();
};

class Conversation : public testing::Test {
 protected:
  Conversation() {
    auto transport = std::make_unique<HandTransport>();
    transport_ = transport.get();
    connection_->attach(std::move(transport));
    connection_->opened("");
  }
  ~Conversation() override { connection_->abandon(); }

  void give(std::string_view bytes) {
    while (!bytes.empty()) {
      ASSERT_TRUE(transport_->asked);
      const MutableBytesView room = *std::exchange(transport_->asked, std::nullopt);
      const std::size_t size = std::min(room.size(), bytes.size());
      ASSERT_GT(size, 0U);
      std::memcpy(room.data(), bytes.data(), size);
      bytes.remove_prefix(size);
      connection_->received(size);
    }
  }
  void begin_upload(std::uint64_t bytes) {
    give(concat("PUT /a HTTP/1.1\r\nHost: h\r\nContent-Length: ", bytes, "\r\n\r\n"));
    ASSERT_EQ(streams_.size(), 1U);
  }
  // Gives as many bytes as the connection wants now. Returns -1 if it wants none, since 0 would end it.
  std::int64_t give_what_is_asked() {
    if (transport_->is_woken.exchange(false)) connection_->woken();
    if (!transport_->asked) return -1;
    const std::size_t size = std::exchange(transport_->asked, std::nullopt)->size();
    if (size > 0) connection_->received(size);
    return static_cast<std::int64_t>(size);
  }

  std::vector<std::shared_ptr<BodyStream>> streams_;
  std::vector<Responder> responders_;
  const std::shared_ptr<SharedByConnections> shared_ = std::make_shared<SharedByConnections>(
      HttpServerLimits{},
      [](const RequestHead& head) {
        return HeadVerdict{.body_bytes_max = std::uint64_t{1} << 40, .is_streamed = head.method() == "PUT"};
      },
      [this](ReceivedRequest request, Responder responder) {
        streams_.push_back(std::move(request.stream));
        responders_.push_back(std::move(responder));
      });
  const std::shared_ptr<ServedConnection> connection_ =
      std::make_shared<ServedConnection>(shared_, "127.0.0.1:1");
  HandTransport* transport_ = nullptr;
};

TEST_F(Conversation, APieceThatIsTakenAtAnyMomentDoesNotEndTheBody) {
  constexpr std::int64_t kPieces = 5'000, kBytes = kPieces * static_cast<std::int64_t>(kBodyPieceBytes);
  begin_upload(kBytes);
  std::int64_t taken = 0, given = 0;
  std::atomic<bool> is_all_given = false;
  std::thread consumer([&] {
    for (int i = 0; i < kPieces; ++i) {
      while (!streams_[0]->is_full() && !is_all_given) std::this_thread::yield();
      // From just after the stream became full to well after the connection has seen that.
      std::atomic<int> passed = 0;
      while (++passed < i % 100) continue;
      const auto piece = streams_[0]->take();
      if (!piece || !*piece) return;
      taken += static_cast<std::int64_t>((*piece)->size());
    }
  });
  bool is_empty_asked = false;
  while (given < kBytes && !is_empty_asked) {
    const std::int64_t size = give_what_is_asked();
    is_empty_asked = size == 0;
    if (size < 0) std::this_thread::yield();
    given += std::max<std::int64_t>(size, 0);
  }
  is_all_given = true;
  if (is_empty_asked) connection_->abandon();
  consumer.join();
  EXPECT_FALSE(is_empty_asked) << "after " << given << " bytes";
  EXPECT_EQ(taken, kBytes);
}

TEST_F(Conversation, ABodyThatNobodyTakesIsReceivedUpToItsBound) {
  begin_upload(std::uint64_t{1} << 30);
  std::uint64_t given = 0;
  const auto give_all = [&] {
    for (std::int64_t size = give_what_is_asked(); size > 0; size = give_what_is_asked())
      given += static_cast<std::uint64_t>(size);
    return given;
  };
  EXPECT_EQ(give_all(), 2 * kBodyPieceBytes);
  EXPECT_EQ(shared_->budget->used_bytes(), kStreamBytes);
  const auto piece = streams_[0]->take();  // and is worked on
  ASSERT_TRUE(piece && *piece);
  EXPECT_EQ(give_all(), 3 * kBodyPieceBytes);
  EXPECT_LE(given + kBodyPieceBytes, kStreamBytes);
}

TEST_F(Conversation, AStreamCountsAsItsSizeOrAsItsBound) {
  begin_upload(100);
  EXPECT_EQ(shared_->budget->used_bytes(), 100U);
  connection_->abandon();
  EXPECT_EQ(shared_->budget->used_bytes(), 0U);
}

TEST_F(Conversation, AnAnswerThatNobodyReadsIsTakenUpToItsBound) {
  give("GET /a HTTP/1.1\r\nHost: h\r\n\r\n");
  const auto stream = std::make_shared<PieceQueue<std::string>>();
  std::move(responders_.at(0)).send({.stream = stream, .stream_bytes = std::uint64_t{1} << 30});
  connection_->sent(transport_->sending);  // the head
  for (int i = 0; i < 3; ++i) {
    ASSERT_FALSE(stream->is_full());
    ASSERT_TRUE(stream->put(std::string(kBodyPieceBytes, 'x')));
    connection_->woken();
  }
  EXPECT_EQ(transport_->sending, kBodyPieceBytes);
  EXPECT_TRUE(stream->is_full());
}

TEST_F(Conversation, AClientThatHasEndedIsNotWaitedForInTheBodyThatFollows) {
  give("GET /a HTTP/1.1\r\nHost: h\r\n\r\nPUT /b HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nabc");
  connection_->receive_ended(true);
  std::move(responders_.at(0)).send({});
  connection_->sent(transport_->sending);
  ASSERT_EQ(streams_.size(), 2U);
  ASSERT_TRUE(transport_->is_closed);
  EXPECT_EQ(streams_[1]->take().error().code, Code::kCancelled);
}

TEST_F(Conversation, AWholeBodyBeforeTheEndOfTheClientCounts) {
  give("GET /a HTTP/1.1\r\nHost: h\r\n\r\nPUT /b HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc");
  connection_->receive_ended(true);
  std::move(responders_.at(0)).send({});
  connection_->sent(transport_->sending);
  ASSERT_EQ(streams_.size(), 2U);
  const auto piece = streams_[1]->take();
  ASSERT_TRUE(piece && *piece);
  EXPECT_EQ((*piece)->text(), "abc");
  EXPECT_FALSE(transport_->is_closed);
}

TEST_F(Conversation, AnAnswerAfterTheEndOfTheServerTouchesNothingButItsOwnStream) {
  begin_upload(100);
  transport_->has_ended = true;
  const auto stream = std::make_shared<PieceQueue<std::string>>();
  std::thread worker([&] {
    std::move(responders_.at(0)).send({.stream = stream, .stream_bytes = 10});
    EXPECT_FALSE(stream->put("1234567890"));
  });
  worker.join();
  EXPECT_FALSE(streams_[0]->is_over());  // that is for the loop, which closes the connection
}

}  // namespace
}  // namespace headrace
