#include "headrace/net/http/http_parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "headrace/base/text.h"

namespace headrace {
namespace {

using Event = HttpResponseParser::Event;

struct Parsed {
  std::string events;  // one letter each: i(nterim) h(ead) e(nd), or an error's message
  int status = 0;
  std::string body;
  bool keep_alive = false;
  std::size_t consumed = 0;
};

// Feeds `input` in pieces of `piece` bytes, then the end of the input if the answer is not over by then.
Parsed parse(std::string_view input, std::size_t piece, std::string_view method = "GET",
             HttpLimits limits = {}) {
  HttpResponseParser parser(method, limits);
  Parsed out;
  for (std::size_t begin = 0; begin < input.size(); begin += piece) {
    BytesView rest = as_bytes(input.substr(begin, piece));
    while (true) {
      const auto step = parser.next(rest);
      if (!step) {
        out.events += step.error().message;
        return out;
      }
      out.consumed += step->consumed;
      rest = rest.subspan(step->consumed);
      if (step->event == Event::kNeedMore) break;
      if (step->event == Event::kInterim) out.events += 'i';
      if (step->event == Event::kHead) out.events += 'h', out.keep_alive = parser.keep_alive();
      out.status = parser.status();
      if (step->event == Event::kBody) out.body += as_text(step->data);
      if (step->event == Event::kEnd) {
        out.events += 'e';
        return out;
      }
    }
  }
  const Status end = parser.at_end_of_input();
  out.events += end ? "e" : end.error().message;
  return out;
}

constexpr std::string_view kSized = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-A:  b \r\n\r\nhello";
constexpr std::string_view kChunked =
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n7;x=y\r\n, world\r\n0\r\nTrailer: "
    "1\r\n\r\n";

TEST(HttpParser, GivesTheSameForEveryDivisionOfTheInput) {
  for (std::size_t piece = 1; piece < kChunked.size() + 1; ++piece) {
    const Parsed chunked = parse(kChunked, piece);
    EXPECT_EQ(chunked.events, "he") << piece;
    EXPECT_EQ(chunked.body, "hello, world") << piece;
    EXPECT_TRUE(chunked.keep_alive);
    const Parsed sized = parse(kSized, piece);
    EXPECT_EQ(sized.events, "he") << piece;
    EXPECT_EQ(sized.body, "hello") << piece;
  }
}

TEST(HttpParser, LeavesWhatFollowsTheAnswerAlone) {
  const std::string more = concat(kSized, "HTTP/1.1 200 OK\r\n");
  EXPECT_EQ(parse(more, more.size()).consumed, kSized.size());
}

TEST(HttpParser, TrimsFieldsAndKeepsTheirOrder) {
  HttpResponseParser parser("GET");
  ASSERT_EQ(parser.next(as_bytes(kSized))->event, Event::kHead);
  ASSERT_EQ(parser.headers().size(), 2U);
  EXPECT_EQ(parser.headers()[1].name, "X-A");
  EXPECT_EQ(parser.headers()[1].value, "b");
  EXPECT_EQ(parser.announced_bytes(), 5U);
  EXPECT_EQ(parser.direct_bytes(), 5U);
}

TEST(HttpParser, AnswersWithoutBodyEndWithTheirHead) {
  EXPECT_EQ(parse("HTTP/1.1 204 No Content\r\n\r\n", 99).events, "he");
  EXPECT_EQ(parse("HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", 99).events, "he");
  EXPECT_EQ(parse("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", 99, "HEAD").events, "he");
  EXPECT_EQ(parse("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", 99).events, "he");
}

TEST(HttpParser, InterimAnswersPrecedeTheFinalOne) {
  const Parsed parsed =
      parse("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\nA: b\r\n\r\n" + std::string(kSized), 999);
  EXPECT_EQ(parsed.events, "iihe");
  EXPECT_EQ(parsed.status, 200);
}

TEST(HttpParser, ABodyWithoutLengthEndsWithTheConnection) {
  const Parsed parsed = parse("HTTP/1.1 200 OK\r\n\r\nall of it", 3);
  EXPECT_EQ(parsed.events, "he");
  EXPECT_EQ(parsed.body, "all of it");
  EXPECT_FALSE(parsed.keep_alive);
}

TEST(HttpParser, KnowsWhetherTheConnectionStays) {
  EXPECT_FALSE(parse("HTTP/1.1 204 x\r\nConnection: foo, Close\r\n\r\n", 99).keep_alive);
  EXPECT_FALSE(parse("HTTP/1.0 204 x\r\n\r\n", 99).keep_alive);
  EXPECT_TRUE(parse("HTTP/1.0 204 x\r\nConnection: keep-alive\r\n\r\n", 99).keep_alive);
}

TEST(HttpParser, SaysWhereAnAnswerWasCut) {
  for (std::size_t length = 0; length < kChunked.size(); ++length) {
    const std::string events = parse(kChunked.substr(0, length), 999).events;
    EXPECT_THAT(events, testing::HasSubstr("closed within")) << length;
  }
  EXPECT_THAT(parse(kSized.substr(0, kSized.size() - 2), 999).events,
              testing::HasSubstr("2 bytes before the end"));
}

class HostileAnswer : public testing::TestWithParam<std::string> {};

TEST_P(HostileAnswer, IsRefusedHoweverItArrives) {
  for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, GetParam().size()}) {
    EXPECT_THAT(parse(GetParam(), piece).events, testing::HasSubstr("not valid HTTP/1.1")) << piece;
  }
}

