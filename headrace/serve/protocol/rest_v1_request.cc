#include "headrace/serve/protocol/rest_v1_request.h"

#include <algorithm>

#include "headrace/base/text.h"
#include "headrace/serve/protocol/answers.h"
#include "headrace/serve/protocol/json_tensor.h"
#include "headrace/serve/protocol/json_writer.h"
#include "headrace/serve/protocol/raw_rows.h"
#include "headrace/serve/protocol/tensor_request.h"

namespace headrace {
namespace {

constexpr std::string_view kInstance = "instance";
constexpr std::string_view kRowWord = "row";
constexpr std::size_t kQuotedNameBytes = 60;

Error refused(std::string message) { return {Code::kInvalidArgument, std::move(message)}; }

std::string names_of_inputs(const ServedSignature& signature) {
  std::vector<std::string> names;
  for (const ServedTensor& input : signature.inputs) names.push_back(input.name);
  return join(names, ", ");
}

// Rows whose values lie in the JSON document.
class JsonRows final : public BoundRequest {
 public:
  JsonRows(const ServedSignature& signature, JsonDocument document, std::string_view word)
      : document_(std::move(document)),
        inputs_(signature.inputs),
        is_batched_(signature.is_batched),
        word_(word),
        values_(signature.inputs.size()) {}

  // Adds a row's value to an input. REQUIRES: at `finish`, all inputs have the same number of values.
  void add(std::size_t input, const JsonNode& value) { values_[input].push_back(value); }
  void add(std::size_t input, std::vector<JsonNode> values) { values_[input] = std::move(values); }

  // Finds the shapes from the first row, and the size of all texts.
  Status finish() {
    rows_ = values_[0].size();
    for (std::size_t input = 0; input < inputs_.size(); ++input) {
      const auto& [name, type, shape] = inputs_[input];
      if (!can_be_json(type))
        return Error{Code::kUnimplemented, concat("the input ", name, " is of type ", data_type_name(type),
                                                  ", which JSON cannot carry: use KServe v2, binary")};
      auto found = shape_of_json(values_[input][0], is_batched_ ? row_shape(shape) : shape);
      if (!found) return std::move(found).error().in(place(0, input));
      HEADRACE_CHECK(check_elements(input, *found));
      row_.push_back({type, *found});
      if (type == DataType::kBytes) HEADRACE_CHECK(add_texts(input));
    }
    return {};
  }

  Status fill(ReservedRows& reserved) const override {
    for (std::size_t input = 0; input < inputs_.size(); ++input) {
      const auto& [type, shape] = row_[input];
      for (std::uint64_t row = 0; row < rows_; ++row) {
        Status read = read_json_tensor(values_[input][row], type, shape, reserved, input, row);
        if (!read) return std::move(read).error().in(place(row, input));
      }
    }
    return {};
  }

 private:
  // The shape comes from the first lists only. If others are shorter, it may be much larger than the body.
  Status check_elements(std::size_t input, const Shape& row) const {
    std::vector<std::int64_t> sizes = {static_cast<std::int64_t>(rows_)};
    sizes.insert(sizes.end(), row.sizes().begin(), row.sizes().end());
    const auto elements = checked_elements(sizes);
    if (elements && *elements <= document_.text_bytes()) return {};
    return refused(concat("lists of the input ", inputs_[input].name, " have different sizes: the first are ",
                          row.text()));
  }

  Status add_texts(std::size_t input) {
    for (std::uint64_t row = 0; row < rows_; ++row) {
      auto bytes = texts_bytes_of_json(values_[input][row], row_[input].shape);
      if (!bytes) return std::move(bytes).error().in(place(row, input));
      texts_bytes_ += *bytes;
    }
    return {};
  }

  std::string place(std::uint64_t row, std::size_t input) const {
    const std::string of_input = concat("input ", inputs_[input].name);
    return is_batched_ ? concat(word_, ' ', row, ", ", of_input) : of_input;
  }

