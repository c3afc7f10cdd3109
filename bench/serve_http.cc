// headrace_bench_serve_http [ADDRESS [THREADS [here|elsewhere [BYTES [CERTIFICATE KEY]]]]]: an HTTP server
// that answers every request with so many bytes, two if BYTES is missing, until its standard input ends.
// "elsewhere": another thread gives the answers. Prints its port.

#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "headrace/cli/servers/serve/http_server.h"

namespace {

using headrace::Responder;

// A thread that answers what others hand to it.
class Elsewhere {
 public:
  explicit Elsewhere(std::size_t bytes) : bytes_(bytes) {}

  void answer(Responder responder) {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(responder));
    if (waiting_.size() == 1) changed_.notify_one();
  }

 private:
  void work(const std::stop_token& stop) {
    std::vector<Responder> taken;
    while (!stop.stop_requested()) {
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, stop, [this] { return !waiting_.empty(); });
        taken.swap(waiting_);
      }
      for (Responder& responder : taken)
        std::move(responder).send({.content_type = "text/plain", .body = std::string(bytes_, '.')});
      taken.clear();
    }
  }

  const std::size_t bytes_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::vector<Responder> waiting_;
  std::jthread thread_{[this](const std::stop_token& stop) { work(stop); }};
};

}  // namespace

int main(int count, char** arguments) {
  headrace::HttpServerOptions options{.listen = {count > 1 ? arguments[1] : "127.0.0.1:0"},
                                      .threads = count > 2 ? std::atoi(arguments[2]) : 1};
  const bool is_elsewhere = count > 3 && std::string_view(arguments[3]) == "elsewhere";
  const std::size_t bytes = count > 4 ? std::strtoull(arguments[4], nullptr, 10) : 2;
  if (count > 6)
    options.tls = headrace::HttpServerTls{.certificate_file = arguments[5], .key_file = arguments[6]};
  Elsewhere elsewhere(bytes);
  const auto server = headrace::HttpServer::start(
      options, [](const headrace::RequestHead&) { return headrace::HeadVerdict{}; },
      [&](headrace::ReceivedRequest, Responder responder) {
        if (is_elsewhere) return elsewhere.answer(std::move(responder));
        std::move(responder).send({.content_type = "text/plain", .body = std::string(bytes, '.')});
      });
  if (!server) {
    std::fprintf(stderr, "%s\n", server.error().message.c_str());
    return 1;
  }
  std::printf("%d\n", (*server)->port());
  std::fflush(stdout);
  while (std::getchar() != EOF) continue;
  return 0;
}