std::string with_head(std::string_view fields, std::string_view body = "") {
  return concat("HTTP/1.1 200 OK\r\n", fields, "\r\n\r\n", body);
}
std::string chunked(std::string_view body) { return with_head("Transfer-Encoding: chunked", body); }

INSTANTIATE_TEST_SUITE_P(
    HttpParser, HostileAnswer,
    testing::Values(
        "SSH-2.0-OpenSSH_9.2\r\n", "HTTP/2 200 OK\r\n\r\n", "HTTP/1.1 20 OK\r\n\r\n",
        "HTTP/1.1 2000 OK\r\n\r\n", "HTTP/1.1 099 OK\r\n\r\n", "HTTP/1.1 600 OK\r\n\r\n",
        "HTTP/1.1 -20 OK\r\n\r\n", "HTTP/1.1 101 Switch\r\n\r\n", "HTTP/1.1 200 O\x01K\r\n\r\n",
        "HTTP/1.1 200 OK\nContent-Length: 5\r\n\r\n", "HTTP/1.1 200 OK\r\n\n", with_head("A: b\r\r\nC: d"),
        with_head("A : b"), with_head(" folded: b"), with_head("A: b\r\n folded"), with_head("no colon"),
        with_head(": no name"), with_head(std::string("A: b\0c", 6)), with_head("A: b\x7f"),
        with_head("Content-Length: 5\r\nContent-Length: 5"),
        with_head("Content-Length: 5\r\nContent-Length: 6"), with_head("Content-Length: +5"),
        with_head("Content-Length: -5"), with_head("Content-Length: 5, 5"), with_head("Content-Length: 0x5"),
        with_head("Content-Length:"), with_head("Content-Length: 9223372036854775808"),
        with_head("Content-Length: 99999999999999999999"),
        with_head("Content-Length: 5\r\nTransfer-Encoding: chunked"),
        with_head("Transfer-Encoding: gzip, chunked"), with_head("Transfer-Encoding: identity"),
        with_head("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked"),
        "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", chunked("\r\n"), chunked("x\r\n"),
        chunked("-1\r\n"), chunked("+1\r\n"), chunked("0x1\r\n"), chunked(" 1\r\n"), chunked("1 1\r\n"),
        chunked("fffffffffffffffff\r\n"), chunked("10000000000000000\r\n"), chunked("5\nhello"),
        chunked("5\r\nhello!\r\n"), chunked("5\r\nhello\n0\r\n"),
        chunked("1;" + std::string(5'000, 'x') + "\r\n"), chunked("0\r\n" + std::string(5'000, 'x') + "\r\n"),
        with_head("A: " + std::string(70'000, 'x')), std::string(70'000, 'x'),
        [] {
          std::string many;
          for (int i = 0; i < 200; ++i) many += concat("A", i, ": b\r\n");
          return with_head(many);
        }(),
        [] {
          std::string endless;
          for (int i = 0; i < 4'000; ++i) endless += "HTTP/1.1 100 Continue\r\n\r\n";
          return endless;
        }()));

TEST(HttpParser, HoldsNoMoreThanTheLimitsAllow) {
  EXPECT_THAT(parse(with_head("A: 0123456789"), 4, "GET", {.head_bytes = 20}).events,
              testing::HasSubstr("longer than 20 bytes"));
  EXPECT_EQ(parse(with_head("A: b\r\nC: d\r\nContent-Length: 0"), 4, "GET", {.header_count = 3}).events,
            "he");
  EXPECT_THAT(parse(with_head("A: b\r\nC: d\r\nContent-Length: 0"), 4, "GET", {.header_count = 2}).events,
              testing::HasSubstr("more than 2"));
}

TEST(HttpParser, BytesReadPastItCountAsBody) {
  HttpResponseParser parser("GET");
  const std::size_t head = kSized.size() - 5;
  ASSERT_EQ(parser.next(as_bytes(kSized.substr(0, head)))->event, Event::kHead);
  parser.skip(4);
  EXPECT_FALSE(parser.at_end_of_input());
  const auto last = parser.next(as_bytes("o"));
  EXPECT_EQ(last->event, Event::kBody);
  EXPECT_EQ(parser.next({})->event, Event::kEnd);
}

TEST(HttpParser, TheLimitsThemselvesAreAllowed) {
  const std::string head = with_head("A: b\r\nContent-Length: 0");
  EXPECT_EQ(parse(head, 4, "GET", {.head_bytes = head.size()}).events, "he");
  EXPECT_THAT(parse(head, 4, "GET", {.head_bytes = head.size() - 1}).events,
              testing::HasSubstr("its head is"));
  const auto extended = [](std::size_t line) {
    return chunked("5;" + std::string(line - 4, 'x') + "\r\nhello\r\n0\r\n\r\n");
  };
  EXPECT_EQ(parse(extended(4'096), 999).body, "hello");
  EXPECT_THAT(parse(extended(4'097), 999).events,
              testing::HasSubstr("the framing of a chunk is longer than 4096 bytes"));
  const auto trailer = [](std::size_t bytes) {
    return chunked("0\r\n" + std::string(bytes - 4, 'x') + "\r\n\r\n");
  };
  EXPECT_EQ(parse(trailer(4'096), 999).events, "he");
  EXPECT_THAT(parse(trailer(4'097), 999).events, testing::HasSubstr("framing"));
  EXPECT_EQ(parse(chunked("000000000000005\r\nhello\r\n0\r\n\r\n"), 999).body, "hello");
  EXPECT_THAT(parse(chunked("0000000000000005\r\nhello\r\n0\r\n\r\n"), 999).events,
              testing::HasSubstr("a chunk has no valid size"));
}

TEST(HttpParser, EachChunkHasTheWholeLimitForItsFraming) {
  std::string body;
  for (int i = 0; i < 3; ++i) body += "1;" + std::string(3'000, 'x') + "\r\na\r\n";
  EXPECT_EQ(parse(chunked(body + "0\r\n\r\n"), 999).body, "aaa");
}

TEST(HttpParser, ChunkSizesMayBeFollowedByBlanksAndExtensions) {
  for (const char* size : {"5 ", "5\t", "5 ;x", "5;x=\"y\"", "05"})
    EXPECT_EQ(parse(chunked(concat(size, "\r\nhello\r\n0\r\n\r\n")), 999).body, "hello") << size;
  EXPECT_EQ(parse(chunked("A\r\n0123456789\r\n0\r\n\r\n"), 999).body, "0123456789");
  EXPECT_THAT(parse(chunked("5 x\r\n"), 999).events,
              testing::HasSubstr("followed by something other than an extension"));
  EXPECT_THAT(parse(chunked("5\r\nhelloX\r\n"), 999).events,
              testing::HasSubstr("a chunk is longer than its size says"));
  EXPECT_THAT(parse(chunked("5;\x01\r\nhello\r\n"), 999).events,
              testing::HasSubstr("a chunk has no valid size"));
}

TEST(HttpParser, StatusLinesAtTheirLimits) {
  EXPECT_EQ(parse("HTTP/1.1 204\r\n\r\n", 99).events, "he");
  EXPECT_EQ(parse("HTTP/1.1 599 x\r\nContent-Length: 0\r\n\r\n", 99).status, 599);
  EXPECT_EQ(parse("HTTP/1.1 100\r\n\r\nHTTP/1.1 204\r\n\r\n", 99).events, "ihe");
  EXPECT_EQ(parse("HTTP/1.1 199\r\n\r\nHTTP/1.1 204\r\n\r\n", 99).events, "ihe");
  for (const char* wrong : {"HTTP/1.1 204x\r\n\r\n", "HTTP/1.1 2044\r\n\r\n", "HTTP/1.1 99\r\n\r\n"})
    EXPECT_THAT(parse(wrong, 99).events, testing::HasSubstr("its status is not a number from 100 to 599"));
  EXPECT_THAT(parse("HTTP/1.1 101 x\r\n\r\n", 99).events,
              testing::HasSubstr("it switches to another protocol"));
  HttpResponseParser parser("GET");
  EXPECT_EQ(parser.next(as_bytes("SSH-2.0\r\n")).error().code, Code::kDataLoss);
}

TEST(HttpParser, HeadersOfAnInterimAnswerAreForgotten) {
  for (const char* field : {"Content-Length: 5", "Transfer-Encoding: chunked"}) {
    HttpResponseParser parser("GET");
    const std::string interim = concat("HTTP/1.1 103 x\r\n", field, "\r\n\r\n");
    ASSERT_EQ(parser.next(as_bytes(interim))->event, Event::kInterim);
    ASSERT_EQ(parser.next(as_bytes("HTTP/1.1 200 OK\r\nA: b\r\n\r\n"))->event, Event::kHead);
    EXPECT_EQ(parser.headers().size(), 1U);
    EXPECT_EQ(parser.announced_bytes(), std::nullopt);
    EXPECT_EQ(parser.next(as_bytes("all"))->event, Event::kBody);
  }
}

TEST(HttpParser, ATunnelsAnswerHasNoBodyIfItIsASuccess) {
  constexpr std::string_view kOpen = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n";
  EXPECT_EQ(parse(kOpen, 99, "CONNECT").events, "he");
  EXPECT_EQ(parse("HTTP/1.1 407 x\r\nContent-Length: 5\r\n\r\nhello", 99, "CONNECT").body, "hello");
}

TEST(HttpParser, AnnouncesWhatIsKnownOfABody) {
  HttpResponseParser sized("GET");
  ASSERT_EQ(sized.next(as_bytes(kSized))->event, Event::kHead);
  EXPECT_EQ(sized.announced_bytes(), 5U);
  sized.skip(99);  // more than there are
  EXPECT_EQ(sized.next({})->event, Event::kEnd);
  EXPECT_EQ(sized.next(as_bytes("more"))->event, Event::kEnd);
  EXPECT_EQ(sized.next(as_bytes("more"))->consumed, 0U);
  EXPECT_EQ(sized.announced_bytes(), 0U);
  EXPECT_TRUE(sized.at_end_of_input());
  HttpResponseParser in_chunks("GET");
  ASSERT_EQ(in_chunks.next(as_bytes(kChunked))->event, Event::kHead);
  EXPECT_EQ(in_chunks.announced_bytes(), std::nullopt);
  const Status cut = in_chunks.at_end_of_input();
  EXPECT_EQ(cut.error().code, Code::kDataLoss);
  HttpResponseParser within("GET");
  const std::string part = chunked("5\r\nhel");
  std::size_t at = 0;
  while (at < part.size()) at += within.next(as_bytes(part).subspan(at))->consumed;
  EXPECT_EQ(within.at_end_of_input().error().message,
            "the connection was closed within the body of the answer, 2 bytes before the end of a chunk");
  HttpResponseParser head("GET");
  EXPECT_EQ(head.at_end_of_input().error().code, Code::kDataLoss);
}

TEST(HttpParser, FieldsHoldWhatTheGrammarAllows) {
  const auto value_of = [](std::string_view line) {
    HttpResponseParser parser("GET");
    const auto step = parser.next(as_bytes(concat("HTTP/1.1 204 x\r\n", line, "\r\n\r\n")));
    return step ? parser.headers().back().value : step.error().message;
  };
  EXPECT_EQ(value_of("!#$%&'*+-.^_`|~09azAZ: b"), "b");
  EXPECT_EQ(value_of("A: b\tc \xc3\xa9"), "b\tc \xc3\xa9");
  EXPECT_EQ(value_of("A:"), "");
  for (const char* name : {"a/", "a@", "a[", "a{", "a,"})
    EXPECT_THAT(value_of(concat(name, " : b")), testing::HasSubstr("a header line is not \"name: value\""));
  for (const char* name : {"a/b", "a@b", "a[b", "a{b"})
    EXPECT_THAT(value_of(concat(name, ": b")), testing::HasSubstr("a header line is not")) << name;
  EXPECT_THAT(value_of("A: b\x1f"), testing::HasSubstr("a control character in a header field"));
  EXPECT_EQ(
      parse(with_head("Content-Length: 4611686018427387904"), 99).events,
      "hthe connection was closed within the body of the answer, 4611686018427387904 bytes before the end");
  EXPECT_THAT(parse(with_head("Content-Length: 4611686018427387905"), 99).events,
              testing::HasSubstr("Content-Length is not a number"));
  EXPECT_EQ(parse(with_head("Transfer-Encoding: Chunked", "0\r\n\r\n"), 99).events, "he");
}

}  // namespace
}  // namespace headrace