  JsonDocument document_;
  std::vector<ServedTensor> inputs_;
  bool is_batched_;
  std::string_view word_;
  std::vector<std::vector<JsonNode>> values_;  // by input, then by row
};

using Bound = Result<std::unique_ptr<BoundRequest>>;

Bound finish(std::unique_ptr<JsonRows> rows) {
  HEADRACE_CHECK(rows->finish());
  return std::unique_ptr<BoundRequest>(std::move(rows));
}

// Adds the values of an instance that is an object.
Status add_members(JsonRows& rows, const ServedSignature& signature, const JsonNode& instance) {
  std::vector<bool> seen(signature.inputs.size());
  for (const JsonNodeMember& member : instance.members()) {
    const auto found =
        std::lower_bound(signature.inputs.begin(), signature.inputs.end(), member.name,
                         [](const ServedTensor& input, std::string_view name) { return input.name < name; });
    if (found == signature.inputs.end() || found->name != member.name)
      return refused(concat("the input ", printable_line(member.name, kQuotedNameBytes),
                            " is unknown; the signature ", signature.name, " takes ",
                            names_of_inputs(signature)));
    const auto input = static_cast<std::size_t>(found - signature.inputs.begin());
    if (seen[input]) return refused(concat("the input ", member.name, " is given twice"));
    seen[input] = true;
    rows.add(input, member.value);
  }
  const auto missing = std::find(seen.begin(), seen.end(), false);
  if (missing == seen.end()) return {};
  return refused(concat("the input ", signature.inputs[static_cast<std::size_t>(missing - seen.begin())].name,
                        " is missing; the signature ", signature.name, " takes ",
                        names_of_inputs(signature)));
}

// Whether a value belongs to the only input, instead of being an object of named inputs.
bool is_bare(const JsonNode& value) { return !value.is_object() || is_json_base64(value); }

Status check_bare(const ServedSignature& signature) {
  if (signature.inputs.size() == 1) return {};
  return refused(concat("a value without a name is possible for one input only: send an object with ",
                        names_of_inputs(signature)));
}

Bound bind_instances(const JsonNode& instances, const JsonDocument& document,
                     const ServedSignature& signature) {
  if (!signature.is_batched)
    return refused(concat("the signature ", signature.name,
                          " has no dimension of rows, so it takes no \"instances\": send \"inputs\""));
  auto rows = std::make_unique<JsonRows>(signature, document, kInstance);
  std::uint64_t number = 0;
  for (const JsonNode& instance : instances.elements()) {
    Status added;
    if (!is_bare(instance)) {
      added = add_members(*rows, signature, instance);
    } else if (added = check_bare(signature); added) {
      rows->add(0, instance);
    }
    if (!added) return std::move(added).error().in(concat(kInstance, ' ', number));
    ++number;
  }
  return finish(std::move(rows));
}

Bound bind_inputs(const JsonNode& inputs, const JsonDocument& document, const ServedSignature& signature) {
  auto rows = std::make_unique<JsonRows>(signature, document, kRowWord);
  std::size_t rows_of_first = 0;
  for (std::size_t i = 0; i < signature.inputs.size(); ++i) {
    const std::string& name = signature.inputs[i].name;
    auto value = std::optional(inputs);
    if (is_bare(inputs)) {
      HEADRACE_CHECK(check_bare(signature));
    } else if (value = inputs.find(name); !value) {
      return refused(concat("the input ", name, " is missing in \"inputs\"; the signature ", signature.name,
                            " takes ", names_of_inputs(signature)));
    }
    if (!signature.is_batched) {
      rows->add(i, *value);
      continue;
    }
    if (!value->is_array() || value->size() == 0)
      return refused(concat("the input ", name, " is ", describe_json(*value), ", not a list of rows"));
    std::vector<JsonNode> elements = value->elements();
    if (i == 0) rows_of_first = elements.size();
    if (elements.size() != rows_of_first)
      return refused(concat("the input ", name, " has ", elements.size(), " rows, ", signature.inputs[0].name,
                            " has ", rows_of_first, ": all need the same number"));
    rows->add(i, std::move(elements));
  }
  return finish(std::move(rows));
}

Bound bind_raw_instances(const JsonNode& instances, const ServedSignature& signature) {
  RawRowsWriter writer(signature, kInstance);
  for (const JsonNode& instance : instances.elements()) HEADRACE_CHECK(writer.add_row(instance));
  return std::move(writer).finish();
}

struct RawColumn {
  std::string_view name;
  std::vector<JsonNode> values;
};

// The lists of those columns that the signature has.
Result<std::vector<RawColumn>> raw_columns(const JsonNode& inputs, const RawRowsWriter& writer) {
  std::vector<JsonNodeMember> members;
  if (is_bare(inputs)) {
    HEADRACE_TRY(const std::string_view column, writer.only_column());
    members.push_back({column, inputs});
  } else {
    members = inputs.members();
  }
  const bool is_whole = members.size() == 1 && members[0].name == kRawRowsInput;
  std::vector<RawColumn> out;
  for (const auto& [name, value] : members) {
    if (!writer.has_column(name) && !is_whole) continue;
    if (!value.is_array())
      return refused(concat("the column ", name, " is ", describe_json(value), ", not a list of rows"));
    out.push_back({name, value.elements()});
    if (out.back().values.size() != out[0].values.size())
      return refused(concat("the column ", name, " has ", out.back().values.size(), " rows, ", out[0].name,
                            " has ", out[0].values.size(), ": all need the same number"));
  }
  if (out.empty()) return refused("no member of \"inputs\" is a column of the signature");
  return out;
}

Bound bind_raw_inputs(const JsonNode& inputs, const ServedSignature& signature) {
  RawRowsWriter writer(signature, kRowWord);
  HEADRACE_TRY(const std::vector<RawColumn> columns, raw_columns(inputs, writer));
  const bool is_whole = columns[0].name == kRawRowsInput && !writer.has_column(kRawRowsInput);
  for (std::size_t row = 0; row < columns[0].values.size(); ++row) {
    if (is_whole) {
      const JsonNode& text = columns[0].values[row];
      if (!text.is_string()) return refused(concat("row ", row, " is ", describe_json(text), ", not a text"));
      writer.add_text(text.text());
      continue;
    }
    writer.begin_row();
    for (const RawColumn& column : columns) HEADRACE_CHECK(writer.add(column.name, column.values[row]));
    HEADRACE_CHECK(writer.end_row());
  }
  return std::move(writer).finish();
}

JsonBytesForm bytes_form(std::string_view output) {
  return output.ends_with("_bytes") ? JsonBytesForm::kBase64 : JsonBytesForm::kText;
}

// Appends one row of all outputs.
Status append_prediction(std::string& out, const std::vector<AnswerOutput>& outputs, std::size_t piece,
                         std::uint64_t row) {
  if (outputs.size() > 1) out += '{';
  for (std::string_view separator = ""; const AnswerOutput& output : outputs) {
    out += std::exchange(separator, ",");
    if (outputs.size() > 1) {
      append_json_text(out, output.name);
      out += ':';
    }
    const AnswerPart& part = output.parts[piece];
    HEADRACE_CHECK(
        append_json_tensor(out, part.tensor, part.first_element(row), part.row, bytes_form(output.name)));
  }
  if (outputs.size() > 1) out += '}';
  return {};
}

}  // namespace

RestRequest::RestRequest(JsonDocument document, JsonNode values, RestForm form, std::string signature_name)
    : document_(std::move(document)),
      values_(values),
      form_(form),
      signature_name_(std::move(signature_name)) {}

Result<RestRequest> RestRequest::parse(std::string_view body, bool is_padded) {
  auto document = JsonDocument::parse(body, is_padded);
  if (!document) return std::move(document).error().in("reading the request");
  const JsonNode root = document->root();
  if (!root.is_object())
    return refused(concat("the request is ", describe_json(root),
                          R"(, not an object such as {"instances": […]} or {"inputs": …})"));
  std::string signature_name(kDefaultSignature);
  if (const auto name = root.find("signature_name")) {
    if (!name->is_string()) return refused("\"signature_name\" is not a string");
    if (!name->text().empty()) signature_name = name->text();
  }
  const auto instances = root.find("instances");
  const auto inputs = root.find("inputs");
  if (instances && inputs) return refused(R"(the request has "instances" and "inputs": send one of them)");
  if (inputs) return RestRequest(*std::move(document), *inputs, RestForm::kColumn, std::move(signature_name));
  if (!instances) return refused(R"(the request lacks "instances" (or "inputs"))");
  if (!instances->is_array() || instances->size() == 0)
    return refused(concat("\"instances\" is ", describe_json(*instances), ", not a list of rows"));
  return RestRequest(*std::move(document), *instances, RestForm::kRow, std::move(signature_name));
}

Result<std::unique_ptr<BoundRequest>> RestRequest::bind(const ServedSignature& signature) const {
  if (signature.takes_raw_rows())
    return form_ == RestForm::kRow ? bind_raw_instances(values_, signature)
                                   : bind_raw_inputs(values_, signature);
  return form_ == RestForm::kRow ? bind_instances(values_, document_, signature)
                                 : bind_inputs(values_, document_, signature);
}

Result<std::string> rest_answer(const BatchAnswers& answers, const ServedSignature& signature,
                                RestForm form) {
  HEADRACE_TRY(const std::vector<AnswerOutput> outputs,
               join_answers(answers, signature, form == RestForm::kRow ? kInstance : kRowWord));
  if (outputs.empty()) return Error{Code::kInternal, "the signature has no outputs"};
  if (form == RestForm::kRow) {
    std::string out = R"({"predictions":[)";
    std::string_view separator = "";
    for (std::size_t piece = 0; piece < outputs[0].parts.size(); ++piece) {
      for (std::uint64_t row = 0; row < outputs[0].parts[piece].rows; ++row) {
        out += std::exchange(separator, ",");
        HEADRACE_CHECK(append_prediction(out, outputs, piece, row));
      }
    }
    return out + "]}";
  }
  std::string out = R"({"outputs":)";
  if (outputs.size() > 1) out += '{';
  for (std::string_view separator = ""; const AnswerOutput& output : outputs) {
    out += std::exchange(separator, ",");
    if (outputs.size() > 1) {
      append_json_text(out, output.name);
      out += ':';
    }
    HEADRACE_CHECK(output.shape());
    HEADRACE_CHECK(append_json_output(out, output, bytes_form(output.name)));
  }
  if (outputs.size() > 1) out += '}';
  return out + '}';
}

}  // namespace headrace
