#include "headrace/evaluate/answers.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <deque>

#include "headrace/base/json.h"
#include "headrace/base/text.h"
#include "headrace/evaluate/confusion_matrix.h"
#include "headrace/evaluate/evaluation.h"
#include "headrace/record/example.h"

namespace headrace {
namespace {

void add_number(float value, std::string& out) { out += Json(shortest_double(value)).dump(); }

void add_numbers(std::span<const float> values, std::string& out) {
  if (values.size() == 1) return add_number(values.front(), out);
  out += '[';
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i > 0) out += ',';
    add_number(values[i], out);
  }
  out += ']';
}

void add_scores(std::string_view member, const std::vector<std::string>& names, std::span<const float> scores,
                std::string& out) {
  out += concat("\"", member, "\":{");
  for (std::size_t i = 0; i < scores.size(); ++i) {
    if (i > 0) out += ',';
    out += names[i];
    out += ':';
    add_number(scores[i], out);
  }
  out += '}';
}

std::string shown(float value) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%.4f", static_cast<double>(value));
  return text.data();
}

std::vector<std::string> names_above(float threshold, const std::vector<std::string>& names,
                                     std::span<const float> scores) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    if (scores[i] > threshold) out.push_back(names[i]);
  }
  return out;
}

}  // namespace

double shortest_double(float value) {
  std::array<char, 32> digits{};
  const char* const end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
  double shortest = 0;
  std::from_chars(digits.data(), end, shortest);
  return shortest;
}

AnswerFormat::AnswerFormat(const ModelContract& contract) {
  for (const ModelOutput& output : contract.binding.outputs) {
    Output added{.name = output.name, .values = output.size()};
    for (const ModelTarget& target : contract.binding.targets) {
      if (target.output != output.name) continue;
      added.kind = target.kind;
      added.classes = class_names(contract, target);
      added.threshold = yes_threshold(target.scores);
      added.has_probabilities = target.scores == TargetScores::kProbability;
    }
    for (const std::string& name : added.classes) added.json_names.push_back(Json(name).dump());
    outputs_.push_back(std::move(added));
  }
}

// Adds the members in the order of the format, without braces.
void AnswerFormat::add_members(const Output& output, std::span<const float> values, std::string& out) const {
  switch (output.kind.value_or(TargetKind::kRegression)) {
    case TargetKind::kClasses:
      out += concat("\"label\":", output.json_names[*highest(values)], ",");
      return add_scores(output.scores_name(), output.json_names, values, out);
    case TargetKind::kBinary:
      out += concat("\"label\":", output.json_names[output.binary_class(values)], ",\"", output.score_name(),
                    "\":");
      return add_number(values.front(), out);
    case TargetKind::kMultiLabel:
      out +=
          concat("\"labels\":[", join(names_above(output.threshold, output.json_names, values), ","), "],");
      return add_scores(output.scores_name(), output.json_names, values, out);
    case TargetKind::kRegression:
      out += "\"value\":";
      return add_numbers(values, out);
  }
}

std::string json_member(std::string_view name, std::string_view text) {
  return concat(Json(name).dump(), ":", Json(text).dump());
}

std::string json_members(const RowName& name) {
  std::vector<std::string> members;
  if (!name.id.empty()) members.push_back(json_member("id", name.id));
  if (!name.source.empty()) members.push_back(json_member("source", name.source));
  if (name.row > 0) members.push_back(concat("\"row\":", name.row));
  return join(members, ",");
}

std::string AnswerFormat::to_json(std::string_view about, Values values) const {
  std::string out = concat("{", about, about.empty() ? "" : ",");
  if (outputs_.size() == 1) {
    add_members(outputs_.front(), values.front(), out);
    return out + "}";
  }
  out += "\"outputs\":{";
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    out += concat(i > 0 ? "," : "", Json(outputs_[i].name).dump(), ":{");
    add_members(outputs_[i], values[i], out);
    out += '}';
  }
  return out + "}}";
}

