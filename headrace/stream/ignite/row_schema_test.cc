#include "headrace/stream/ignite/row_schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headrace::ignite {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(RowSchema, KnowsLengthsTypesAndGapsOfAllRows) {
  RowSchema schema;
  schema.add({.features = {{"key", DataType::kInt64, 1},
                           {"val.pixels", DataType::kFloat32, 4},
                           {"val.words", DataType::kBytes, 2},
                           {"val.n", DataType::kInt64, 1}},
              .unsupported = {"val.map"}});
  schema.add({.features = {{"key", DataType::kInt64, 1},
                           {"val.pixels", DataType::kFloat32, 4},
                           {"val.words", DataType::kBytes, 3},
                           {"val.n", DataType::kFloat32, 1},
                           {"val.later", DataType::kBytes, 1}}});
  const std::map<std::string, FeatureSchema> features = schema.features();
  ASSERT_EQ(features.size(), 4U);
  EXPECT_EQ(features.at("key").shape, std::vector<std::int64_t>{});
  EXPECT_FALSE(features.at("key").is_optional);
  EXPECT_EQ(features.at("val.pixels").dtype, "float32");
  EXPECT_EQ(features.at("val.pixels").shape, std::vector<std::int64_t>{4});
  EXPECT_EQ(features.at("val.words").shape, std::nullopt);
  EXPECT_TRUE(features.at("val.later").is_optional);
  EXPECT_THAT(schema.remarks(), ElementsAre(HasSubstr("val.map"), HasSubstr("val.n")));
}

TEST(RowSchema, EndsAtALimitOfNames) {
  RowSchema schema;
  for (std::size_t i = 0; i <= kIgniteFieldLimit; ++i)
    schema.add({.features = {{std::to_string(i), DataType::kInt64, 1}}});
  EXPECT_EQ(schema.features().size(), kIgniteFieldLimit);
  EXPECT_THAT(schema.remarks(), ElementsAre(HasSubstr("10000 different fields")));
}

}  // namespace
}  // namespace headrace::ignite
