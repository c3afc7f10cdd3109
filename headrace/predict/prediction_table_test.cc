#include "headrace/predict/prediction_table.h"

#include <gmock/gmock.h>

#include "headrace/base/text.h"
#include "headrace/net/ignite/sql.h"
#include "headrace/predict/answers_test.h"
#include "headrace/predict/sql_prediction_table.h"
#include "headrace/prepare/ignite/sql_node_test.h"

namespace headrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> names(const std::vector<TableColumn>& columns) {
  std::vector<std::string> out;
  for (const TableColumn& column : columns) out.push_back(column.name + (column.is_number ? " REAL" : ""));
  return out;
}

TEST(TableColumns, NeedNoQuotesInSql) {
  EXPECT_THAT(names(table_columns(*format_of({"pos", "neg"}))),
              ElementsAre("LABEL", "PROBABILITY_POS REAL", "PROBABILITY_NEG REAL"));
}

TEST(TableColumns, AreDifferentWhereTheirNamesAreNot) {
  EXPECT_THAT(names(table_columns(*format_of({"a b", "A-B"}))),
              ElementsAre("LABEL", "PROBABILITY_A_B REAL", "PROBABILITY_A_B_2 REAL"));
}

TEST(RowKey, NamesARowWithoutAnId) {
  EXPECT_EQ(row_key({.id = "a", .row = 3}), "a");
  EXPECT_EQ(row_key({.row = 3}), "3");
  EXPECT_EQ(row_key({.source = "file:///a.csv", .row = 3}), "file:///a.csv#3");
}

// The statements that writing these rows sends, with their arguments as bytes.
std::vector<std::string> sent(const std::vector<RowName>& rows, bool loses_a_batch = false) {
  std::vector<std::string> statements;
  const auto serve = [&](ignite::Peer& peer, int answers) {
    peer.accept_handshake();
    while (true) {
      const ignite::ScriptedRequest request = peer.next_request();
      if (request.number == 0) return;
      statements.push_back(to_string(request.body));
      if (answers-- == 0) return;
      peer.answer(request.number, sql_answer({"UPDATED"}, {{ignite::encode_long(1)}}));
    }
  };
  ignite::ScriptedNode node({[&](ignite::Peer& peer) { serve(peer, loses_a_batch ? 1 : 1000); },
                             [&](ignite::Peer& peer) { serve(peer, 1000); }});
  const auto format = format_of({"pos", "neg"});
  {
    const auto table = open_sql_prediction_table(cluster_of(node), "PUBLIC", "T", *format, "digest", {});
    EXPECT_TRUE(table) << table.error().message;
    PredictionTable::Batch batch(**table);
    const Answers answers = answers_of(format, rows.size());
    for (std::size_t row = 0; row < rows.size(); ++row) EXPECT_TRUE(batch.add(rows[row], answers, row, {}));
    const Status done = batch.finish({});
    EXPECT_TRUE(done) << done.error().message;
  }
  node.wait_until_played(loses_a_batch ? 2 : 1);
  return statements;
}

std::size_t count(std::string_view text, std::string_view part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++found;
  return found;
}

TEST(PredictionTable, IsCreatedAndFilledByMerge) {
  const auto statements = sent({{.id = "a"}, {.row = 2}});
  ASSERT_EQ(statements.size(), 2U);
  EXPECT_THAT(statements[0],
              HasSubstr("CREATE TABLE IF NOT EXISTS \"T\" (\"ID\" VARCHAR PRIMARY KEY, \"LABEL\" VARCHAR, "
                        "\"PROBABILITY_POS\" REAL, \"PROBABILITY_NEG\" REAL, \"MODEL_DIGEST\" VARCHAR)"));
  EXPECT_THAT(statements[1],
              HasSubstr("MERGE INTO \"T\" (\"ID\", \"LABEL\", \"PROBABILITY_POS\", \"PROBABILITY_NEG\", "
                        "\"MODEL_DIGEST\") VALUES (?, ?, ?, ?, ?), (?, ?, ?, ?, ?)"));
  EXPECT_EQ(count(statements[1], "digest"), 2U);
}

TEST(PredictionTable, ABatchHasAKeyOnceAndAnEnd) {
  EXPECT_EQ(count(sent({{.id = "a"}, {.id = "a"}}).at(1), "(?, ?, ?, ?, ?)"), 1U);
  std::vector<RowName> rows(600);
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i].row = i + 1;
  const auto statements = sent(rows);
  ASSERT_EQ(statements.size(), 4U);
  EXPECT_EQ(count(statements[1], "(?, ?, ?, ?, ?)"), 256U);
  EXPECT_EQ(count(statements[3], "(?, ?, ?, ?, ?)"), 600U - 512U);
}

TEST(PredictionTable, ABatchWhoseConnectionIsLostIsSentAgain) {
  const auto statements = sent({{.id = "a"}}, true);
  ASSERT_EQ(statements.size(), 3U);
  EXPECT_EQ(statements[1], statements[2]);
}

}  // namespace
}  // namespace headrace
