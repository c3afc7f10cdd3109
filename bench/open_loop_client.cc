// headrace_bench_open_loop_client PORT CONNECTIONS RATE SECONDS REQUEST ANSWERS: sends the bytes of the file
// REQUEST, an HTTP/1.1 request, RATE times a second to 127.0.0.1, at times that are fixed before. A request
// whose time has come while every connection waits for an answer goes out when one is free, and its latency
// counts from its planned time. Writes two 64-bit integers for each request into ANSWERS: its planned time by
// the monotonic clock and its latency, in nanoseconds. Prints how many answers were not 200. SIGTERM ends it
// early: no more requests are sent, and those that were sent are answered.

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

namespace {

constexpr std::size_t kReadBytes = 1 << 16;
constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kPatience = 30 * kSecond;  // after the last planned time
constexpr std::uint64_t kTimer = ~0ULL;

volatile std::sig_atomic_t is_to_end = 0;

std::int64_t now() { return std::chrono::steady_clock::now().time_since_epoch().count(); }

[[noreturn]] void fail(const char* what) {
  std::perror(what);
  std::exit(1);
}

int connect_to(int port) {
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) fail("connect");
  const int on = 1;
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return socket;
}

// Bytes of a whole answer at the beginning of the text, or 0 if some are missing.
std::size_t answer_bytes(std::string_view text) {
  constexpr std::string_view kLength = "ontent-Length:";
  const std::size_t head = text.find("\r\n\r\n");
  if (head == text.npos) return 0;
  const std::size_t length = text.substr(0, head).find(kLength);
  if (length == text.npos) fail("an answer without its length");
  const std::size_t bytes = head + 4 + std::strtoull(text.data() + length + kLength.size(), nullptr, 10);
  return bytes <= text.size() ? bytes : 0;
}

class Client {
 public:
  Client(int port, int connections, std::string request)
      : request_(std::move(request)), poll_(epoll_create1(0)), timer_(timerfd_create(CLOCK_MONOTONIC, 0)) {
    for (int i = 0; i < connections; ++i) {
      connections_.push_back({connect_to(port), 0, {}});
      watch(connections_.back().socket, static_cast<std::uint64_t>(i));
      free_.push_back(static_cast<std::size_t>(i));
    }
    watch(timer_, kTimer);
  }

  void run(double rate, double seconds) {
    const std::int64_t start = now() + kSecond / 10;
    auto count = static_cast<std::int64_t>(rate * seconds);
    const auto planned = [&](std::int64_t number) {
      return start + static_cast<std::int64_t>(static_cast<double>(number) * kSecond / rate);
    };
    std::int64_t next = 0;
    std::int64_t end = planned(count) + kPatience;
    while (static_cast<std::int64_t>(answers_.size()) < 2 * count) {
      const std::int64_t time = now();
      if (is_to_end && next < count) {
        count = next;
        end = time + kPatience;
      }
      if (time > end) fail("answers are missing");
      for (; next < count && planned(next) <= time; ++next) due_.push_back(planned(next));
      while (!due_.empty() && !free_.empty()) send();
      wait_until(next < count ? planned(next) : end);
    }
  }

  const std::vector<std::int64_t>& answers() const { return answers_; }
  std::uint64_t failures() const { return failures_; }

 private:
  struct Connection {
    int socket;
    std::int64_t planned;
    std::string received;
  };

  void watch(int descriptor, std::uint64_t number) const {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = number;
    if (epoll_ctl(poll_, EPOLL_CTL_ADD, descriptor, &event) != 0) fail("epoll_ctl");
  }

  void send() {
    Connection& connection = connections_[free_.back()];
    free_.pop_back();
    connection.planned = due_.front();
    due_.pop_front();
    const auto sent = ::send(connection.socket, request_.data(), request_.size(), MSG_NOSIGNAL);
    if (sent != static_cast<ssize_t>(request_.size())) fail("send");
  }

  void wait_until(std::int64_t time) {
    itimerspec spec{};
    spec.it_value.tv_sec = time / kSecond;
    spec.it_value.tv_nsec = time % kSecond;
    timerfd_settime(timer_, TFD_TIMER_ABSTIME, &spec, nullptr);
    epoll_event events[64];
    const int count = epoll_wait(poll_, events, 64, -1);
    for (int i = 0; i < count; ++i)
      if (events[i].data.u64 != kTimer) receive(events[i].data.u64);
  }

  void receive(std::size_t number) {
    Connection& connection = connections_[number];
    const std::size_t before = connection.received.size();
    connection.received.resize(before + kReadBytes);
    const ssize_t got = ::recv(connection.socket, connection.received.data() + before, kReadBytes, 0);
    if (got <= 0) fail("recv");
    connection.received.resize(before + static_cast<std::size_t>(got));
    if (answer_bytes(connection.received) == 0) return;
    answers_.push_back(connection.planned);
    answers_.push_back(now() - connection.planned);
    if (!connection.received.starts_with("HTTP/1.1 200")) ++failures_;
    connection.received.clear();
    free_.push_back(number);
  }

  const std::string request_;
  const int poll_;
  const int timer_;
  std::vector<Connection> connections_;
  std::vector<std::size_t> free_;
  std::deque<std::int64_t> due_;
  std::vector<std::int64_t> answers_;
  std::uint64_t failures_ = 0;
};

}  // namespace

int main(int count, char** arguments) {
  if (count != 7) return 2;
  std::signal(SIGTERM, [](int) { is_to_end = 1; });
  std::ifstream file(arguments[5], std::ios::binary);
  Client client(std::atoi(arguments[1]), std::atoi(arguments[2]),
                {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()});
  client.run(std::atof(arguments[3]), std::atof(arguments[4]));
  std::ofstream(arguments[6], std::ios::binary)
      .write(reinterpret_cast<const char*>(client.answers().data()),
             static_cast<std::streamsize>(client.answers().size() * sizeof(std::int64_t)));
  std::printf("{\"failures\": %llu}\n", static_cast<unsigned long long>(client.failures()));
  return 0;
}
