#pragma once

/// \file Predictions as rows of a table of Apache Ignite: docs/formats/predictions.md, "Tables".

#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "headrace/evaluate/answers.h"
#include "headrace/net/ignite/cluster.h"

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

/// One table. Thread-safe.
class PredictionTable {
  using Rows = std::map<std::string, std::vector<std::string>>;  // by ID: the cells of the other columns

 public:
  /// Creates the table if it is not there.
  /// \error as SqlResult::run; a table that is there with other columns is an error of the first batch
  static Result<PredictionTable> open(std::shared_ptr<ignite::Cluster> cluster, std::string schema,
                                      std::string table, const AnswerFormat& answers,
                                      std::string model_digest, const std::stop_token& stop);

  /// Rows that are written with one statement. Not thread-safe. Memory: 4 MiB of cells.
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

 private:
  PredictionTable() = default;
  Status write(const Rows& rows, const std::stop_token& stop) const;

  std::shared_ptr<ignite::Cluster> cluster_{};
  std::string schema_{};
  std::string table_{};
  std::vector<TableColumn> columns_{};  // with ID and MODEL_DIGEST
  std::string model_digest_{};
};

}  // namespace headrace
