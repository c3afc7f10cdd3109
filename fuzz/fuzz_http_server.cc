#include <algorithm>
#include <cstdlib>

#include "headrace/cli/servers/serve/served_connection.h"

namespace {

using headrace::BytesView;
using headrace::MutableBytesView;
using headrace::ServedConnection;

// Keeps what the connection asks for, until the fuzzer's loop gives it.
class ScriptedTransport final : public headrace::Transport {
 public:
  struct Seen {
    std::string sent;
    MutableBytesView target{};
    std::size_t sending = 0;
    bool has_ended_sending = false;
    bool is_closed = false;
  };
  ScriptedTransport(Seen& seen, std::size_t send_now_max) : seen_(seen), send_now_max_(send_now_max) {}

  void receive(MutableBytesView target) override {
    if (!seen_.target.empty() || target.empty() || seen_.is_closed) std::abort();
    seen_.target = target;
  }
  std::size_t send_now(BytesView first, BytesView second) override {
    if (seen_.sending > 0 || seen_.has_ended_sending) std::abort();
    return take(first, second, send_now_max_);
  }
  void send(BytesView first, BytesView second) override {
    if (seen_.sending > 0 || seen_.has_ended_sending) std::abort();
    seen_.sending = take(first, second, 100);
    if (seen_.sending == 0) std::abort();
  }
  void end_sending() override { seen_.has_ended_sending = true; }
  void close() override { seen_.is_closed = true; }
  bool wake(std::shared_ptr<headrace::TransportUser>) override { std::abort(); }
  bool is_own_thread() const override { return true; }

 private:
  std::size_t take(BytesView first, BytesView second, std::size_t most) {
    const std::size_t before = seen_.sent.size();
    seen_.sent += headrace::as_text(first.first(std::min(most, first.size())));
    most -= std::min(most, first.size());
    seen_.sent += headrace::as_text(second.first(std::min(most, second.size())));
    return seen_.sent.size() - before;
  }

  Seen& seen_;
  const std::size_t send_now_max_;
};

struct Outcome {
  std::string sent;
  std::string handled;
};

// Drops the lines with the time, which may pass.
std::string without_dates(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t size = std::min(text.find('\n'), text.size() - 1) + 1;
    if (!text.starts_with("Date: ")) out += text.substr(0, size);
    text.remove_prefix(size);
  }
  return out;
}

Outcome converse(BytesView input, std::size_t piece_bytes, std::size_t send_now_max) {
  Outcome outcome;
  const headrace::HttpServerLimits limits{.head_bytes = 1024,
                                          .header_count = 8,
                                          .body_bytes = 3000,
                                          .inflate_ratio_max = 100,
                                          .bytes_in_flight = 8000};
  const auto shared = std::make_shared<headrace::SharedByConnections>(
      limits,
      [](const headrace::RequestHead& head) {
        headrace::HeadVerdict verdict;
        if (head.target() == "/no") verdict.refusal = headrace::error_answer(404, "no");
        if (head.target() == "/small") verdict.body_bytes_max = 10;
        return verdict;
      },
      [&](headrace::ReceivedRequest request, headrace::Responder responder) {
        if (request.body.size() > limits.body_bytes) std::abort();
        outcome.handled += request.head.method();
        outcome.handled += request.head.target();
        outcome.handled += request.body.text();
        std::move(responder).send({.body = std::string(request.body.text())});
      });
  ScriptedTransport::Seen seen;
  {
    const auto connection = std::make_shared<ServedConnection>(shared, "peer");
    connection->attach(std::make_unique<ScriptedTransport>(seen, send_now_max));
    connection->opened("");
    while (!seen.is_closed) {
      if (seen.sending > 0) {
        connection->sent(std::exchange(seen.sending, 0));
      } else if (seen.target.empty()) {
        std::abort();  // nobody would wake it
      } else if (input.empty()) {
        seen.target = {};
        connection->receive_ended(true);
      } else {
        const std::size_t size = std::min({piece_bytes, input.size(), seen.target.size()});
        std::copy_n(input.begin(), size, seen.target.begin());
        input = input.subspan(size);
        seen.target = {};
        connection->received(size);
      }
    }
    connection->abandon();
  }
  if (shared->budget->used_bytes() != 0 || shared->requests() != 0 || shared->connections() != 0)
    std::abort();
  outcome.sent = without_dates(seen.sent);
  return outcome;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  // The first byte chooses a beginning, so that what comes after a head is reached, too.
  static constexpr std::string_view kBeginnings[] = {
      "",
      "GET / HTTP/1.1\r\nHost: h\r\n",
      "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n",
      "POST /small HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n5;a=b\r\nhello\r\n",
      "POST / HTTP/1.1\r\nHost: h\r\nContent-Encoding: gzip\r\nContent-Length: 30\r\n\r\n",
      "POST /no HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\n",
      "PUT / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n",
      "HEAD http://h/ HTTP/1.0\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\n",
  };
  if (size == 0) return 0;
  std::string input(kBeginnings[data[0] % std::size(kBeginnings)]);
  input.append(reinterpret_cast<const char*>(data) + 1, size - 1);
  const BytesView bytes = headrace::as_bytes(input);
  const Outcome whole = converse(bytes, std::max<std::size_t>(input.size(), 1), 1 << 20);
  for (const std::size_t piece_bytes : {1, 13}) {
    if (converse(bytes, piece_bytes, 1 << 20).handled != whole.handled) std::abort();
  }
  const Outcome slow = converse(bytes, input.size() + 1, 7);
  if (slow.handled != whole.handled || slow.sent != whole.sent) std::abort();
  return 0;
}
