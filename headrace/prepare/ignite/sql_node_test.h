#pragma once

/// \file For tests: answers of a scripted node to statements.

#include <string>
#include <vector>

#include "headrace/net/ignite/cluster.h"
#include "headrace/net/ignite/scripted_node_test.h"

namespace headrace {

using SqlRow = std::vector<Bytes>;

inline Bytes sql_page(const std::vector<SqlRow>& rows, bool has_more) {
  Bytes body;
  append_little_endian(body, static_cast<std::int32_t>(rows.size()));
  for (const SqlRow& row : rows) {
    for (const Bytes& object : row) append(body, object);
  }
  append_little_endian(body, static_cast<std::uint8_t>(has_more));
  return body;
}

/// The first answer to a statement.
inline Bytes sql_answer(const std::vector<std::string>& columns, const std::vector<SqlRow>& rows,
                        bool has_more = false) {
  Bytes body;
  append_little_endian(body, std::int64_t{7});  // cursor
  append_little_endian(body, static_cast<std::int32_t>(columns.size()));
  for (const std::string& column : columns) ignite::append_string(body, column);
  append(body, sql_page(rows, has_more));
  return body;
}

inline std::shared_ptr<ignite::Cluster> cluster_of(const ignite::ScriptedNode& node) {
  const auto cluster = ignite::Cluster::connect({.addresses = {node.address()}});
  EXPECT_TRUE(cluster) << cluster.error().message;
  return *cluster;
}

}  // namespace headrace
