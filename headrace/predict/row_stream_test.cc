#include "headrace/predict/row_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "headrace/os/pipe_test.h"
#include "headrace/prepare/source/input.h"
#include "headrace/record/tfrecord.h"

namespace headrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class RowStreamTest : public PipeTest {
 protected:
  RowStream open(InputFormat format) const {
    return {descriptor(), *make_row_parser({.format = format}), "file:///here/-", stop.get_token()};
  }
  // The rows that have come: "number: name=value …".
  static std::vector<std::string> rows(RowStream& stream) {
    std::vector<std::string> out;
    while (true) {
      const auto row = stream.next();
      if (!row) out.push_back(row.error().message);
      if (!row || !*row) return out;
      std::string text = std::to_string((*row)->place.row) + ":";
      for (const NamedCell& cell : (*row)->cells)
        text += " " + std::string(cell.name) + "=" + std::string(as_text(cell.cell.data));
      out.push_back(text + (*row)->reason);
    }
  }
};

TEST_F(RowStreamTest, GivesTheRowsThatHaveComeWhole) {
  RowStream stream = open(InputFormat::kJsonLines);
  EXPECT_THAT(rows(stream), IsEmpty()) << "nothing has come";
  send("{\"a\": \"x\"}\n{\"a\": \"y\"}\n{\"a\"");
  EXPECT_TRUE(*stream.wait());
  EXPECT_THAT(rows(stream), ElementsAre("1: a=x", "2: a=y"));
  send(": \"z\"}\n");
  EXPECT_TRUE(*stream.wait());
  EXPECT_THAT(rows(stream), ElementsAre("3: a=z"));
  EXPECT_EQ(stream.consumed_bytes(), 33U);
}

TEST_F(RowStreamTest, TheEndCompletesTheLastRow) {
  RowStream stream = open(InputFormat::kCsv);
  send("a,b\n1,2\n3,4");
  end();
  EXPECT_TRUE(*stream.wait());
  EXPECT_THAT(rows(stream), ElementsAre("2: a=1 b=2"));
  EXPECT_TRUE(*stream.wait());
  EXPECT_THAT(rows(stream), ElementsAre("3: a=3 b=4"));
  EXPECT_FALSE(*stream.wait());
  EXPECT_THAT(rows(stream), IsEmpty());
}

TEST_F(RowStreamTest, ARecordIsThereOnceItsLastByteIs) {
  RowStream stream = open(InputFormat::kTfrecord);
  Bytes records;
  append_record(records, {});
  const std::string_view bytes = as_text(records);
  send(bytes.substr(0, bytes.size() - 1));
  EXPECT_TRUE(*stream.wait());
  EXPECT_THAT(rows(stream), IsEmpty());
  send(bytes.substr(bytes.size() - 1));
  EXPECT_TRUE(*stream.wait());
  EXPECT_THAT(rows(stream), ElementsAre("1:"));
}

TEST_F(RowStreamTest, WaitingCanBeStopped) {
  RowStream stream = open(InputFormat::kJsonLines);
  stop.request_stop();
  const auto waited = stream.wait();
  ASSERT_FALSE(waited);
  EXPECT_EQ(waited.error().code, Code::kCancelled);
}

TEST_F(RowStreamTest, OtherFormatsHaveNoStream) {
  EXPECT_THAT(make_row_parser({.format = InputFormat::kWebDataset}).error().message,
              HasSubstr("jsonl, csv, tsv, tfrecord or request-log, not webdataset"));
}

}  // namespace
}  // namespace headrace
