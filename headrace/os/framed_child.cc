#include "headrace/os/framed_child.h"

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <thread>

#include "headrace/base/text.h"

namespace headrace {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kCheckInterval{100};
constexpr std::chrono::milliseconds kExitCheckInterval{5};

Error has_gone() { return {Code::kUnavailable, "the program has ended"}; }

}  // namespace

Result<std::unique_ptr<FramedChild>> FramedChild::start(
    const std::vector<std::string>& arguments,
    const std::map<std::string, std::string, std::less<>>& environment) {
  HEADRACE_TRY(StreamEnds frames, open_socket());
  // The program gets the reading end of this pipe.
  HEADRACE_TRY(StreamEnds lifeline, open_pipe());
  HEADRACE_TRY(const pid_t id,
               spawn(arguments, environment, {.input = lifeline.ours.get(), .output = frames.theirs.get()}));
  return std::unique_ptr<FramedChild>(
      new FramedChild(id, std::move(frames.ours), std::move(lifeline.theirs)));
}

FramedChild::~FramedChild() {
  if (id_ != 0) end({});
}

// `step` moves up to a given number of bytes from a given place, as send and recv do.
template <typename Step>
Status FramedChild::transfer(std::size_t size, short event, const FrameWait& wait, const Step& step) {
  Clock::time_point moved = Clock::now();
  for (std::size_t done = 0; done < size;) {
    const ssize_t count = step(done, size - done);
    if (count > 0) {
      done += static_cast<std::size_t>(count);
      moved = Clock::now();
      continue;
    }
    const bool must_wait = count < 0 && (errno == EAGAIN || errno == EINTR);
    if (!must_wait) return has_gone();
    if (wait.stop.stop_requested()) return Error{Code::kCancelled, "waiting for a program was stopped"};
    if (Clock::now() - moved >= wait.silence_max)
      return Error{Code::kDeadlineExceeded,
                   concat("the program was silent for ", wait.silence_max.count(), " ms")};
    pollfd waiting{frames_.get(), event, 0};
    // Programs that the child has started may keep its streams open after it has ended.
    if (poll(&waiting, 1, static_cast<int>(kCheckInterval.count())) == 0 && is_to_be_reaped(id_))
      return has_gone();
  }
  return {};
}

Status FramedChild::send_all(BytesView data, const FrameWait& wait) {
  return transfer(data.size(), POLLOUT, wait, [&](std::size_t from, std::size_t size) {
    return ::send(frames_.get(), data.data() + from, size, MSG_NOSIGNAL | MSG_DONTWAIT);
  });
}

Status FramedChild::receive_all(MutableBytesView data, const FrameWait& wait) {
  return transfer(data.size(), POLLIN, wait, [&](std::size_t from, std::size_t size) {
    return ::recv(frames_.get(), data.data() + from, size, MSG_DONTWAIT);
  });
}

Status FramedChild::send(BytesView frame, const FrameWait& wait) {
  std::array<std::byte, sizeof(std::uint32_t)> size{};
  store_little_endian(size.data(), static_cast<std::uint32_t>(frame.size()));
  HEADRACE_CHECK(send_all(size, wait));
  return send_all(frame, wait);
}

Result<BytesView> FramedChild::receive(std::uint64_t limit_bytes, const FrameWait& wait) {
  std::array<std::byte, sizeof(std::uint32_t)> header{};
  HEADRACE_CHECK(receive_all(header, wait));
  const auto size = load_little_endian<std::uint32_t>(header.data());
  if (size > limit_bytes) {
    return Error{Code::kDataLoss,
                 concat("the program sent a frame of ", size, " bytes; the limit is ", limit_bytes)};
  }
  frame_.resize(size);
  HEADRACE_CHECK(receive_all(frame_, wait));
  return BytesView(frame_);
}

std::string FramedChild::end(std::chrono::milliseconds grace) {
  const Clock::time_point patience_ends = Clock::now() + grace;
  while (Clock::now() < patience_ends && !is_to_be_reaped(id_))
    std::this_thread::sleep_for(kExitCheckInterval);
  return describe_end(kill_and_reap(std::exchange(id_, 0)));
}

}  // namespace headrace
