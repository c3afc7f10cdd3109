#include <algorithm>
#include <cstdlib>

#include "headrace/net/http/http_parser.h"

namespace {

using Event = headrace::HttpResponseParser::Event;

struct Parsed {
  bool accepted = false;
  std::string events;  // of the head and the end: their order
  int status = 0;
  std::string body;
  std::size_t consumed = 0;
};

// Feeds the input in pieces of `piece_bytes`, then its end.
Parsed parse(headrace::BytesView input, std::size_t piece_bytes, std::string_view method) {
  const headrace::HttpLimits limits{.head_bytes = 4 << 10, .header_count = 16};
  headrace::HttpResponseParser parser(method, limits);
  Parsed out;
  while (out.consumed < input.size()) {
    const headrace::BytesView rest = input.subspan(out.consumed);
    headrace::BytesView piece = rest.first(std::min(piece_bytes, rest.size()));
    for (Event event = Event::kBody; event != Event::kNeedMore;) {
      const auto step = parser.next(piece);
      if (!step) return out;
      event = step->event;
      if (step->consumed > piece.size()) std::abort();
      out.consumed += step->consumed;
      piece = piece.subspan(step->consumed);
      if (event == Event::kNeedMore && !piece.empty()) std::abort();
      if (event == Event::kBody) out.body += headrace::as_text(step->data);
      if (event == Event::kHead || event == Event::kInterim) out.status = parser.status();
      if (event == Event::kHead || event == Event::kInterim || event == Event::kEnd)
        out.events += static_cast<char>('0' + static_cast<int>(event));
      if (parser.headers().size() > limits.header_count) std::abort();
      if (event == Event::kEnd) {
        out.accepted = true;
        return out;
      }
    }
  }
  out.accepted = static_cast<bool>(parser.at_end_of_input());
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace headrace;
  const BytesView input = std::as_bytes(std::span(data, size));
  for (const std::string_view method : {"GET", "HEAD"}) {
    const Parsed whole = parse(input, std::max<std::size_t>(size, 1), method);
    if (whole.body.size() > size || (method == "HEAD" && !whole.body.empty())) std::abort();
    for (const std::size_t piece_bytes : {1, 7}) {
      const Parsed pieces = parse(input, piece_bytes, method);
      if (pieces.accepted != whole.accepted || pieces.events != whole.events || pieces.status != whole.status)
        std::abort();
      if (whole.accepted && (pieces.body != whole.body || pieces.consumed != whole.consumed)) std::abort();
    }
  }
  return 0;
}
