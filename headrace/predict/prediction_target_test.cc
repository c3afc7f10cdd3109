#include "headrace/predict/prediction_target.h"

#include <gmock/gmock.h>

namespace headrace {
namespace {

using testing::HasSubstr;

Status checked(std::string_view data, std::string_view to) {
  HEADRACE_TRY(const PredictionTarget target, parse_prediction_target(to));
  return check_is_no_source(target, data);
}

TEST(PredictionTarget, IsNotTheCacheThatTheRowsComeFrom) {
  const std::pair<const char*, const char*> same[] = {
      {"ignite-cache://n1/PEOPLE", "ignite-cache://n1/PEOPLE"},
      {"ignite-cache://n1:10800,n2/PEOPLE?columns=val.text", "ignite-cache://n3/PEOPLE?type=Answer"},
      {"ignite-sql://n1/people", "ignite-cache://n1/SQL_PUBLIC_PEOPLE"},
      {"ignite-cache://n1/SQL_PUBLIC_PEOPLE", "ignite-table://n1/people"},
      {"ignite-sql://n1/\"people\"?schema=S", "ignite-cache://n1/SQL_S_people"},
      {"ignite-sql://n1/people?order_by=NAME", "ignite-table://n2/PEOPLE"},
      {"ignite-sql://n1/PERSON?schema=films", "ignite-cache://n1/films"},
      {"ignite-sql://n1/?query=SELECT 1&schema=films", "ignite-cache://n1/films"},
  };
  for (const auto& [data, to] : same) {
    const Status status = checked(data, to);
    ASSERT_FALSE(status) << data << " into " << to;
    EXPECT_EQ(status.error().code, Code::kInvalidArgument);
    EXPECT_THAT(status.error().message, HasSubstr("--to and --data name the same cache"));
  }
}

TEST(PredictionTarget, IsAnyOtherPlace) {
  const std::pair<const char*, const char*> others[] = {
      {"ignite-cache://n1/PEOPLE", "ignite-cache://n1/INCOMES"},
      {"ignite-cache://n1/PEOPLE", "ignite-cache://n1/people"},
      {"ignite-cache://n1/PEOPLE", "ignite-table://n1/PEOPLE"},
      {"ignite-sql://n1/people", "ignite-cache://n1/PEOPLE"},
      {"ignite-sql://n1/people", "ignite-table://n1/people?schema=OTHER"},
      {"ignite-sql://n1/\"people\"", "ignite-table://n1/PEOPLE"},
      {"ignite-sql://n1/people", "ignite-cache://n1/PUBLIC"},
      {"s3://bucket/PEOPLE", "ignite-cache://n1/PEOPLE"},
      {"people.csv", "ignite-table://n1/people"},
  };
  for (const auto& [data, to] : others) {
    const Status status = checked(data, to);
    EXPECT_TRUE(status) << data << " into " << to << ": " << status.error().message;
  }
}

TEST(PredictionTarget, IsNotComparedWithAUrlThatCannotBeRead) {
  const Status status = checked("ignite-cache://n1/PEOPLE?rows=2", "ignite-cache://n1/INCOMES");
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message, HasSubstr("rows"));
}

}  // namespace
}  // namespace headrace
