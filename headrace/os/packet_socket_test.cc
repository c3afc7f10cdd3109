#include "headrace/os/packet_socket.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <thread>

namespace headrace {
namespace {

using std::chrono::steady_clock;

constexpr auto kNever = steady_clock::time_point::max();

struct Connected {
  PacketSocket a, b;
};

Connected connect_both() {
  auto ends = PacketSocket::open();
  EXPECT_TRUE(ends);
  return {PacketSocket(std::move(ends->ours)), PacketSocket(std::move(ends->theirs))};
}

TEST(PacketSocket, PacketsArriveWholeAndInOrder) {
  Connected both = connect_both();
  ASSERT_TRUE(both.a.send(as_bytes("one")));
  ASSERT_TRUE(both.a.send(Bytes(kPacketBytesMax, std::byte{7})));
  const auto first = both.b.receive(kNever, {});
  ASSERT_TRUE(first);
  EXPECT_EQ(as_text(first->bytes), "one");
  EXPECT_FALSE(first->descriptor.is_open());
  const auto second = both.b.receive(kNever, {});
  ASSERT_TRUE(second);
  EXPECT_EQ(second->bytes.size(), kPacketBytesMax);
}

TEST(PacketSocket, CarriesADescriptor) {
  Connected both = connect_both();
  std::array<int, 2> pipe_ends{};
  ASSERT_EQ(pipe(pipe_ends.data()), 0);
  const FileDescriptor reading(pipe_ends[0]);
  {
    const FileDescriptor writing(pipe_ends[1]);
    ASSERT_TRUE(both.a.send(as_bytes("take this"), &writing));
  }
  auto received = both.b.receive(kNever, {});
  ASSERT_TRUE(received);
  ASSERT_TRUE(write_all(received->descriptor, as_bytes("x")));
  char read_back = 0;
  EXPECT_EQ(read(reading.get(), &read_back, 1), 1);
  EXPECT_EQ(read_back, 'x');
}

TEST(PacketSocket, TellsThatTheOtherSideHasGone) {
  auto ends = PacketSocket::open();
  PacketSocket a(std::move(ends->ours));
  { const FileDescriptor gone = std::move(ends->theirs); }
  EXPECT_EQ(a.send(as_bytes("x")).error().code, Code::kUnavailable);
  EXPECT_EQ(a.receive(kNever, {}).error().code, Code::kUnavailable);
}

TEST(PacketSocket, SendingNeverWaits) {
  Connected both = connect_both();
  const Bytes packet(10'000, std::byte{1});
  Status sent;
  for (int i = 0; i < 10'000 && sent; ++i) sent = both.a.send(packet);
  ASSERT_FALSE(sent);
  EXPECT_EQ(sent.error().code, Code::kResourceExhausted);
}

TEST(PacketSocket, WaitingEndsAtTheDeadlineOrWhenStopped) {
  Connected both = connect_both();
  EXPECT_EQ(both.a.receive(steady_clock::now() + std::chrono::milliseconds(5), {}).error().code,
            Code::kDeadlineExceeded);
  std::stop_source stop;
  std::jthread stopping([&] { stop.request_stop(); });
  EXPECT_EQ(both.a.receive(kNever, stop.get_token()).error().code, Code::kCancelled);
}

TEST(PacketSocket, APacketThatIsTooLongIsNoMessage) {
  Connected both = connect_both();
  ASSERT_TRUE(both.a.send(Bytes(kPacketBytesMax + 1)));
  EXPECT_EQ(both.b.receive(kNever, {}).error().code, Code::kDataLoss);
}

TEST(PacketSocket, SeveralDescriptorsAreNoMessageAndAreClosed) {
  Connected both = connect_both();
  std::array<int, 2> pipe_ends{};
  ASSERT_EQ(pipe(pipe_ends.data()), 0);
  const FileDescriptor reading(pipe_ends[0]);
  char byte = 'x';
  iovec data{&byte, 1};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(2 * sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  cmsghdr* const header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(2 * sizeof(int));
  const std::array<int, 2> twice = {pipe_ends[1], pipe_ends[1]};
  std::memcpy(CMSG_DATA(header), twice.data(), sizeof twice);
  ASSERT_EQ(sendmsg(both.a.descriptor().get(), &message, 0), 1);
  close(pipe_ends[1]);
  EXPECT_EQ(both.b.receive(kNever, {}).error().code, Code::kDataLoss);
  EXPECT_EQ(read(reading.get(), &byte, 1), 0) << "nobody can write any more";
}

}  // namespace
}  // namespace headrace
