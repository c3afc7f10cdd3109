#include "headrace/serve/protocol/raw_rows.h"

#include <gmock/gmock.h>

#include "headrace/base/text.h"
#include "headrace/serve/protocol/echo_test.h"
#include "headrace/serve/protocol/kserve_v2_request.h"
#include "headrace/serve/protocol/rest_v1_request.h"

namespace headrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

ServedSignature raw_signature(std::vector<ServedColumn> columns) {
  return {.name = "serving_default",
          .inputs = {{std::string(kRawRowsInput), DataType::kBytes, {-1}}},
          .outputs = {{"y", DataType::kBytes, {-1}}},
          .is_batched = true,
          .columns = std::move(columns)};
}

const ServedSignature kPerson = raw_signature({{"age"}, {"text"}, {"note", false, false}});
const ServedSignature kImage = raw_signature({{"image", true}});

// The rows as the model gets them; or one error.
std::vector<std::string> rows_of(const BoundRequest& request) {
  EXPECT_EQ(request.row(), std::vector<RowTensor>({{DataType::kBytes, {}}}));
  const auto answers = run_request(request, 2);
  if (!answers) return {concat('<', answers.error().message, '>')};
  std::vector<std::string> out;
  for (const AnswerPiece& piece : *answers) {
    for (std::uint64_t i = 0; i < piece.rows; ++i)
      out.emplace_back(piece.outputs->tensors[0].strings[piece.first_row + i]);
  }
  return out;
}

template <typename Request>
std::vector<std::string> rows_or_error(const Result<Request>& request, const ServedSignature& signature) {
  if (!request) return {concat('<', request.error().message, '>')};
  const auto bound = request->bind(signature);
  return bound ? rows_of(**bound) : std::vector{concat('<', bound.error().message, '>')};
}

std::vector<std::string> rest_rows(std::string_view body, const ServedSignature& signature = kPerson) {
  return rows_or_error(RestRequest::parse(body), signature);
}

std::vector<std::string> infer_rows(std::string_view inputs, const ServedSignature& signature = kPerson) {
  return rows_or_error(InferRequest::parse(concat("{\"inputs\":[", inputs, "]}"), std::nullopt), signature);
}

TEST(RawRows, AreInstancesThatAreObjects) {
  EXPECT_THAT(rest_rows(R"({"instances":[{"text": "a\"\n", "age" : 1.50, "id":7},
                                         {"age":null,"text":["b",{"x":[]}],"note":{"b64":"YQ=="}}]})"),
              ElementsAre(R"({"text":"a\"\n","age":1.5})",
                          R"({"age":null,"text":["b",{"x":[]}],"note":{"b64":"YQ=="}})"));
}

TEST(RawRows, AreValuesOfTheOnlyColumn) {
  EXPECT_THAT(rest_rows(R"({"instances":[{"b64":"YQ=="},{"image":{"b64":""}}]})", kImage),
              ElementsAre(R"({"image":{"b64":"YQ=="}})", R"({"image":{"b64":""}})"));
  const ServedSignature one_needed = raw_signature({{"note", false, false}, {"text"}});
  EXPECT_THAT(rest_rows(R"({"instances":["a",["b"],{"text":"c","note":1}]})", one_needed),
              ElementsAre(R"({"text":"a"})", R"({"text":["b"]})", R"({"text":"c","note":1})"));
  const ServedSignature none_needed = raw_signature({{"note", false, false}});
  EXPECT_THAT(rest_rows(R"({"instances":[{},1]})", none_needed), ElementsAre("{}", R"({"note":1})"));
  const ServedSignature odd = raw_signature({{"b64"}, {"\"\n"}});
  EXPECT_THAT(rest_rows("{\"instances\":[{\"\\\"\\n\":1,\"b64\":\"x\"}]}", odd),
              ElementsAre("{\"\\\"\\n\":1,\"b64\":\"x\"}"));
}

TEST(RawRows, AreColumns) {
  EXPECT_THAT(rest_rows(R"({"inputs":{"age":[1,2],"text":["a","b"],"id":7}})"),
              ElementsAre(R"({"age":1,"text":"a"})", R"({"age":2,"text":"b"})"));
  EXPECT_THAT(rest_rows(R"({"inputs":[{"b64":"YQ=="}]})", kImage),
              ElementsAre(R"({"image":{"b64":"YQ=="}})"));
}

