#pragma once

/// \file The answers of a model to rows, as JSON and for people. Format: docs/formats/predictions.md.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/base/bytes.h"
#include "headrace/engine/tensor.h"
#include "headrace/model/contract.h"

namespace headrace {

/// Names a row in its answer. Empty texts and row 0 are left out.
struct RowName {
  std::string id{};
  std::string source{};   // URL of the file that has the row
  std::uint64_t row = 0;  // its number there, from 1
};

/// The double nearest to the shortest decimal that gives the same float32. JSON shows that decimal.
/// REQUIRES: `value` is finite
double shortest_double(float value);

/// The answers to many rows as one tensor: the labels, or the numbers of an output.
struct AnswerTensor {
  std::string name;        // as a column of a table; "<output>/<column>" if there are several outputs
  std::size_t output = 0;  // its place in the contract
  bool is_label = false;   // texts; else float32
  std::vector<std::int64_t> row_shape{};  // -1: any size
};

/// How the answers of one model are written. Thread-safe.
class AnswerFormat {
 public:
  /// The values of a row: for each output, in the order of the contract. All are finite.
  using Values = std::span<const std::span<const float>>;

  /// REQUIRES: `contract` comes from `make_contract` or `parse_contract`, so that outputs and targets match
  explicit AnswerFormat(const ModelContract& contract);

  /// A JSON object without a newline. Its first members are `about`: members as `json_member` returns them,
  /// separated by commas, or empty. Numbers are the shortest that give the same float32.
  std::string to_json(std::string_view about, Values values) const;
  /// For people: "pos  0.9312", "3.5000".
  std::string to_text(Values values) const;
  /// The columns of a table of answers.
  std::vector<std::string> columns() const;
  /// Column → "string" or "float32"; "list<string>" or "list<float32>" if cells are JSON lists.
  std::map<std::string, std::string> column_types() const;
  /// The cells of a row, in the order of `columns`, without quotes.
  std::vector<std::string> cells(Values values) const;
  /// The tensors of the answers, ascending by name. Outputs for several labels have no label tensor, since
  /// the number of labels differs from row to row.
  std::vector<AnswerTensor> tensors() const;
  /// The label of a row; nullopt if a score is not finite. Borrowed from this.
  /// REQUIRES: `tensors` has a label of this output
  std::optional<std::string_view> label(std::size_t output, std::span<const float> values) const;
  /// Appends an answer as a tf.Example, without a frame.
  void append_example(const RowName& name, Values values, Bytes& out) const;

 private:
  struct Output {
    std::string name;
    std::optional<std::uint64_t> values{};  // of a row; nullopt: any number
    std::optional<TargetKind> kind{};       // nullopt: it is not compared with a label
    std::vector<std::string> classes{};     // of each score; a binary output has one score and two classes
    std::vector<std::string> json_names{};  // of the classes
    float threshold = 0;                    // binary, multi-label: scores above it mean yes
    bool has_probabilities = true;          // else its scores are logits or margins

    /// Names of the JSON members for one score, and for all scores.
    std::string_view score_name() const { return has_probabilities ? "probability" : "score"; }
    std::string_view scores_name() const { return has_probabilities ? "probabilities" : "scores"; }

    std::size_t binary_class(std::span<const float> scores) const {
      return scores.front() > threshold ? 1 : 0;
    }
  };
  void add_members(const Output& output, std::span<const float> values, std::string& out) const;
  static std::string text_of(const Output& output, std::span<const float> values);
  // "", or the output's name and "/" if there are several outputs.
  std::string prefix_of(const Output& output) const;

  std::vector<Output> outputs_;
};

/// `"name":"text"`. Invalid UTF-8 becomes U+FFFD.
std::string json_member(std::string_view name, std::string_view text);
/// The members of a row's name, in the order id, source, row.
std::string json_members(const RowName& name);

/// The answers to some rows.
class Answers {
 public:
  /// `outputs`: float32, each of `rows` rows, in the order of the contract.
  Answers(std::shared_ptr<const AnswerFormat> format, std::vector<Tensor> outputs, std::uint64_t rows);

  std::uint64_t rows() const { return rows_; }
  std::string to_json(std::uint64_t row, std::string_view about) const;
  std::string to_text(std::uint64_t row) const;
  const AnswerFormat& format() const { return *format_; }
  /// The values of a row: one span for each output. Borrowed from this.
  std::vector<std::span<const float>> values(std::uint64_t row) const;

 private:
  std::shared_ptr<const AnswerFormat> format_;
  std::vector<Tensor> outputs_;
  std::uint64_t rows_;
};

}  // namespace headrace
