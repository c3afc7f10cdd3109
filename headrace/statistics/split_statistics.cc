#include "headrace/statistics/split_statistics.h"

#include <algorithm>
#include <span>

#include "headrace/base/hash.h"
#include "headrace/base/text.h"
#include "headrace/codec/image/image_header.h"

namespace headrace {
namespace {

// Encodes where a value was found. There is room for 2^24 values of a record.
std::uint64_t place_of(std::uint64_t record, std::size_t value) { return (record << 24) + value; }

template <typename Number>
std::optional<std::size_t> named_class(const std::vector<Number>& values) {
  if (values.size() == 1) {
    const bool fits = values[0] >= 0 && values[0] < static_cast<Number>(1 << 24);  // false for NaN
    if (!fits) return std::nullopt;
    return static_cast<std::size_t>(values[0]);
  }
  const auto one = std::find(values.begin(), values.end(), Number{1});
  return one == values.end() ? std::nullopt : std::optional<std::size_t>(one - values.begin());
}
std::optional<std::size_t> named_class(const std::vector<BytesView>&) { return std::nullopt; }
std::optional<std::size_t> named_class(std::monostate) { return std::nullopt; }

std::uint64_t hash_values(std::uint64_t before, const std::vector<BytesView>& values) {
  for (const BytesView value : values) before = siphash({before, values.size()}, value);
  return before;
}
template <typename Number>
std::uint64_t hash_values(std::uint64_t before, const std::vector<Number>& values) {
  return siphash({before, values.size()}, std::as_bytes(std::span(values)));
}
std::uint64_t hash_values(std::uint64_t before, std::monostate) { return before; }

void add_image(BytesView value, std::uint64_t place, ImageStatistics& images) {
  const auto header = read_image_header(value);
  if (!header) return;
  ++images.count;
  images.formats.add(image_format_name(header->format));
  images.channels.add(concat(header->channels));
  images.heights.add(header->size.height, place);
  images.widths.add(header->size.width, place);
}

void add_values(const std::vector<BytesView>& values, std::uint64_t record, FeatureStatistics& to) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    to.sizes_bytes.add(static_cast<double>(values[i].size()), place_of(record, i));
    const bool is_text = is_valid_utf8(as_text(values[i]));
    to.texts += is_text ? 1 : 0;
    if (values.size() == 1 && is_text) {
      to.values.add(as_text(values[i]));
    } else {
      to.values.give_up();
    }
    add_image(values[i], place_of(record, i), to.images);
  }
}
template <typename Number>
void add_values(const std::vector<Number>& values, std::uint64_t record, FeatureStatistics& to) {
  for (std::size_t i = 0; i < values.size(); ++i)
    to.numbers.add(static_cast<double>(values[i]), place_of(record, i));
}
void add_values(std::monostate, std::uint64_t, FeatureStatistics&) {}

template <typename Value>
std::size_t count_values(const std::vector<Value>& values) {
  return values.size();
}
std::size_t count_values(std::monostate) { return 0; }

}  // namespace

std::optional<std::string_view> label_of(const FeatureVocabularies& vocabularies, const Feature& feature) {
  const auto found = vocabularies.find(feature.name);
  if (found == vocabularies.end()) return std::nullopt;
  const auto id = std::visit([](const auto& values) { return named_class(values); }, feature.values);
  if (!id || *id >= found->second.size()) return std::nullopt;
  return found->second[*id];
}

void FeatureStatistics::add(const Feature& feature, std::optional<std::string_view> label,
                            std::uint64_t record) {
  static constexpr std::string_view kTypes[] = {"", "bytes", "float32", "int64"};
  const std::string_view type = kTypes[feature.values.index()];
  if (type.empty()) return;
  if (dtype.empty()) dtype = type;
  if (dtype != type) dtype = "mixed";
  ++records;
  const std::size_t count = std::visit([](const auto& each) { return count_values(each); }, feature.values);
  lengths.add(static_cast<double>(count), record);
  std::visit([&](const auto& each) { add_values(each, record, *this); }, feature.values);
  const auto* const whole = std::get_if<std::vector<std::int64_t>>(&feature.values);
  if (label) {
    values.add(*label);
  } else if (whole && whole->size() == 1) {
    values.add(concat(whole->front()));
  } else if (type != "bytes") {
    values.give_up();
  }
}

void FeatureStatistics::merge(const FeatureStatistics& other) {
  if (dtype.empty()) dtype = other.dtype;
  if (!other.dtype.empty() && dtype != other.dtype) dtype = "mixed";
  records += other.records;
  lengths.merge(other.lengths);
  numbers.merge(other.numbers);
  sizes_bytes.merge(other.sizes_bytes);
  texts += other.texts;
  values.merge(other.values);
  images.count += other.images.count;
  images.formats.merge(other.images.formats);
  images.channels.merge(other.images.channels);
  images.heights.merge(other.images.heights);
  images.widths.merge(other.images.widths);
}

void SplitStatistics::add(const std::vector<Feature>& example, const FeatureVocabularies& vocabularies,
                          std::uint64_t record) {
  ++records;
  std::string sampled_label;
  std::uint64_t content = 0;
  bool has_content = false;
  for (const Feature& feature : example) {
    const auto label = label_of(vocabularies, feature);
    if (label && (sampled_label.empty() || feature.name == "label")) sampled_label = *label;
    if (!vocabularies.contains(feature.name) && feature.name != "id") {
      has_content = true;
      content = siphash({content, 0}, as_bytes(feature.name));
      content = std::visit([&](const auto& each) { return hash_values(content, each); }, feature.values);
    }
    auto found = features.find(feature.name);
    if (found == features.end()) {
      if (features.size() == kMaxFeatures) {
        has_more_features = true;
        continue;
      }
      found = features.try_emplace(feature.name).first;
    }
    found->second.add(feature, label, record);
  }
  if (has_content) contents.push_back(content);
  if (!places.contains(sampled_label) && places.size() == kSampledLabels) return;
  places.try_emplace(std::move(sampled_label), kSampledPerLabel).first->second.add(spread(record), record);
}

void SplitStatistics::merge(const SplitStatistics& other) {
  records += other.records;
  damaged += other.damaged;
  has_more_features |= other.has_more_features;
  for (const auto& [name, feature] : other.features) {
    if (!features.contains(name) && features.size() == kMaxFeatures) {
      has_more_features = true;
      continue;
    }
    features[name].merge(feature);
  }
  contents.insert(contents.end(), other.contents.begin(), other.contents.end());
  for (const auto& [label, sample] : other.places) {
    if (!places.contains(label) && places.size() == kSampledLabels) continue;
    places.try_emplace(label, kSampledPerLabel).first->second.merge(sample);
  }
}

void SplitStatistics::finish() { std::sort(contents.begin(), contents.end()); }

std::uint64_t SplitStatistics::duplicates() const {
  std::uint64_t found = 0;
  for (std::size_t i = 1; i < contents.size(); ++i) found += contents[i] == contents[i - 1] ? 1 : 0;
  return found;
}

std::uint64_t shared_contents(const SplitStatistics& a, const SplitStatistics& b) {
  std::uint64_t found = 0;
  for (const std::uint64_t content : a.contents) {
    found += std::binary_search(b.contents.begin(), b.contents.end(), content) ? 1 : 0;
  }
  return found;
}

}  // namespace headrace
