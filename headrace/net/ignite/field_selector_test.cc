#include "headrace/net/ignite/field_selector.h"

#include <gtest/gtest.h>

#include "headrace/net/ignite/object_bytes_test.h"
#include "headrace/net/ignite/object_decoder.h"
#include "headrace/net/ignite/object_encoder.h"

namespace headrace::ignite {
namespace {

TEST(FieldSelector, SelectsWhatLiesAtOrBelowAPath) {
  const FieldPaths paths({"val.a.b", "val.pix"});
  EXPECT_TRUE(paths.select("val.a.b"));
  EXPECT_TRUE(paths.select("val.a.b.c"));
  EXPECT_FALSE(paths.select("val.a"));
  EXPECT_FALSE(paths.select("val.pixels"));
  EXPECT_TRUE(paths.lead_to("val.a"));
  EXPECT_TRUE(paths.lead_to("val"));
  EXPECT_FALSE(paths.lead_to("key"));
  EXPECT_TRUE(FieldPaths({}).select("key"));
}

/// {"label": 3, "inner": {"label": 4, "x": 5}}
struct Nested {
  Value inner = *make_object("Inner", {{"label", std::int32_t{4}}, {"x", std::int32_t{5}}});
  Value outer = *make_object("Outer", {{"label", std::int32_t{3}}, {"inner", inner}});
  BinaryTypes types{types_of({described(inner), described(outer)})};

  static std::pair<const std::int32_t, BinaryType> described(const Value& value) {
    const auto& object = *std::get<std::shared_ptr<const ComplexObject>>(value);
    return {object.type->id, *object.type};
  }
};

TEST(FieldSelector, GivesTheValuesAtPathsAndCountsTheRest) {
  Nested nested;
  Bytes bytes;
  ASSERT_TRUE(append_object(nested.outer, {}, bytes));
  FieldSelector selector(FieldPaths({"v.inner.label"}), nested.types);
  DecodeBudget budget;
  SelectedFields found;
  ASSERT_EQ(selector.level("w"), nullptr);
  ASSERT_TRUE(select_fields(bytes, selector, *selector.level("v"), budget, found));
  ASSERT_EQ(found.fields.size(), 1U);
  EXPECT_EQ(found.fields[0].name, "v.inner.label");
  EXPECT_EQ(std::get<std::int32_t>(found.fields[0].value), 4);
  EXPECT_EQ(found.passed_by, 4U);  // the two objects, and a field of each
}

TEST(FieldSelector, RefusesReferencesAndWhatTheBudgetDoesNotAllow) {
  Nested nested;
  const Value twice = *make_object("Twice", {{"a", nested.inner}, {"b", nested.inner}});
  BinaryTypes types(types_of({Nested::described(nested.inner), Nested::described(twice)}));
  Bytes bytes;
  ASSERT_TRUE(append_object(twice, {}, bytes));
  const auto select = [&](const std::string& path, DecodeBudget budget) {
    FieldSelector selector(FieldPaths({path}), types);
    SelectedFields found;
    return select_fields(bytes, selector, *selector.level("v"), budget, found);
  };
  EXPECT_TRUE(select("v.a.x", {}));
  EXPECT_FALSE(select("v.b.x", {}));
  EXPECT_FALSE(select("v.b", {}));
  EXPECT_FALSE(select("v.a.x", {.bytes = 8}));
}

}  // namespace
}  // namespace headrace::ignite
