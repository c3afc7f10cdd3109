/// A server in between that is late at times: hands requests without bodies on to an HTTP server, and some of
/// them only after a while.
///
///   headrace_bench_late_relay PORT PART DELAY_MS SEED
///
/// Listens on 127.0.0.1 and writes its port as the first line; once standard input ends, JSON: how many
/// requests came, and how many of them were delayed. One thread a connection, plain HTTP, for clients on this
/// machine: no more than bench/late_answers.py needs.

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <mutex>
#include <random>
#include <string>
#include <thread>

#include "headrace/base/json.h"
#include "headrace/base/text.h"
#include "headrace/os/file_descriptor.h"

namespace headrace {
namespace {

constexpr std::size_t kHeadBytes = 64 << 10;
constexpr std::uint64_t kPipeBytes = 1 << 20;

struct Pipe {
  Pipe() {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) std::abort();
    out = FileDescriptor(ends[0]);
    in = FileDescriptor(ends[1]);
    ::fcntl(in.get(), F_SETPIPE_SZ, static_cast<int>(kPipeBytes));
  }
  FileDescriptor out, in;
};

class LateRelay {
 public:
  LateRelay(std::uint16_t server, double part, std::chrono::milliseconds delay, std::uint64_t seed)
      : server_(server), part_(part), delay_(delay), random_(seed) {}

  // Serves one client until it or the server has closed.
  void serve(FileDescriptor client) {
    const FileDescriptor server(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const sockaddr_in to = local(server_);
    if (::connect(server.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0) return;
    without_delay(client.get());
    without_delay(server.get());
    Pipe pipe;
    std::string request, answer;
    while (receive_head(client.get(), request)) {
      if (is_late()) std::this_thread::sleep_for(delay_);
      if (has_gone(client.get())) return;
      if (!send(server.get(), request.data(), request.size())) return;
      const bool has_body = !request.starts_with("HEAD");
      request.clear();
      answer.clear();
      if (!receive_head(server.get(), answer) ||
          !relay_answer(server.get(), client.get(), pipe, answer, has_body))
        return;
    }
  }

  Json account() const { return {{"requests", requests_.load()}, {"late", late_.load()}}; }

  static sockaddr_in local(std::uint16_t port) {
    return {.sin_family = AF_INET,
            .sin_port = htons(port),
            .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)},
            .sin_zero = {}};
  }

 private:
  static void without_delay(int fd) {
    const int on = 1;
    ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }

  // As a server does that notices at last: else what nobody waits for any more would slow down what is read
  // two seconds later.
  static bool has_gone(int fd) {
    char byte = 0;
    return ::recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
  }

  bool is_late() {
    const std::scoped_lock lock(mutex_);
    ++requests_;
    const bool late = std::uniform_real_distribution<double>()(random_) < part_;
    late_ += late;
    return late;
  }

  static bool send(int fd, const char* data, std::size_t size) {
    while (size > 0) {
      const ssize_t sent = ::send(fd, data, size, MSG_NOSIGNAL);
      if (sent <= 0) return false;
      data += sent;
      size -= static_cast<std::size_t>(sent);
    }
    return true;
  }

  // With what came behind it.
  static bool receive_head(int fd, std::string& head) {
    std::array<char, 16 << 10> piece{};
    while (head.find("\r\n\r\n") == std::string::npos) {
      const ssize_t received = ::recv(fd, piece.data(), piece.size(), 0);
      if (received <= 0 || head.size() > kHeadBytes) return false;
      head.append(piece.data(), static_cast<std::size_t>(received));
    }
    return true;
  }

  // Through the kernel alone: what the relay costs should not be what is measured.
  static bool relay_answer(int from, int to, Pipe& pipe, const std::string& begun, bool has_body) {
    constexpr std::string_view kLength = "Content-Length: ";
    const std::size_t body_at = begun.find("\r\n\r\n") + 4, length_at = begun.find(kLength);
    std::uint64_t left = 0;
    if (has_body && length_at < body_at)
      left = std::strtoull(&begun[length_at + kLength.size()], nullptr, 10);
    if (!send(to, begun.data(), begun.size())) return false;
    left -= begun.size() - body_at;
    while (left > 0) {
      ssize_t inside =
          ::splice(from, nullptr, pipe.in.get(), nullptr, std::min(left, kPipeBytes), SPLICE_F_MOVE);
      if (inside <= 0) return false;
      left -= static_cast<std::uint64_t>(inside);
      while (inside > 0) {
        const ssize_t out =
            ::splice(pipe.out.get(), nullptr, to, nullptr, static_cast<std::size_t>(inside), SPLICE_F_MOVE);
        if (out <= 0) return false;
        inside -= out;
      }
    }
    return true;
  }

  const std::uint16_t server_;
  const double part_;
  const std::chrono::milliseconds delay_;
  std::mutex mutex_;
  std::mt19937_64 random_;
  std::atomic<std::uint64_t> requests_ = 0, late_ = 0;
};

int run(char** argv) {
  std::signal(SIGPIPE, SIG_IGN);  // splice knows no MSG_NOSIGNAL
  static LateRelay relay(static_cast<std::uint16_t>(std::atoi(argv[1])), std::atof(argv[2]),
                         std::chrono::milliseconds(std::atoi(argv[3])), std::strtoull(argv[4], nullptr, 10));
  const FileDescriptor listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = LateRelay::local(0);
  socklen_t size = sizeof address;
  if (::bind(listener.get(), reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      ::listen(listener.get(), 128) != 0 ||
      ::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    return 1;
  }
  std::cout << ntohs(address.sin_port) << std::endl;
  std::thread([fd = listener.get()] {
    while (true) {
      FileDescriptor client(::accept4(fd, nullptr, nullptr, SOCK_CLOEXEC));
      if (!client.is_open()) return;
      std::thread([](FileDescriptor one) { relay.serve(std::move(one)); }, std::move(client)).detach();
    }
  }).detach();
  while (std::cin.get() != EOF) {
  }
  std::cout << relay.account().dump() << std::endl;
  std::_Exit(0);  // with its threads, which wait for clients
}

}  // namespace
}  // namespace headrace

int main(int argc, char** argv) { return argc == 5 ? headrace::run(argv) : 2; }
