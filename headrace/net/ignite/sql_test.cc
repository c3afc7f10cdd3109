// Results of SQL that real nodes do not send.

#include "headrace/net/ignite/sql.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "headrace/base/text.h"
#include "headrace/net/ignite/scripted_node_test.h"

namespace headrace::ignite {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// The body of the first answer: columns of these names, and a page of these objects.
Bytes result_of(const std::vector<std::string>& columns, const std::vector<Bytes>& objects, std::int32_t rows,
                bool has_more = false) {
  Bytes body;
  append_little_endian(body, std::int64_t{7});  // cursor
  append_little_endian(body, static_cast<std::int32_t>(columns.size()));
  for (const std::string& column : columns) append_string(body, column);
  append_little_endian(body, rows);
  for (const Bytes& object : objects) append(body, object);
  append_little_endian(body, static_cast<std::uint8_t>(has_more));
  return body;
}

class SqlTest : public testing::Test {
 protected:
  Result<std::unique_ptr<SqlResult>> run(const Bytes& answer, const SqlQuery& query = {.text = "SELECT 1"}) {
    node_ = std::make_unique<ScriptedNode>(std::vector<ScriptedNode::Script>{[answer](Peer& peer) {
      peer.accept_handshake();
      while (const std::int64_t request = peer.read_request()) peer.answer(request, answer);
    }});
    HEADRACE_TRY(auto cluster, Cluster::connect({.addresses = {node_->address()}}));
    return SqlResult::run(std::move(cluster), query);
  }

 private:
  std::unique_ptr<ScriptedNode> node_;
};

TEST_F(SqlTest, RowsAreTakenOneAfterAnother) {
  const Bytes null{std::byte{101}};
  auto result = run(result_of({"A", "B"}, {encode_long(1), null, null, encode_string("x")}, 2));
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_THAT((*result)->columns(), ElementsAre("A", "B"));
  auto page = (*result)->next_page();
  ASSERT_TRUE(page && *page);
  EXPECT_EQ((*page)->row_count(), 2U);
  std::vector<BytesView> row;
  ASSERT_TRUE((*page)->next(row));
  EXPECT_TRUE(std::ranges::equal(row.at(0), encode_long(1)) && std::ranges::equal(row.at(1), null));
  ASSERT_TRUE((*page)->next(row));
  EXPECT_TRUE(std::ranges::equal(row.at(0), null) && std::ranges::equal(row.at(1), encode_string("x")));
  EXPECT_FALSE((*page)->next(row));
  const auto end = (*result)->next_page();
  EXPECT_TRUE(end && !*end);
}

TEST_F(SqlTest, APageThatEndsTooEarlyIsAnError) {
  const Bytes whole = result_of({"A"}, {encode_long(1), encode_long(2)}, 2);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const auto result = run(Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)));
    ASSERT_FALSE(result) << size;
    EXPECT_EQ(result.error().code, Code::kDataLoss) << size << ' ' << result.error().message;
  }
}

TEST_F(SqlTest, MoreRowsThanBytesAreAnError) {
  const auto rows = run(result_of({"A", "B"}, {encode_long(1), encode_long(2)}, 1'000'000'000));
  EXPECT_EQ(rows.error().code, Code::kDataLoss);
  EXPECT_EQ(run(result_of({"A"}, {}, -1)).error().code, Code::kDataLoss);
  EXPECT_EQ(run(result_of({}, {}, 3)).error().code, Code::kDataLoss);
}

TEST_F(SqlTest, MoreColumnsThanAnySelectHasAreRefused) {
  const auto result = run(result_of(std::vector<std::string>(kSqlColumnLimit + 1), {}, 0));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Code::kResourceExhausted);
  EXPECT_THAT(result.error().message, HasSubstr(concat("the limit is ", kSqlColumnLimit)));
}

// Which statements are sent again, when the connection is lost before the answer.
TEST_F(SqlTest, OnlyWhatMayBeRepeatedIsSentAgain) {
  const auto run_after_a_loss = [](const SqlQuery& query) {
    const auto lose = [](Peer& peer) {
      peer.accept_handshake();
      peer.read_request();
    };
    const auto answer = [](Peer& peer) {
      peer.accept_handshake();
      peer.answer(peer.read_request(), result_of({"UPDATED"}, {encode_long(1)}, 1));
      peer.read_request();
    };
    const ScriptedNode node({lose, answer});
    const auto cluster = Cluster::connect({.addresses = {node.address()}});
    EXPECT_TRUE(cluster) << cluster.error().message;
    const auto result = SqlResult::run(*cluster, query);
    return result ? std::optional<Code>() : result.error().code;
  };
  EXPECT_EQ(run_after_a_loss({.text = "SELECT 1", .is_select = true}), std::nullopt);
  EXPECT_EQ(run_after_a_loss({.text = "MERGE INTO T VALUES (1)", .is_repeatable = true}), std::nullopt);
  EXPECT_EQ(run_after_a_loss({.text = "INSERT INTO T VALUES (1)"}), Code::kUnknown);
}

}  // namespace
}  // namespace headrace::ignite