std::string AnswerFormat::text_of(const Output& output, std::span<const float> values) {
  std::vector<std::string> words;
  switch (output.kind.value_or(TargetKind::kRegression)) {
    case TargetKind::kClasses: {
      const std::size_t best = *highest(values);
      return concat(output.classes[best], "  ", shown(values[best]));
    }
    case TargetKind::kBinary:
      return concat(output.classes[output.binary_class(values)], "  ", shown(values.front()));
    case TargetKind::kMultiLabel:
      for (std::size_t i = 0; i < values.size(); ++i) {
        if (values[i] > output.threshold) words.push_back(concat(output.classes[i], " ", shown(values[i])));
      }
      return words.empty() ? "none" : join(words, ", ");
    case TargetKind::kRegression:
      break;
  }
  for (const float value : values) words.push_back(shown(value));
  return join(words, " ");
}

std::string AnswerFormat::to_text(Values values) const {
  if (outputs_.size() == 1) return text_of(outputs_.front(), values.front());
  std::vector<std::string> words;
  for (std::size_t i = 0; i < outputs_.size(); ++i)
    words.push_back(concat(outputs_[i].name, ": ", text_of(outputs_[i], values[i])));
  return join(words, "  ");
}

std::string AnswerFormat::prefix_of(const Output& output) const {
  return outputs_.size() == 1 ? "" : concat(output.name, "/");
}

std::vector<std::string> AnswerFormat::columns() const {
  std::vector<std::string> out;
  for (const Output& output : outputs_) {
    const std::string prefix = prefix_of(output);
    switch (output.kind.value_or(TargetKind::kRegression)) {
      case TargetKind::kBinary:
        out.insert(out.end(), {prefix + "label", concat(prefix, output.score_name())});
        break;
      case TargetKind::kRegression:
        out.push_back(prefix + "value");
        break;
      case TargetKind::kClasses:
      case TargetKind::kMultiLabel:
        out.push_back(prefix + (*output.kind == TargetKind::kClasses ? "label" : "labels"));
        for (const std::string& name : output.classes)
          out.push_back(concat(prefix, output.score_name(), ":", name));
        break;
    }
  }
  return out;
}

std::vector<AnswerTensor> AnswerFormat::tensors() const {
  std::vector<AnswerTensor> out;
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    const Output& output = outputs_[i];
    const std::string prefix = prefix_of(output);
    const TargetKind kind = output.kind.value_or(TargetKind::kRegression);
    if (kind == TargetKind::kClasses || kind == TargetKind::kBinary)
      out.push_back({.name = prefix + "label", .output = i, .is_label = true});
    AnswerTensor& numbers = out.emplace_back(AnswerTensor{.output = i});
    const bool is_single =
        kind == TargetKind::kBinary || (kind == TargetKind::kRegression && output.values == std::uint64_t{1});
    if (!is_single) numbers.row_shape = {output.values ? static_cast<std::int64_t>(*output.values) : -1};
    numbers.name = concat(prefix, kind == TargetKind::kRegression ? "value"
                                  : kind == TargetKind::kBinary   ? output.score_name()
                                                                  : output.scores_name());
  }
  std::ranges::sort(out, {}, &AnswerTensor::name);
  return out;
}

std::optional<std::string_view> AnswerFormat::label(std::size_t output, std::span<const float> values) const {
  const auto best = highest(values);
  if (!best) return std::nullopt;
  const Output& of = outputs_[output];
  return of.classes[of.kind == TargetKind::kBinary ? of.binary_class(values) : *best];
}

