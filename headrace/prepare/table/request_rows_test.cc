#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "headrace/base/wire.h"
#include "headrace/prepare/table/record_source.h"
#include "headrace/prepare/table/rows_test.h"
#include "headrace/record/tfrecord.h"

namespace headrace {
namespace {

using testing::ElementsAre;

struct Tensor {
  std::string name;
  std::vector<std::uint64_t> sizes;
  std::vector<float> floats{};
  std::vector<std::string> texts{};
  std::vector<std::int64_t> whole{};
};

void write_tensor(WireWriter& out, const Tensor& tensor) {
  out.varint(1, !tensor.texts.empty() ? 7 : tensor.whole.empty() ? 1 : 9);
  out.message(2, [&](WireWriter& shape) {
    for (const std::uint64_t size : tensor.sizes)
      shape.message(2, [&](WireWriter& dimension) { dimension.varint(1, size); });
  });
  for (const float value : tensor.floats) out.fixed32(5, value);
  for (const std::string& text : tensor.texts) out.text(8, text);
  for (const std::int64_t value : tensor.whole) out.varint(10, static_cast<std::uint64_t>(value));
}

// A record of a request with these inputs.
std::string logged(const std::vector<Tensor>& inputs) {
  Bytes log;
  WireWriter(log).message(6, [&](WireWriter& predict) {
    predict.message(1, [&](WireWriter& request) {
      for (const Tensor& input : inputs) {
        request.message(2, [&](WireWriter& entry) {
          entry.text(1, input.name);
          entry.message(2, [&](WireWriter& out) { write_tensor(out, input); });
        });
      }
    });
  });
  Bytes out;
  append_record(out, log);
  return to_string(out);
}

std::vector<std::string> read_log(std::string_view content) {
  return all_rows(*open_request_log(FilesInMemory().add("a", content).files));
}

TEST(RequestRows, RowsOfTensorsAreNumberedOverAllRequests) {
  const std::string content = logged({{"x", {2, 2}, {1, 2, 3, 4}}, {"t", {2}, {}, {"one", "two"}}}) +
                              logged({{"x", {1, 2}, {5, 6}}, {"n", {1}, {}, {}, {7}}});
  EXPECT_THAT(read_log(content),
              ElementsAre("0:1 a@1 t='one' x=f[1 2]", "0:2 a@2 t='two' x=f[3 4]", "0:3 a@3 n=i[7] x=f[5 6]"));
}

TEST(RequestRows, RawRowsAreTheirColumns) {
  const std::string rows[] = {R"({"age":40,"about":"likes boats","photo":{"b64":"aGk="}})",
                              R"({"age":null})"};
  EXPECT_THAT(read_log(logged({{"row", {2}, {}, {rows[0], rows[1]}}})),
              ElementsAre("0:1 a@1 age=i[40] about='likes boats' photo='hi'", "0:2 a@2 age=-"));
  EXPECT_THAT(read_log(logged({{"row", {1}, {}, {R"({"photo": {"b64" : "aGk\u003d"}})"}}})),
              ElementsAre("0:1 a@1 photo='hi'"))
      << "as a server reads it";
  EXPECT_THAT(read_log(logged({{"row", {1}, {}, {"no object"}}})), ElementsAre("0:1 a@1 row='no object'"));
  EXPECT_THAT(read_log(logged({{"row", {2}, {}, {R"({"a":1,"a":2})", R"({"a":3})"}}})),
              ElementsAre(testing::StartsWith("0:1 a@1 rejected"), "0:2 a@2 a=i[3]"));
}

TEST(RequestRows, ARequestWithoutCommonRowsIsOneRow) {
  EXPECT_THAT(read_log(logged({{"x", {2}, {1, 2}}, {"y", {}, {3}}})), ElementsAre("0:1 a@1 x=f[1 2] y=f[3]"));
  EXPECT_THAT(read_log(logged({{"x", {0, 2}}}) + logged({{"x", {1}, {9}}})), ElementsAre("0:1 a@1 x=f[9]"));
  EXPECT_THAT(read_log(logged({})), ElementsAre());
}

TEST(RequestRows, OtherRecordsAreRejectedAndTheNextOneIsRead) {
  Bytes other;
  append_record(other, as_bytes(std::string_view("\x2a\x00", 2)));
  append_record(other, as_bytes(std::string_view("no message")));
  const std::string huge = logged({{"x", {std::uint64_t{1} << 40}}});
  EXPECT_THAT(read_log(concat(as_text(other), huge, logged({{"x", {1}, {1}}}))),
              ElementsAre("0:1 a@1 rejected: not a PredictLog: record 1: it logs a request of another kind",
                          testing::StartsWith("0:2 a@2 rejected: not a PredictLog: record 2: "),
                          testing::StartsWith("0:3 a@3 rejected: not a PredictLog: record 3: x: "),
                          "0:4 a@4 x=f[1]"));
}

TEST(RequestRows, PiecesOfEverySizeGiveTheSameRows) {
  const std::string content = logged({{"x", {3}, {1, 2, 3}}}) + logged({{"x", {2}, {4, 5}}});
  const auto whole = parsed_rows(*make_request_log_parser(), content, content.size());
  EXPECT_EQ(whole.size(), 5U);
  for (std::size_t size = 1; size < content.size(); ++size)
    EXPECT_EQ(parsed_rows(*make_request_log_parser(), content, size), whole);
}

}  // namespace
}  // namespace headrace
