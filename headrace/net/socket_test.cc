#include "headrace/net/socket.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <array>
#include <limits>

#include "headrace/net/byte_stream.h"

namespace headrace {
namespace {

using State = IoAttempt::State;

std::array<FileDescriptor, 2> socket_pair() {
  std::array<int, 2> both{};
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, both.data()), 0);
  return {FileDescriptor(both[0]), FileDescriptor(both[1])};
}

int option_of(int fd, int level, int name) {
  int value = 0;
  socklen_t size = sizeof value;
  EXPECT_EQ(::getsockopt(fd, level, name, &value, &size), 0);
  return value;
}

TEST(Socket, AddressesAreEqualIfHostAndPortAre) {
  const auto address = [](const char* host, std::uint16_t port) { return resolve(host, port)->front(); };
  EXPECT_TRUE(address("10.0.0.1", 80) == address("10.0.0.1", 80));
  EXPECT_FALSE(address("10.0.0.1", 80) == address("10.0.0.1", 81));
  EXPECT_FALSE(address("10.0.0.1", 80) == address("10.0.0.2", 80));
  EXPECT_FALSE(address("::1", 80) == address("127.0.0.1", 80));
  EXPECT_TRUE(address("::1", 80).is_ipv6());
  EXPECT_FALSE(address("127.0.0.1", 80).is_ipv6());
  EXPECT_EQ(resolve("127.0.0.1", 80)->size(), 1U);
  const auto unknown = resolve("no-such-host.invalid", 80);
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, Code::kUnavailable);
  EXPECT_THAT(unknown.error().message, testing::HasSubstr("cannot resolve \"no-such-host.invalid\": "));
}

TEST(Socket, BytesAreReceivedOrWaitedForUntilTheEnd) {
  auto [here, there] = socket_pair();
  Bytes target(8);
  EXPECT_EQ(receive_from_socket(here.get(), target).state, State::kWantRead);
  const IoAttempt sent = send_to_socket(there.get(), as_bytes("abc"));
  EXPECT_EQ(sent.state, State::kDone);
  EXPECT_EQ(sent.bytes, 3U);
  EXPECT_EQ(send_to_socket(there.get(), {}).state, State::kDone);
  const IoAttempt received = receive_from_socket(here.get(), target);
  EXPECT_EQ(received.state, State::kDone);
  EXPECT_EQ(received.bytes, 3U);
  there = FileDescriptor();
  EXPECT_EQ(receive_from_socket(here.get(), target).state, State::kEnd);
  const IoAttempt broken = send_to_socket(here.get(), as_bytes("x"));
  EXPECT_EQ(broken.state, State::kFailed);
  EXPECT_EQ(broken.why, "Broken pipe");
  const IoAttempt closed = receive_from_socket(-1, target);
  EXPECT_EQ(closed.state, State::kFailed);
  EXPECT_EQ(closed.why, "Bad file descriptor");
}

TEST(Socket, AFullOneWantsToBeWaitedFor) {
  const auto [here, there] = socket_pair();
  const Bytes much(1 << 20);
  IoAttempt sent = send_to_socket(here.get(), much);
  for (int i = 0; i < 1'000 && sent.state == State::kDone; ++i) sent = send_to_socket(here.get(), much);
  EXPECT_EQ(sent.state, State::kWantWrite);
}

TEST(Socket, ConnectsWithoutDelayAndWithoutWaiting) {
  const FileDescriptor listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(::listen(listener.get(), 4), 0);
  sockaddr_in address{};
  socklen_t size = sizeof address;
  ASSERT_EQ(::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
  const auto socket = start_connecting(resolve("127.0.0.1", ntohs(address.sin_port))->front());
  ASSERT_TRUE(socket);
  EXPECT_NE(option_of(socket->get(), IPPROTO_TCP, TCP_NODELAY), 0);
  Bytes target(1);
  while (!is_connected(socket->get())) ASSERT_TRUE(connect_outcome(socket->get()));
  EXPECT_EQ(receive_from_socket(socket->get(), target).state, State::kWantRead);
  const auto second = duplicate(*socket);
  ASSERT_TRUE(second);
  EXPECT_TRUE(is_connected(second->get()));
}

TEST(Socket, AFailureIsUnavailable) {
  SocketAddress nonsense = resolve("::1", 80)->front();
  nonsense.storage.fill(std::byte{57});
  const auto family = start_connecting(nonsense);
  ASSERT_FALSE(family);
  EXPECT_EQ(family.error().code, Code::kUnavailable);
  const auto broadcast = start_connecting(resolve("255.255.255.255", 80)->front());
  ASSERT_FALSE(broadcast);
  EXPECT_EQ(broadcast.error().code, Code::kUnavailable);
  EXPECT_FALSE(is_connected(-1));
  EXPECT_EQ(connect_outcome(-1).error().message, "Bad file descriptor");
  const auto none = duplicate(FileDescriptor());
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, Code::kResourceExhausted);
}

TEST(ByteStream, WakesItsReaderForAsManyBytesAsWereAskedFor) {
  auto [here, there] = socket_pair();
  const int fd = here.get();
  const auto stream = plain_stream(std::move(here));
  EXPECT_EQ(stream->fd(), fd);
  const auto least = [&] { return option_of(fd, SOL_SOCKET, SO_RCVLOWAT); };
  for (const int bytes : {100, 1, 100}) {
    stream->wake_for(static_cast<std::size_t>(bytes));
    EXPECT_EQ(least(), bytes);
  }
  stream->wake_for(std::numeric_limits<std::size_t>::max());
  EXPECT_EQ(least(), std::numeric_limits<int>::max());
}

}  // namespace
}  // namespace headrace
