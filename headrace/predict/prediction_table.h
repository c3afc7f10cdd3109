#pragma once

/// \file Predictions as rows in Apache Ignite, each under its key: docs/formats/predictions.md, "Tables" and
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

/// The columns of the answers of a model, after ID and before MODEL_DIGEST: those of CSV, in capitals.
std::vector<TableColumn> table_columns(const AnswerFormat& answers);

/// The value of ID: the id of the row; without one its number, after its source and '#' if it has a source.
std::string row_key(const RowName& name);

/// A place that keeps a row for each key: a table of SQL, or a cache. A row replaces the row of its key.
/// Thread-safe.
class PredictionTable {
 public:
  /// By ID: the cells of the other columns.
  using Rows = std::map<std::string, std::vector<std::string>>;

  virtual ~PredictionTable() = default;
  PredictionTable(const PredictionTable&) = delete;
  PredictionTable& operator=(const PredictionTable&) = delete;

  /// Rows that are written at once. Not thread-safe. Memory: 4 MiB of cells.
  class Batch {
   public:
    explicit Batch(const PredictionTable& table) : table_(table) {}
    /// Adds the answer to a row. If a batch has a key twice, the later answer stays. Writes a batch
    /// that is full.
    Status add(const RowName& name, const Answers& answers, std::size_t row, const std::stop_token& stop);
    /// Writes what is left.
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
  /// A cell as a value, which views `text` where it is one.
  static Result<ignite::Value> value_of(const TableColumn& column, const std::string& text);

 private:
  /// Writing the same rows twice is as good as once. \error those of Ignite, with the table's name
  virtual Status write(const Rows& rows, const std::stop_token& stop) const = 0;

  std::vector<TableColumn> columns_;
  const std::string model_digest_;
};

}  // namespace headrace
