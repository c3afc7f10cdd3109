#include "headrace/net/ignite/message_stream.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <vector>

namespace headrace::ignite {
namespace {

/// Over a socket that can always be written to; receiving gives the states in turn, and then kWantRead.
class ReceivingStream final : public ByteStream {
 public:
  ReceivingStream(int socket, std::vector<IoAttempt::State> states)
      : socket_(socket), states_(std::move(states)) {}
  ~ReceivingStream() override { ::close(socket_); }
  IoAttempt try_receive(MutableBytesView) override {
    return {next_ < states_.size() ? states_[next_++] : IoAttempt::State::kWantRead};
  }
  IoAttempt try_send(BytesView data) override { return {IoAttempt::State::kDone, data.size()}; }
  int fd() const override { return socket_; }

 private:
  const int socket_;
  const std::vector<IoAttempt::State> states_;
  std::size_t next_ = 0;
};

TEST(MessageStream, WaitsForWritingOnlyAsLongAsReceivingNeedsIt) {
  int sockets[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, sockets), 0);
  const std::unique_ptr<MessageStream> stream =
      *MessageStream::create(std::make_unique<ReceivingStream>(
                                 sockets[0], std::vector<IoAttempt::State>{IoAttempt::State::kWantWrite}),
                             BufferPool::create(), 1000);
  ASSERT_FALSE(stream->try_receive()->has_value());
  ASSERT_FALSE(stream->try_receive()->has_value());
  // Nothing comes, so only the time can end the wait; the socket could be written to all the while.
  const MessageStream::Time until = std::chrono::steady_clock::now() + std::chrono::milliseconds(50);
  ASSERT_TRUE(stream->wait(until));
  EXPECT_GE(std::chrono::steady_clock::now(), until);
  ::close(sockets[1]);
}

}  // namespace
}  // namespace headrace::ignite
