#include "headrace/predict/cache_prediction_table.h"

#include <gmock/gmock.h>

#include "headrace/base/text.h"
#include "headrace/net/ignite/cache_node_test.h"
#include "headrace/net/ignite/object_decoder.h"
#include "headrace/net/ignite/value_text.h"
#include "headrace/predict/answers_test.h"
#include "headrace/prepare/ignite/sql_node_test.h"

namespace headrace {
namespace {

using ignite::Operation;
using testing::ElementsAre;
using testing::HasSubstr;

// A node that takes entries, and forgets the connection at one of the puts.
struct TakingNode {
  int puts_before_a_loss = 1000;
  bool knows_another_type = false;
  ignite::BinaryType type{};
  std::vector<std::string> created{};  // bodies
  std::vector<std::string> puts{};

  void serve(ignite::Peer& peer) {
    peer.accept_handshake();
    for (auto request = peer.next_request(); request.number != 0; request = peer.next_request()) {
      if (request.operation == Operation::kCachePutAll) {
        puts.push_back(to_string(request.body));
        if (puts_before_a_loss-- == 0) return;
      }
      if (request.operation == Operation::kCacheGetOrCreateWithConfiguration)
        created.push_back(to_string(request.body));
      if (request.operation == Operation::kBinaryTypePut) {
        if (knows_another_type) {
          peer.refuse(request.number, 1, "Binary type has different field types");
          continue;
        }
        Bytes answer{std::byte{1}};
        append(answer, request.body);
        type = **ignite::read_binary_type(answer);
      }
      const bool asks_for_owners = request.operation == Operation::kCachePartitions;
      peer.answer(request.number, asks_for_owners
                                      ? ignite::map_of(ignite::java_hash("C"), {{ignite::NodeId{1, 1}, 4}})
                                      : Bytes());
    }
  }

  // "key value" of each entry of a put.
  std::vector<std::string> entries(std::size_t put) const {
    ignite::BinaryTypes types([this](std::int32_t) { return std::optional(type); });
    const Bytes body = to_bytes(puts.at(put));
    ignite::ObjectCursor cursor(body, 5);  // behind the cache and the flags
    std::int32_t count = 0;
    std::vector<std::string> out;
    if (!cursor.read(count)) return {"no count"};
    for (std::int32_t i = 0; i < count; ++i) {
      const BytesView key = *ignite::take_object(cursor), value = *ignite::take_object(cursor);
      out.push_back(concat(ignite::to_json(*ignite::decode_object(key, types))->dump(), " ",
                           ignite::to_json(*ignite::decode_object(value, types))->dump()));
    }
    return out;
  }
};

Status put_predictions(TakingNode& taking, const std::vector<RowName>& rows, int connections = 1) {
  std::vector<ignite::ScriptedNode::Script> scripts(static_cast<std::size_t>(connections),
                                                    [&](ignite::Peer& peer) { taking.serve(peer); });
  ignite::ScriptedNode node(std::move(scripts));
  const auto format = format_of({"pos", "neg"});
  HEADRACE_TRY(const auto table,
               open_cache_prediction_table(cluster_of(node), "C", "Answer", *format, "abc", {}));
  PredictionTable::Batch batch(*table);
  const Answers answers = answers_of(format, rows.size());
  for (std::size_t row = 0; row < rows.size(); ++row) HEADRACE_CHECK(batch.add(rows[row], answers, row, {}));
  return batch.finish({});
}

TEST(CachePredictionTable, PutsAnObjectForEachRow) {
  TakingNode node;
  const Status done = put_predictions(node, {{.id = "b"}, {.row = 2}, {.id = "b"}});
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(node.created.size(), 1U);
  EXPECT_EQ(node.type.name, "Answer");
  ASSERT_EQ(node.puts.size(), 1U);
  const std::string value =
      R"({"LABEL":"pos","MODEL_DIGEST":"abc","PROBABILITY_NEG":0.25,"PROBABILITY_POS":0.75})";
  EXPECT_THAT(node.entries(0), testing::UnorderedElementsAre("\"2\" " + value, "\"b\" " + value));
}

TEST(CachePredictionTable, PutsABatchAgainWhoseConnectionWasLost) {
  TakingNode node{.puts_before_a_loss = 0};
  const Status done = put_predictions(node, {{.id = "a"}}, 2);
  ASSERT_TRUE(done) << done.error().message;
  ASSERT_EQ(node.puts.size(), 2U);
  EXPECT_EQ(node.puts[0], node.puts[1]);
}

TEST(CachePredictionTable, SaysWhatToDoAboutAnotherType) {
  TakingNode node{.knows_another_type = true};
  const Status done = put_predictions(node, {{.id = "a"}});
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message, HasSubstr("different field types"));
  EXPECT_THAT(done.error().message, HasSubstr("?type="));
  EXPECT_THAT(node.puts, ElementsAre());
}

}  // namespace
}  // namespace headrace