TEST(RawRows, AreWholeTexts) {
  EXPECT_THAT(rest_rows(R"({"instances":[{"row":"{\"age\": 1}"}]})"), ElementsAre(R"({"age": 1})"));
  EXPECT_THAT(rest_rows(R"({"inputs":{"row":["{}","x"]}})"), ElementsAre("{}", "x"));
  EXPECT_THAT(infer_rows(R"({"name":"row","datatype":"BYTES","shape":[2,1],"data":["{}","x"]})"),
              ElementsAre("{}", "x"));
  EXPECT_THAT(rest_rows(R"({"instances":[{"row":"{}"}]})", raw_signature({{"row"}})),
              ElementsAre(R"({"row":"{}"})"))
      << "a column of that name";
}

TEST(RawRows, AreTensorsByColumn) {
  EXPECT_THAT(infer_rows(R"({"name":"age","datatype":"FP32","shape":[2],"data":[1,0.1]},
                            {"name":"text","datatype":"BYTES","shape":[2,1],"data":["a","\u00e4"]},
                            {"name":"note","datatype":"INT64","shape":[2,2],"data":[1,2,3,4]},
                            {"name":"other","datatype":"BOOL","shape":[],"data":true})"),
              ElementsAre(R"({"age":1.0,"text":"a","note":[1,2]})",
                          "{\"age\":0.1,\"text\":\"\u00e4\",\"note\":[3,4]}"));
  EXPECT_THAT(infer_rows(R"({"name":"image","datatype":"BYTES","shape":[1],"data":["ab"]})", kImage),
              ElementsAre(R"({"image":{"b64":"YWI="}})"));
}

TEST(RawRows, SayWhatDoesNotFit) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {R"({"instances":[{"age":1,"text":"a"},{"age":1}]})",
       "instance 1 lacks the column text; the columns are age, note (optional), text"},
      {R"({"instances":[{"x":1}]})", "instance 0 has none of the columns: it has x, the columns are age"},
      {R"({"instances":[{}]})", "instance 0 lacks the column age"},
      {R"({"instances":["a"]})",
       "instance 0 is a value without a column's name: send an object with the columns age"},
      {R"({"instances":[{"age":1,"age":2,"text":""}]})", "instance 0 has the column age twice"},
      {R"({"instances":[{"age":[NaN],"text":""}]})", "instance 0, column age: NaN and infinities"},
      {R"({"inputs":{"age":[1,2],"text":["a"]}})", "the column text has 1 rows, age has 2"},
      {R"({"inputs":{"age":[1,2]}})", "row 0 lacks the column text"},
      {R"({"inputs":{"age":1,"text":["a"]}})", "the column age is 1, not a list of rows"},
      {R"({"inputs":{"age":[],"text":[]}})", "the request has no row: send at least one"},
      {R"({"inputs":{"x":[1]}})", "no member of \"inputs\" is a column"},
      {R"({"inputs":{}})", "no member of \"inputs\" is a column"},
      {R"({"inputs":["a"]})", "a value without a column's name"},
      {R"({"inputs":{"row":[1]}})", "row 0 is 1, not a text"},
  };
  for (const auto& [body, expected] : cases)
    EXPECT_THAT(rest_rows(body), ElementsAre(HasSubstr(expected))) << body;

  const std::pair<std::string_view, std::string_view> inputs[] = {
      {R"({"name":"x","datatype":"BYTES","shape":[1],"data":["a"]})", "no input is a column"},
      {R"({"name":"age","datatype":"INT8","shape":[1],"data":[1]})", "row 0 lacks the column text"},
      {R"({"name":"age","datatype":"INT8","shape":[],"data":[1]})", "the input age is a scalar"},
      {R"({"name":"age","datatype":"INT8","shape":[0],"data":[]})", "the input age has no rows"},
      {R"({"name":"age","datatype":"INT8","shape":[1099511627776,0],"data":[]})",
       "rows of the input age are empty"},
      {R"({"name":"age","datatype":"FP32","shape":[1],"data":[NaN]})",
       "row 0, column age: NaN and infinities"},
      {R"({"name":"row","datatype":"BYTES","shape":[1,2],"data":["a","b"]})",
       "should have one text for each row"},
      {R"({"name":"age","datatype":"INT8","shape":[1],"data":[1]},)"
       R"({"name":"age","datatype":"INT8","shape":[1],"data":[1]})",
       "row 0 has the column age twice"},
      {R"({"name":"age","datatype":"INT8","shape":[1],"data":[1]},)"
       R"({"name":"text","datatype":"BYTES","shape":[2],"data":["a","b"]})",
       "the input text has 2 rows, age has 1"},
  };
  for (const auto& [input, expected] : inputs)
    EXPECT_THAT(infer_rows(input), ElementsAre(HasSubstr(expected))) << input;
}

}  // namespace
}  // namespace headrace
