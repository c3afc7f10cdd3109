#include "headrace/predict/sql_prediction_table.h"

#include "headrace/base/text.h"
#include "headrace/net/ignite/object_encoder.h"
#include "headrace/net/ignite/sql.h"
#include "headrace/prepare/ignite/query_url.h"

namespace headrace {
namespace {

class SqlPredictionTable final : public PredictionTable {
 public:
  SqlPredictionTable(std::shared_ptr<ignite::Cluster> cluster, std::string schema, std::string table,
                     const AnswerFormat& answers, const std::string& model_digest)
      : PredictionTable(answers, model_digest),
        cluster_(std::move(cluster)),
        schema_(std::move(schema)),
        table_(std::move(table)) {}

  Status create(const std::stop_token& stop) const {
    std::string parts = "\"ID\" VARCHAR PRIMARY KEY";
    for (const TableColumn& column : columns())
      parts += concat(", ", quoted_identifier(column.name), column.is_number ? " REAL" : " VARCHAR");
    const std::string statement =
        concat("CREATE TABLE IF NOT EXISTS ", quoted_identifier(table_), " (", parts, ")");
    HEADRACE_CHECK(ignite::SqlResult::run(
        cluster_, {.text = statement, .schema = schema_, .is_repeatable = true}, stop));
    return {};
  }

 private:
  // Returns "ID" and the other columns in the syntax of SQL.
  std::string names() const {
    std::string out = "\"ID\"";
    for (const TableColumn& column : columns()) out += concat(", ", quoted_identifier(column.name));
    return out;
  }

  std::string merge_of(std::size_t rows) const {
    const std::string row = concat("(", join(std::vector<std::string>(columns().size() + 1, "?"), ", "), ")");
    return concat("MERGE INTO ", quoted_identifier(table_), " (", names(), ") VALUES ",
                  join(std::vector<std::string>(rows, row), ", "));
  }

  Status write(const Rows& rows, const std::stop_token& stop) const override {
    // A node writes as many rows at once as a page has.
    ignite::SqlQuery query{.text = merge_of(rows.size()),
                           .schema = schema_,
                           .page_rows = static_cast<std::int32_t>(rows.size()),
                           .is_repeatable = true};
    for (const auto& [id, cells] : rows) {
      query.arguments.push_back(ignite::encode_string(id));
      for (std::size_t i = 0; i < cells.size(); ++i) {
        HEADRACE_TRY(const ignite::Value value, value_of(columns()[i], cells[i]));
        HEADRACE_CHECK(ignite::append_object(value, {}, query.arguments.emplace_back()));
      }
    }
    const auto done = ignite::SqlResult::run(cluster_, query, stop);
    if (done) return {};
    return done.error().in(concat("writing predictions into Ignite's table ", table_, ", as ", names()));
  }

  const std::shared_ptr<ignite::Cluster> cluster_;
  const std::string schema_;
  const std::string table_;
};

}  // namespace

Result<std::unique_ptr<PredictionTable>> open_sql_prediction_table(
    const std::shared_ptr<ignite::Cluster>& cluster, const std::string& schema, const std::string& table,
    const AnswerFormat& answers, const std::string& model_digest, const std::stop_token& stop) {
  auto opened = std::make_unique<SqlPredictionTable>(cluster, schema, table, answers, model_digest);
  HEADRACE_CHECK(opened->create(stop));
  return std::unique_ptr<PredictionTable>(std::move(opened));
}

}  // namespace headrace
