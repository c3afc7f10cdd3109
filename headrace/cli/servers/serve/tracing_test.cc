#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "headrace/base/json.h"
#include "headrace/base/text.h"
#include "headrace/cli/servers/serve/request_trace.h"

namespace headrace {
namespace {

using ::testing::HasSubstr;

constexpr std::string_view kGiven = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

TEST(Traceparent, IsReadAndWritten) {
  const auto context = parse_traceparent(kGiven);
  ASSERT_TRUE(context);
  EXPECT_EQ(context->trace_high, 0x0af7651916cd43ddU);
  EXPECT_EQ(context->trace_low, 0x8448eb211c80319cU);
  EXPECT_EQ(context->span, 0xb7ad6b7169203331U);
  EXPECT_TRUE(context->is_sampled);
  EXPECT_EQ(format_traceparent(*context), kGiven);
  EXPECT_FALSE(parse_traceparent("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-02")->is_sampled);
  EXPECT_TRUE(parse_traceparent("01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more"));
}

TEST(Traceparent, ThatIsNotValidIsPassedOver) {
  for (const std::string_view bad : {"", "00", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331",
                                     "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
                                     "0g-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
                                     "00-0AF7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
                                     "00-00000000000000000000000000000000-b7ad6b7169203331-01",
                                     "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
                                     "00_0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
                                     "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-0x",
                                     "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more",
                                     "01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01more",
                                     "00-0af7651916cd43dd8448eb211c80319c-b7ad6b716920333\xff-01"})
    EXPECT_FALSE(parse_traceparent(bad)) << bad;
}

TEST(Spans, AreJsonOfOpenTelemetry) {
  const Span::Clock::time_point zero{};
  const Span span{.context = *parse_traceparent(kGiven),
                  .parent = 1,
                  .name = "a \"b\"",
                  .begin = zero + std::chrono::nanoseconds(5),
                  .end = zero + std::chrono::nanoseconds(7),
                  .is_server = true,
                  .has_failed = true,
                  .texts = {{"model.name", "m"}},
                  .numbers = {{"model.version", 3}}};
  EXPECT_EQ(spans_json({span}, std::chrono::nanoseconds(1'000'000'000), "1.0"),
            R"({"resourceSpans":[{"resource":{"attributes":[)"
            R"({"key":"service.name","value":{"stringValue":"headrace"}},)"
            R"({"key":"service.version","value":{"stringValue":"1.0"}}]},)"
            R"("scopeSpans":[{"scope":{"name":"headrace serve"},)"
            R"("spans":[{"attributes":[{"key":"model.name","value":{"stringValue":"m"}},)"
            R"({"key":"model.version","value":{"intValue":"3"}}],"endTimeUnixNano":"1000000007","kind":2,)"
            R"("name":"a \"b\"","parentSpanId":"0000000000000001","spanId":"b7ad6b7169203331",)"
            R"("startTimeUnixNano":"1000000005","status":{"code":2},)"
            R"("traceId":"0af7651916cd43dd8448eb211c80319c"}]}]}]})");
}

TEST(SpanExporter, DropsWhatNobodyTakesAndSaysSoOnce) {
  std::string remarks;
  // Port 1 is not open. The exporter's end sends what waits.
  auto exporter = SpanExporter::start("http://127.0.0.1:1/collector",
                                      [&](const std::string& text) { remarks += text + "\n"; });
  ASSERT_TRUE(exporter);
  (*exporter)->add(std::vector<Span>(9000));
  EXPECT_EQ((*exporter)->counts().dropped, 9000) << "more than may wait";
  (*exporter)->add(std::vector<Span>(700));
  exporter->reset();
  EXPECT_THAT(remarks, HasSubstr("http://127.0.0.1:1/collector takes no spans"));
  EXPECT_EQ(std::count(remarks.begin(), remarks.end(), '\n'), 1);
  EXPECT_FALSE(SpanExporter::start("ftp://a", {}));
}

TEST(RequestTracer, FollowsTheClientsDecision) {
  const auto exporter = SpanExporter::start("http://127.0.0.1:1", [](const std::string&) {});
  const RequestTracer none(**exporter, 0);
  EXPECT_EQ(none.begin({}, {}), nullptr);
  EXPECT_EQ(none.begin("nonsense", {}), nullptr);
  const auto trace = none.begin(kGiven, {});
  ASSERT_NE(trace, nullptr);
  const auto context = parse_traceparent(trace->traceparent());
  EXPECT_EQ(trace_id_text(*context), "0af7651916cd43dd8448eb211c80319c");
  EXPECT_NE(context->span, 0xb7ad6b7169203331U) << "the request's own";
  const RequestTracer all(**exporter, 1);
  ASSERT_NE(all.begin({}, {}), nullptr);
  EXPECT_TRUE(parse_traceparent(all.begin({}, {})->traceparent())->is_sampled);
  const auto unsampled = all.begin("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00", {});
  EXPECT_FALSE(parse_traceparent(unsampled->traceparent())->is_sampled);
}

}  // namespace
}  // namespace headrace
