#pragma once

/// \file Predictions as rows in Apache Ignite, each under a key: docs/formats/predictions.md, "Tables" and
/// "Caches".

#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "headrace/evaluate/answers.h"
#include "headrace/net/ignite/value.h"

namespace headrace {

struct TableColumn {
  std::string name;
  bool is_number = false;  // REAL; else VARCHAR
  bool operator==(const TableColumn&) const = default;
};

/// The columns of the answers of a model, between ID and MODEL_DIGEST: those of CSV, in capitals.
std::vector<TableColumn> table_columns(const AnswerFormat& answers);

/// The value of ID: the id of the row. Without an id: its number, or "source#number" if it has a source.
std::string row_key(const RowName& name);

/// Keeps a row for each key: a table of SQL, or a cache. A new row replaces the row with the same key.
/// Thread-safe.
class PredictionTable {
 public:
  /// ID → the cells of the other columns.
  using Rows = std::map<std::string, std::vector<std::string>>;

  virtual ~PredictionTable() = default;
  PredictionTable(const PredictionTable&) = delete;
  PredictionTable& operator=(const PredictionTable&) = delete;

  /// Collects rows that are written at once. Not thread-safe. Memory: 4 MiB of cells.
  class Batch {
   public:
    explicit Batch(const PredictionTable& table) : table_(table) {}
    /// Adds the answer to a row. If a batch has a key twice, the later answer is kept. Writes the batch when
    /// it is full.
    Status add(const RowName& name, const Answers& answers, std::size_t row, const std::stop_token& stop);
    /// Writes the remaining rows.
    Status finish(const std::stop_token& stop);

   private:
    const PredictionTable& table_;
    Rows rows_{};
    std::size_t bytes_ = 0;
  };

 protected:
  PredictionTable(const AnswerFormat& answers, std::string model_digest);

  /// The columns of the cells of Rows: those of the answers, and MODEL_DIGEST.
  const std::vector<TableColumn>& columns() const { return columns_; }
  /// The value of a cell. A text value borrows `text`.
  static Result<ignite::Value> value_of(const TableColumn& column, const std::string& text);

 private:
  /// Writes rows; idempotent. \error of Ignite, with the table's name
  virtual Status write(const Rows& rows, const std::stop_token& stop) const = 0;

  std::vector<TableColumn> columns_;
  const std::string model_digest_;
};

}  // namespace headrace
