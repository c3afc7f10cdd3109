#include "headrace/prepare/ignite/ordered_rows.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "headrace/prepare/ignite/ignite_rows.h"
#include "headrace/prepare/ignite/sql_node_test.h"

namespace headrace {
namespace {

using ignite::encode_long;
using ignite::encode_string;
using ignite::Peer;
using ignite::ScriptedNode;
using testing::ElementsAre;
using testing::HasSubstr;

SqlRow kitten(std::int64_t id, std::string_view name) { return {encode_long(id), encode_string(name)}; }

const std::vector<std::string> kColumns = {"ID", "NAME"};

TEST(OrderedStatement, OrdersByTheKeyWithinItsBounds) {
  OrderedQuery query{.statement = "SELECT * FROM T -- all", .order = {"A"}, .columns = 2};
  EXPECT_EQ(ordered_statement(query).text, "SELECT * FROM (\nSELECT * FROM T -- all\n) ORDER BY \"A\"");
  query.after = {encode_long(1)};
  query.last = {encode_long(5)};
  EXPECT_THAT(ordered_statement(query).text, HasSubstr(") WHERE \"A\" > ? AND \"A\" <= ? ORDER BY \"A\""));
  EXPECT_THAT(ordered_statement(query).arguments, ElementsAre(encode_long(1), encode_long(5)));
  EXPECT_TRUE(ordered_statement(query).is_select);
}

TEST(OrderedStatement, ComparesAKeyOfSeveralColumnsAsAWhole) {
  const OrderedQuery query{.statement = "S",
                           .order = {"A", "B\"C"},
                           .columns = 3,
                           .after = {encode_long(1), encode_long(2)},
                           .last = {encode_long(3), encode_long(4)}};
  EXPECT_EQ(ordered_statement(query).text,
            "SELECT * FROM (\nS\n) WHERE \"A\" >= ? AND (\"A\" > ? OR \"A\" = ? AND \"B\"\"C\" > ?) AND "
            "\"A\" <= ? AND (\"A\" < ? OR \"A\" = ? AND \"B\"\"C\" <= ?) ORDER BY \"A\", \"B\"\"C\"");
  EXPECT_EQ(ordered_statement(query).arguments.size(), 8U);
}

TEST(OrderedStatement, WithoutAKeyOrdersByAllColumns) {
  EXPECT_EQ(ordered_statement({.statement = "S", .columns = 3}).text,
            "SELECT * FROM (\nS\n) ORDER BY 1, 2, 3");
}

// The ids of all rows, or the error.
std::string ids(RowSource& rows) {
  std::string text;
  while (true) {
    const auto row = rows.next();
    if (!row) return text + row.error().message;
    if (!*row) return text;
    text += std::string((*row)->id) + " ";
  }
}

// A first page whose connection is lost behind it, and then the answer.
ScriptedNode node_that_is_lost(const Bytes& answer, Bytes& asked_again) {
  const auto lost = [](Peer& peer) {
    peer.accept_handshake();
    peer.answer(peer.read_request(), sql_answer(kColumns, {kitten(1, "WARM"), kitten(2, "SOFT")}, true));
    peer.read_request();
  };
  const auto again = [answer, &asked_again](Peer& peer) {
    peer.accept_handshake();
    const ignite::ScriptedRequest request = peer.next_request();
    asked_again = request.body;
    peer.answer(request.number, answer);
    peer.read_request();
  };
  return ScriptedNode({lost, again});
}

ListedRows three_kittens() {
  RowsDigest digest;
  for (const SqlRow& row : {kitten(1, "WARM"), kitten(2, "SOFT"), kitten(3, "FUR")})
    digest.add({row.begin(), row.end()});
  return {.name = "kittens#1", .rows = digest.rows(), .digest = digest.finish()};
}

TEST(OrderedRows, GoOnBehindTheLastKeyWhenANodeIsLost) {
  Bytes asked;
  const ScriptedNode node = node_that_is_lost(sql_answer(kColumns, {kitten(3, "FUR")}), asked);
  const auto rows = make_ignite_rows(cluster_of(node), {.statement = "S", .order = {"ID"}, .columns = 2},
                                     three_kittens(), 1000, {});
  EXPECT_EQ(ids(*rows), "1 2 3 ");
  const Bytes key = encode_long(2);
  EXPECT_THAT(to_string(asked), HasSubstr("\"ID\" > ?"));
  EXPECT_NE(std::search(asked.begin(), asked.end(), key.begin(), key.end()), asked.end());
}

TEST(OrderedRows, WithoutAKeyCountOffTheRowsThatWereGiven) {
  Bytes asked;
  const ScriptedNode node = node_that_is_lost(
      sql_answer(kColumns, {kitten(1, "WARM"), kitten(2, "SOFT"), kitten(3, "FUR")}), asked);
  const auto rows =
      make_ignite_rows(cluster_of(node), {.statement = "S", .columns = 2}, three_kittens(), 1000, {});
  EXPECT_EQ(ids(*rows), "1 2 3 ");
}

std::string read_all(const std::vector<SqlRow>& answer, OrderedQuery query) {
  const ScriptedNode node({[&](Peer& peer) {
    peer.accept_handshake();
    peer.answer(peer.read_request(), sql_answer(kColumns, answer));
    peer.read_request();
  }});
  return ids(*make_ignite_rows(cluster_of(node), std::move(query), three_kittens(), 1000, {}));
}

TEST(IgniteRows, SayThatTheyHaveChanged) {
  const OrderedQuery query{.statement = "S", .order = {"ID"}, .columns = 2};
  const auto warm = kitten(1, "WARM"), soft = kitten(2, "SOFT"), fur = kitten(3, "FUR");
  EXPECT_EQ(read_all({warm, soft, fur}, query), "1 2 3 ");
  EXPECT_THAT(read_all({warm, soft, kitten(3, "COLD")}, query),
              HasSubstr("have changed since they were listed"));
  EXPECT_THAT(read_all({warm, soft}, query), HasSubstr("have changed"));
  EXPECT_THAT(read_all({warm, soft, fur, kitten(4, "NEW")}, query), HasSubstr("have changed"));
  EXPECT_THAT(read_all({soft, warm, fur}, {.statement = "S", .columns = 2}), HasSubstr("order_by"));
  EXPECT_THAT(read_all({warm}, {.statement = "S", .order = {"GONE"}, .columns = 2}),
              HasSubstr("no column GONE any more"));
  EXPECT_THAT(read_all({warm}, {.statement = "S", .columns = 3}), HasSubstr("2 columns, but had 3"));
}

TEST(IgniteRows, AnIdIsTheTextOfTheKey) {
  EXPECT_THAT(read_all({kitten(1, "a, b")}, {.statement = "S", .order = {"NAME"}, .columns = 2}),
              HasSubstr("a, b "));
  EXPECT_THAT(read_all({kitten(1, "a\"")}, {.statement = "S", .order = {"ID", "NAME"}, .columns = 2}),
              HasSubstr("[1,\"a\\\"\"] "));
}

}  // namespace
}  // namespace headrace