std::map<std::string, std::string> AnswerFormat::column_types() const {
  std::map<std::string, std::string> out;
  for (const std::string& name : columns()) out[name] = "float32";  // the loop below sets the exceptions
  for (const Output& output : outputs_) {
    const std::string prefix = prefix_of(output);
    if (output.kind == TargetKind::kMultiLabel) out[prefix + "labels"] = "list<string>";
    if (output.kind == TargetKind::kClasses || output.kind == TargetKind::kBinary)
      out[prefix + "label"] = "string";
    const bool has_numbers = output.kind.value_or(TargetKind::kRegression) == TargetKind::kRegression;
    if (has_numbers && output.values != 1) out[prefix + "value"] = "list<float32>";
  }
  return out;
}

std::vector<std::string> AnswerFormat::cells(Values values) const {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    const Output& output = outputs_[i];
    const std::span<const float> scores = values[i];
    switch (output.kind.value_or(TargetKind::kRegression)) {
      case TargetKind::kBinary:
        out.push_back(output.classes[output.binary_class(scores)]);
        add_number(scores.front(), out.emplace_back());
        break;
      case TargetKind::kRegression:
        add_numbers(scores, out.emplace_back());
        break;
      case TargetKind::kClasses:
        out.push_back(output.classes[*highest(scores)]);
        for (const float score : scores) add_number(score, out.emplace_back());
        break;
      case TargetKind::kMultiLabel:
        out.push_back(concat("[", join(names_above(output.threshold, output.json_names, scores), ","), "]"));
        for (const float score : scores) add_number(score, out.emplace_back());
        break;
    }
  }
  return out;
}

void AnswerFormat::append_example(const RowName& name, Values values, Bytes& out) const {
  ExampleBuilder example;
  const auto row = static_cast<std::int64_t>(name.row);
  if (!name.id.empty()) example.add_bytes("id", as_bytes(name.id));
  if (!name.source.empty()) example.add_bytes("source", as_bytes(name.source));
  if (name.row > 0) example.add_int64s("row", {&row, 1});
  std::deque<std::string> names;  // borrowed until the example is written
  std::deque<std::vector<BytesView>> lists;
  const auto named = [&](const Output& output, std::string_view member) -> const std::string& {
    return names.emplace_back(concat(prefix_of(output), member));
  };
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    const Output& output = outputs_[i];
    switch (output.kind.value_or(TargetKind::kRegression)) {
      case TargetKind::kRegression:
        example.add_floats(named(output, "value"), values[i]);
        break;
      case TargetKind::kBinary:
        example.add_bytes(named(output, "label"), as_bytes(output.classes[output.binary_class(values[i])]));
        example.add_floats(named(output, output.score_name()), values[i]);
        break;
      case TargetKind::kClasses:
        example.add_bytes(named(output, "label"), as_bytes(output.classes[*highest(values[i])]));
        example.add_floats(named(output, output.scores_name()), values[i]);
        break;
      case TargetKind::kMultiLabel: {
        std::vector<BytesView>& labels = lists.emplace_back();
        for (std::size_t k = 0; k < values[i].size(); ++k) {
          if (values[i][k] > output.threshold) labels.push_back(as_bytes(output.classes[k]));
        }
        example.add_bytes_list(named(output, "labels"), labels);
        example.add_floats(named(output, output.scores_name()), values[i]);
        break;
      }
    }
  }
  example.append_to(out);
}

Answers::Answers(std::shared_ptr<const AnswerFormat> format, std::vector<Tensor> outputs, std::uint64_t rows)
    : format_(std::move(format)), outputs_(std::move(outputs)), rows_(rows) {}

std::vector<std::span<const float>> Answers::values(std::uint64_t row) const {
  std::vector<std::span<const float>> out;
  for (const Tensor& output : outputs_) {
    const std::span<const float> all = output.values<float>();
    const std::size_t size = all.size() / rows_;
    out.push_back(all.subspan(row * size, size));
  }
  return out;
}

std::string Answers::to_json(std::uint64_t row, std::string_view about) const {
  return format_->to_json(about, values(row));
}

std::string Answers::to_text(std::uint64_t row) const { return format_->to_text(values(row)); }

}  // namespace headrace
