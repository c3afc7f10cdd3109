#include "headrace/os/packet_socket.h"

#include <sys/socket.h>
#include <sys/time.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "headrace/base/text.h"

namespace headrace {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kPacketStopCheckInterval{100};
constexpr std::size_t kDescriptorsMax = 4;  // the kernel cuts off and closes any more

struct alignas(cmsghdr) ControlBuffer {
  std::array<char, CMSG_SPACE(kDescriptorsMax * sizeof(int))> bytes{};
};

Error peer_has_gone() { return {Code::kUnavailable, "the process at the other end has gone"}; }

// Takes over all descriptors of a message, and keeps the first.
std::pair<FileDescriptor, std::size_t> take_descriptors(msghdr& message) {
  std::pair<FileDescriptor, std::size_t> out;
  for (cmsghdr* each = CMSG_FIRSTHDR(&message); each != nullptr; each = CMSG_NXTHDR(&message, each)) {
    if (each->cmsg_level != SOL_SOCKET || each->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (each->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int number = -1;
      std::memcpy(&number, CMSG_DATA(each) + i * sizeof number, sizeof number);
      FileDescriptor taken(number);
      if (out.second++ == 0) out.first = std::move(taken);
    }
  }
  return out;
}

}  // namespace

Result<PacketSocket::Ends> PacketSocket::open() {
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0)
    return Error{Code::kResourceExhausted, concat("opening a pair of sockets: ", std::strerror(errno))};
  return Ends{FileDescriptor(ends[0]), FileDescriptor(ends[1])};
}

Status PacketSocket::send(BytesView packet, const FileDescriptor* descriptor) {
  iovec data{.iov_base = const_cast<std::byte*>(packet.data()), .iov_len = packet.size()};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  ControlBuffer control;
  if (descriptor != nullptr) {
    message.msg_control = control.bytes.data();
    message.msg_controllen = CMSG_SPACE(sizeof(int));
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    const int number = descriptor->get();
    std::memcpy(CMSG_DATA(header), &number, sizeof number);
  }
  while (sendmsg(end_.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT) < 0) {
    if (errno == EINTR) continue;
    if (errno == EAGAIN || errno == ENOBUFS)
      return Error{Code::kResourceExhausted, "the process at the other end does not receive its messages"};
    return peer_has_gone();
  }
  return {};
}

// Sets a timeout, so that one system call waits and receives.
void PacketSocket::set_patience(std::chrono::milliseconds patience) {
  if (patience == patience_) return;
  const timeval time{.tv_sec = patience.count() / 1000, .tv_usec = patience.count() % 1000 * 1000};
  if (::setsockopt(end_.get(), SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time) == 0) patience_ = patience;
}

Result<Packet> PacketSocket::receive(Clock::time_point deadline, const std::stop_token& stop) {
  while (true) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    const bool may_wait = left.count() > 0 && !stop.stop_requested();
    if (may_wait) set_patience(std::min(left, kPacketStopCheckInterval));
    iovec data{.iov_base = packet_.data(), .iov_len = packet_.size()};
    ControlBuffer control;
    msghdr message{};
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    message.msg_control = control.bytes.data();
    message.msg_controllen = control.bytes.size();
    const int how = may_wait ? MSG_CMSG_CLOEXEC : MSG_DONTWAIT | MSG_CMSG_CLOEXEC;
    const ssize_t size = recvmsg(end_.get(), &message, how);
    if (size > 0) {
      auto [descriptor, count] = take_descriptors(message);
      if ((message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0 || count > 1)
        return Error{Code::kDataLoss, "the process at the other end sent something that is not a message"};
      return Packet{BytesView(packet_).first(static_cast<std::size_t>(size)), std::move(descriptor)};
    }
    if (size == 0 || (errno != EAGAIN && errno != EINTR)) return peer_has_gone();
    if (stop.stop_requested()) return Error{Code::kCancelled, "waiting for a process was stopped"};
    if (left.count() <= 0) return Error{Code::kDeadlineExceeded, "the process did not answer in time"};
  }
}

}  // namespace headrace
