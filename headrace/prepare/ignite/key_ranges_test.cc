#include "headrace/prepare/ignite/key_ranges.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "headrace/base/text.h"
#include "headrace/prepare/ignite/sql_node_test.h"

namespace headrace {
namespace {

using ignite::encode_long;
using ignite::encode_string;
using ignite::Peer;
using ignite::ScriptedNode;
using testing::ElementsAre;
using testing::HasSubstr;

// Lists rows of these ids, each with a text of 100 bytes.
Result<std::vector<KeyRange>> list(const std::vector<Bytes>& ids, std::uint64_t range_bytes,
                                   const OrderedQuery& query) {
  std::vector<SqlRow> rows;
  for (const Bytes& id : ids) rows.push_back({id, encode_string(std::string(100, 'x'))});
  const ScriptedNode node({[&](Peer& peer) {
    peer.accept_handshake();
    peer.answer(peer.read_request(), sql_answer({"ID", "TEXT"}, rows));
    peer.read_request();
  }});
  return list_ranges(cluster_of(node), query, range_bytes, {});
}

const OrderedQuery kById{.statement = "S", .order = {"ID"}, .columns = 2};

TEST(KeyRanges, AreCutWhereTheyHaveEnoughBytes) {
  const auto ranges =
      list({encode_long(1), encode_long(2), encode_long(4), encode_long(8), encode_long(9)}, 200, kById);
  ASSERT_TRUE(ranges) << ranges.error().message;
  ASSERT_EQ(ranges->size(), 3U);
  EXPECT_THAT((*ranges)[0].after, ElementsAre());
  EXPECT_THAT((*ranges)[0].last, ElementsAre(encode_long(2)));
  EXPECT_THAT((*ranges)[1].after, ElementsAre(encode_long(2)));
  EXPECT_THAT((*ranges)[1].last, ElementsAre(encode_long(8)));
  EXPECT_THAT((*ranges)[2].last, ElementsAre(encode_long(9)));
  EXPECT_EQ((*ranges)[0].rows + (*ranges)[1].rows + (*ranges)[2].rows, 5U);
  EXPECT_EQ((*ranges)[0].size_bytes, 2 * (9 + 5 + 100));
}

TEST(KeyRanges, WithoutAKeyThereIsOne) {
  const auto ranges = list({encode_long(1), encode_long(1)}, 1, {.statement = "S", .columns = 2});
  ASSERT_TRUE(ranges) << ranges.error().message;
  ASSERT_EQ(ranges->size(), 1U);
  EXPECT_EQ((*ranges)[0].rows, 2U);
  EXPECT_TRUE((*ranges)[0].last.empty());
}

TEST(KeyRanges, AKeyThatIsNoneIsNamed) {
  EXPECT_THAT(list({encode_long(1), encode_long(1)}, 200, kById).error().message,
              HasSubstr("ID is in two rows (row 2)"));
  EXPECT_THAT(list({Bytes{std::byte{101}}}, 200, kById).error().message, HasSubstr("ID is null (row 1)"));
  EXPECT_EQ(list({}, 200, kById).error().code, Code::kNotFound);
}

TEST(KeyRanges, AChangedValueChangesTheDigest) {
  const auto one = list({encode_long(1)}, 200, kById), other = list({encode_long(2)}, 200, kById);
  EXPECT_NE(one->at(0).digest, other->at(0).digest);
  EXPECT_EQ(one->at(0).digest, list({encode_long(1)}, 200, kById)->at(0).digest);
}

TEST(KeyRanges, AreReadAsTheyAreWritten) {
  const KeyRange range{
      .after = {encode_long(7), encode_string("a")}, .last = {encode_long(8), encode_string("b")}, .rows = 5};
  const std::string text = range_to_json(range, {.order = {"ID", "PART"}, .columns = 4});
  const auto read = parse_range(text);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->rows, 5U);
  EXPECT_EQ(read->query.columns, 4U);
  EXPECT_THAT(read->query.order, ElementsAre("ID", "PART"));
  EXPECT_EQ(read->query.after, range.after);
  EXPECT_EQ(read->query.last, range.last);
  // The example of docs/formats/ignite-input.md.
  EXPECT_EQ(range_to_json({.after = {encode_long(7)}, .last = {encode_long(8)}, .rows = 1},
                          {.order = {"ID"}, .columns = 2}),
            R"({"after":["BAcAAAAAAAAA"],"columns":2,"last":["BAgAAAAAAAAA"],"order":["ID"],"rows":1})");
}

TEST(KeyRanges, ADamagedPlaceIsAnError) {
  for (const char* place :
       {"", "{}", "[]", R"({"columns":2,"order":["ID"]})", R"({"columns":0,"order":[],"rows":1})",
        R"({"columns":99999999,"order":[],"rows":1})", R"({"columns":-1,"order":[],"rows":1})",
        R"({"columns":2,"order":["ID"],"rows":1,"last":["BAgAAA=="]})",  // an object that ends too early
        R"({"columns":2,"order":["ID"],"rows":1,"last":["BAgAAAAAAAAAAA=="]})",  // bytes behind it
        R"({"columns":2,"order":["ID"],"rows":1,"last":["no base64"]})",
        R"({"columns":2,"order":["ID"],"rows":1,"last":[]})",
        R"({"columns":2,"order":["ID","B"],"rows":1,"last":["BAgAAAAAAAAA"]})",
        R"({"columns":2,"order":["ID"],"rows":1,"after":7})"}) {
    EXPECT_EQ(parse_range(place).error().code, Code::kDataLoss) << place;
  }
}

// The rows of a table, whose key the node names.
TEST(FindQuery, TakesThePrimaryKeyOfATable) {
  const ScriptedNode node({[&](Peer& peer) {
    peer.accept_handshake();
    peer.answer(peer.read_request(), sql_answer({"COLUMNS"}, {{encode_string("\"PART\" ASC, \"ID\" ASC")}}));
    peer.answer(peer.read_request(), sql_answer({"ID", "PART"}, {{encode_long(1), encode_long(2)}}));
    peer.read_request();
  }});
  const auto query =
      find_query(cluster_of(node), {.table = "T", .statement = "SELECT * FROM \"T\"", .order_by = {}}, {});
  ASSERT_TRUE(query) << query.error().message;
  EXPECT_THAT(query->order, ElementsAre("PART", "ID"));
  EXPECT_EQ(query->columns, 2U);
  EXPECT_EQ(query->page_rows, 8192);
}

TEST(FindQuery, FindsTheColumnOfAKeyThatIsOneValue) {
  const ScriptedNode node({[&](Peer& peer) {
    peer.accept_handshake();
    peer.answer(peer.read_request(), sql_answer({"COLUMNS"}, {{encode_string("\"_KEY\" ASC")}}));
    peer.answer(peer.read_request(), sql_answer({"COLUMN_NAME"}, {{encode_string("PART")}}));
    peer.answer(peer.read_request(), sql_answer({"ID", "PART"}, {}));
    peer.read_request();
  }});
  const auto query = find_query(cluster_of(node), {.table = "T", .statement = "S"}, {});
  ASSERT_TRUE(query) << query.error().message;
  EXPECT_THAT(query->order, ElementsAre("PART"));
}

TEST(FindQuery, FindsAColumnInCapitals) {
  const auto find = [](const std::string& column) {
    const ScriptedNode node({[&](Peer& peer) {
      peer.accept_handshake();
      peer.answer(peer.read_request(), sql_answer({"ID", "name"}, {}));
      peer.read_request();
    }});
    return find_query(cluster_of(node), {.statement = "S", .order_by = {column}}, {});
  };
  EXPECT_THAT(find("id")->order, ElementsAre("ID"));
  EXPECT_THAT(find("name")->order, ElementsAre("name"));
  EXPECT_THAT(find("NAME").error().message, HasSubstr("no column NAME"));
}

}  // namespace
}  // namespace headrace
