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

/// Names a row in its answer. Texts that are empty and a row of 0 are left out.
struct RowName {
  std::string id{};
  std::string source{};   // URL of the file that has the row
  std::uint64_t row = 0;  // its number there
};

/// The double whose decimal is the shortest that gives the same float32: JSON shows it so. REQUIRES: finite
double shortest_double(float value);

/// Answers to many rows as one tensor: their labels, or the numbers of an output.
struct AnswerTensor {
  std::string name;        // as a column of a table; after the output's name and "/" if there are several
  std::size_t output = 0;  // its place in the contract
  bool is_label = false;   // texts; else float32
  std::vector<std::int64_t> row_shape{};  // -1: open
};

/// How the answers of one model are written. Any thread.
class AnswerFormat {
 public:
  /// The values of a row, of each output in the order of the contract. They are finite.
  using Values = std::span<const std::span<const float>>;

  /// REQUIRES: of `make_contract` or `parse_contract`, so that outputs and targets fit each other
  explicit AnswerFormat(const ModelContract& contract);

  /// An object without newline, whose first members are `about`: as `json_member` gives them, with commas
  /// between them; may be empty. Numbers are the shortest that give the same float32.
  std::string to_json(std::string_view about, Values values) const;
  /// "pos  0.9312", "3.5000".
  std::string to_text(Values values) const;
  /// The columns of a table of answers, and the cells of one of them, without quotes.
  std::vector<std::string> columns() const;
  /// Column → "string" or "float32"; "list<string>" or "list<float32>" where a cell is a list of JSON.
  std::map<std::string, std::string> column_types() const;
  std::vector<std::string> cells(Values values) const;
  /// Ascending by name. Outputs for several labels have no label, since rows have different numbers of them.
  std::vector<AnswerTensor> tensors() const;
  /// The label of a row; none: a score is not finite. REQUIRES: `tensors` has a label of this output
  std::optional<std::string_view> label(std::size_t output, std::span<const float> values) const;
  /// Appends a tf.Example of an answer.
  void append_example(const RowName& name, Values values, Bytes& out) const;

 private:
  struct Output {
    std::string name;
    std::optional<std::uint64_t> values{};  // of a row; none: their number is open
    std::optional<TargetKind> kind{};       // none: it is compared with no label
    std::vector<std::string> classes{};     // of each score; a binary output has one score and two classes
    std::vector<std::string> json_names{};  // of these
    float threshold = 0;                    // binary, multi-label: numbers above it mean yes
    bool has_probabilities = true;          // else its scores are logits or margins

    /// The member of one score, and of all.
    std::string_view score_name() const { return has_probabilities ? "probability" : "score"; }
    std::string_view scores_name() const { return has_probabilities ? "probabilities" : "scores"; }

    std::size_t binary_class(std::span<const float> scores) const {
      return scores.front() > threshold ? 1 : 0;
    }
  };
  void add_members(const Output& output, std::span<const float> values, std::string& out) const;
  static std::string text_of(const Output& output, std::span<const float> values);
  // "", or the output's name where there are several.
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
  /// `outputs`: float32 of `rows` rows each, in the order of the contract.
  Answers(std::shared_ptr<const AnswerFormat> format, std::vector<Tensor> outputs, std::uint64_t rows);

  std::uint64_t rows() const { return rows_; }
  std::string to_json(std::uint64_t row, std::string_view about) const;
  std::string to_text(std::uint64_t row) const;
  const AnswerFormat& format() const { return *format_; }
  /// Borrows from this.
  std::vector<std::span<const float>> values(std::uint64_t row) const;

 private:
  std::shared_ptr<const AnswerFormat> format_;
  std::vector<Tensor> outputs_;
  std::uint64_t rows_;
};

}  // namespace headrace
