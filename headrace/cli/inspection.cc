#include "headrace/cli/inspection.h"

#include "headrace/base/json.h"
#include "headrace/base/text.h"
#include "headrace/cli/quoted_name.h"
#include "headrace/record/logged_request.h"

namespace headrace {
namespace {

constexpr std::size_t kShownValues = 4;
constexpr std::size_t kShownBytes = 70;
constexpr std::size_t kShownAttributeBytes = 200;

// The first `bytes` bytes at most, cut between characters.
std::string_view beginning(std::string_view utf8, std::size_t bytes) {
  std::size_t end = std::min(utf8.size(), bytes);
  while (end < utf8.size() && end > 0 && (static_cast<unsigned char>(utf8[end]) & 0xc0) == 0x80) --end;
  return utf8.substr(0, end);
}

std::string show_value(BytesView bytes) {
  const std::string_view text = as_text(bytes);
  if (!is_valid_utf8(text)) return concat("<", bytes.size(), " bytes>");
  const std::string_view begin = beginning(text, kShownBytes);
  return Json(begin).dump() + (begin.size() < text.size() ? concat("… ", text.size(), " bytes") : "");
}
template <typename Number>
std::string show_value(Number number) {
  return concat(number);
}

template <typename Value>
std::string show_values(const std::vector<Value>& values) {
  if (values.size() == 1) return show_value(values[0]);
  std::string out = "[";
  for (std::size_t i = 0; i < values.size() && i < kShownValues; ++i) {
    out += (i > 0 ? ", " : "") + show_value(values[i]);
  }
  if (values.size() > kShownValues) out += concat(", … ", values.size(), " values");
  return out + "]";
}

std::string show_values(std::monostate) { return "nothing"; }

class Page {
 public:
  explicit Page(std::string title) : text_(std::move(title)) {}
  // Prints the name once, before the first of its lines.
  void add(std::string_view name, std::string_view value) {
    const std::string_view shown = name == last_ ? "" : name;
    text_ += concat("\n  ", shown, std::string(kNameWidth - std::min(kNameWidth, shown.size()), ' '), value);
    last_ = name;
  }
  const std::string& text() const { return text_; }

 private:
  static constexpr std::size_t kNameWidth = 15;
  std::string text_;
  std::string last_;
};

std::string show_counts(const std::map<std::string, std::uint64_t>& counts) {
  std::string out;
  for (const auto& [name, count] : counts) out += concat(out.empty() ? "" : ", ", count, " ", name);
  return out;
}

void add_content(Page& page, const Inspection& inspection) {
  for (const auto& [name, split] : inspection.splits) {
    const std::string labels = show_counts(split.labels);
    page.add("records", concat(name, ": ", split.records, labels.empty() ? "" : concat(" (", labels, ")")));
  }
  for (const auto& [name, shape] : inspection.features) page.add("features", concat(name, ": ", shape));
  if (!inspection.labels.empty()) page.add("labels", join(inspection.labels, ", "));
  for (const auto& [feature, name] : inspection.encoders) page.add("encoders", concat(feature, ": ", name));
  if (!inspection.counts.empty()) page.add("counts", show_counts(inspection.counts));
  if (!inspection.reasons.empty()) page.add("noted", show_counts(inspection.reasons));
  if (!inspection.attributes_json.empty()) {
    const Json attributes = parse_json(inspection.attributes_json).value_or(Json());
    if (!attributes.is_object()) return;
    for (const auto& [name, value] : attributes.members()) {
      const std::string text = value.dump();
      const std::string_view begin = beginning(text, kShownAttributeBytes);
      page.add(name, concat(begin, begin.size() < text.size() ? "…" : ""));
    }
  }
}

// The inputs of a logged request, as features; none if the record is not a logged request. A tf.Example has
// no such field.
std::optional<std::vector<Feature>> logged_features(BytesView record) {
  constexpr std::uint64_t kElementsMax = 1 << 20;
  const auto request = logged_predict_request(record);
  if (!request || !*request) return std::nullopt;
  const auto inputs = inputs_of_request(**request);
  if (!inputs) return std::nullopt;
  std::vector<Feature> out;
  for (const LoggedInput& input : *inputs) {
    Feature& feature = out.emplace_back(Feature{std::string(input.name), {}});
    auto values = tensor_values(input.tensor, kElementsMax);
    if (values) std::visit([&](auto& each) { feature.values = std::move(each); }, *values);
  }
  return out;
}

}  // namespace

std::string describe_record(BytesView record) {
  const auto logged = logged_features(record);
  const auto features = logged ? Result<std::vector<Feature>>(*logged) : parse_example(record);
  if (!features) return concat("not a tf.Example (", record.size(), " bytes): ", features.error().message);
  std::string out;
  for (const Feature& feature : *features) {
    out += concat(out.empty() ? "{" : ", ", Json(feature.name).dump(), ": ",
                  std::visit([](const auto& values) { return show_values(values); }, feature.values));
  }
  return out.empty() ? "{}" : out + "}";
}

std::string inspection_to_text(const Inspection& inspection) {
  Page page(inspection.url);
  page.add("kind", inspection.manifest > 0 ? concat(inspection.kind, ", manifest ", inspection.manifest,
                                                    ", made by run ", inspection.created_by)
                                           : concat(inspection.kind, ", not published by a manifest"));
  add_content(page, inspection);
  page.add("objects", concat(show_counts(inspection.objects), "; ", format_size(inspection.size_bytes)));
  if (inspection.bad) {
    page.add("checksums",
             inspection.bad->empty() ? "all right" : concat(inspection.bad->size(), " objects are bad"));
    for (const BadPart& part : *inspection.bad)
      page.add("BAD", concat(quoted_name(part.url, Quoting::kUnsafe), "  ", part.problem));
  }
  for (const std::string& record : inspection.first_records) page.add("first", record);
  return page.text();
}

Json inspection_to_json(const Inspection& inspection) {
  Json out = {{"url", inspection.url},
              {"kind", inspection.kind},
              {"manifest", inspection.manifest},
              {"digest", inspection.digest},
              {"created_by", inspection.created_by},
              {"features", inspection.features},
              {"labels", inspection.labels},
              {"encoders", inspection.encoders},
              {"counts", inspection.counts},
              {"reasons", inspection.reasons},
              {"objects", inspection.objects},
              {"size_bytes", inspection.size_bytes},
              {"warnings", inspection.warnings},
              {"first_records", inspection.first_records},
              {"splits", Json::object()}};
  for (const auto& [name, split] : inspection.splits) {
    out["splits"][name] = {{"records", split.records}, {"labels", split.labels}};
  }
  if (!inspection.attributes_json.empty())
    out["attributes"] = parse_json(inspection.attributes_json).value_or(Json());
  if (inspection.bad) {
    out["ok"] = inspection.bad->empty();
    out["bad"] = Json::array();
    for (const BadPart& part : *inspection.bad) {
      out["bad"].push_back({{"url", part.url}, {"problem", part.problem}});
    }
  }
  return out;
}

}  // namespace headrace
