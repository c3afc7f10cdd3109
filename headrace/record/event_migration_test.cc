#include "headrace/record/event_migration.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "headrace/record/event_wire.h"

namespace headrace {
namespace {

Bytes encoded(const std::function<void(WireWriter&)>& write) {
  Bytes out;
  WireWriter writer(out);
  write(writer);
  return out;
}

SummaryValue value_of(std::string_view tag, ValueForm form, BytesView content, std::string_view plugin = "") {
  SummaryValue value;
  value.tag = tag;
  value.form = form;
  value.content = content;
  value.has_metadata = !plugin.empty();
  value.metadata.plugin_name = plugin;
  return value;
}

Bytes strings(std::initializer_list<std::uint64_t> sizes, const std::vector<std::string>& elements) {
  return encoded([&](WireWriter& tensor) {
    tensor.varint(tensor_field::kDtype, dtype::kString);
    write_shape(tensor, sizes);
    for (const std::string& element : elements) tensor.text(tensor_field::kStringVal, element);
  });
}

std::vector<std::string> texts(std::span<const BytesView> blobs) {
  std::vector<std::string> out;
  for (const BytesView blob : blobs) out.push_back(to_string(blob));
  return out;
}

TEST(EventMigration, ASimpleValueIsAScalar) {
  SummaryValue value = value_of("loss", ValueForm::kSimpleValue, {});
  value.simple_value = 2.5F;
  MigratedValue out;
  ASSERT_TRUE(EventMigration().migrate(value, nullptr, out));
  EXPECT_EQ(out.kind.data_class, DataClass::kScalar);
  EXPECT_EQ(out.scalar, 2.5F);
  EXPECT_EQ(out.metadata.plugin_name, "scalars");
  EXPECT_EQ(out.metadata.display_name, "loss");
}

TEST(EventMigration, AHistogramLosesItsEmptyBucketsAtBothEnds) {
  constexpr double kMost = std::numeric_limits<double>::max();
  const Bytes histogram = encoded([](WireWriter& out) {
    out.fixed64(1, -1.5);
    out.fixed64(2, 4.5);
    for (const double edge : {-2.0, 0.0, 1.0, 3.0, kMost}) out.fixed64(6, edge);
    const std::vector<double> counts = {0, 2, 0, 5, 0};
    out.bytes(7, std::as_bytes(std::span(counts)));
  });
  EventMigration migration;
  MigratedValue out;
  ASSERT_TRUE(migration.migrate(value_of("h", ValueForm::kHistogram, histogram), nullptr, out));
  EXPECT_EQ(out.kind.data_class, DataClass::kTensor);
  const Result<TensorProtoView> tensor = parse_tensor(out.tensor);
  ASSERT_TRUE(tensor);
  EXPECT_EQ(tensor->sizes[0], 3);
  const std::vector<float> expected = {-1.5F, 0, 2, 0, 1, 0, 1, 4.5F, 5};
  EXPECT_EQ(as_text(tensor->content), as_text(std::as_bytes(std::span(expected))));
  const Bytes uneven = encoded([](WireWriter& uneven_out) { uneven_out.fixed64(7, 1); });
  EXPECT_FALSE(migration.migrate(value_of("h", ValueForm::kHistogram, uneven), nullptr, out));
  ASSERT_TRUE(migration.migrate(value_of("h", ValueForm::kHistogram, {}), nullptr, out));
  EXPECT_EQ(parse_tensor(out.tensor)->element_count, 0U);
}

TEST(EventMigration, ImagesAndClipsAreBlobSequences) {
  const Bytes image = encoded([](WireWriter& out) {
    out.varint(1, 20);
    out.varint(2, 30);
    out.text(4, "PNG");
  });
  EventMigration migration;
  MigratedValue out;
  ASSERT_TRUE(migration.migrate(value_of("i", ValueForm::kImage, image), nullptr, out));
  EXPECT_EQ(texts(out.blobs), (std::vector<std::string>{"30", "20", "PNG"}));
  EXPECT_EQ(out.metadata.plugin_name, "images");
  const Bytes clip = encoded([](WireWriter& clip_out) { clip_out.text(4, "RIFF"); });
  ASSERT_TRUE(migration.migrate(value_of("a", ValueForm::kAudio, clip), nullptr, out));
  EXPECT_EQ(texts(out.blobs), std::vector<std::string>{"RIFF"});
}

TEST(EventMigration, TensorsWithoutAClassHaveTheirPluginsClass) {
  EventMigration migration;
  MigratedValue out;
  const Bytes text = strings({}, {"hello"});
  ASSERT_TRUE(migration.migrate(value_of("t", ValueForm::kTensor, text, "text"), nullptr, out));
  EXPECT_EQ(out.kind.data_class, DataClass::kTensor);
  EXPECT_EQ(as_text(out.tensor), as_text(text));
  const Bytes clips = strings({2, 2}, {"one", "label", "two", "label"});
  ASSERT_TRUE(migration.migrate(value_of("a", ValueForm::kTensor, clips, "audio"), nullptr, out));
  EXPECT_EQ(texts(out.blobs), (std::vector<std::string>{"one", "two"}));
  const SeriesKind kind = out.kind;
  ASSERT_TRUE(migration.migrate(value_of("a", ValueForm::kTensor, clips), &kind, out));
  EXPECT_EQ(texts(out.blobs), (std::vector<std::string>{"one", "two"})) << "later values have no metadata";
  ASSERT_TRUE(migration.migrate(value_of("x", ValueForm::kTensor, text, "unheard_of"), nullptr, out));
  EXPECT_EQ(out.kind.data_class, DataClass::kUnknown);
  SummaryValue hyperparameters = value_of("_hparams_/experiment", ValueForm::kNone, {}, "hparams");
  ASSERT_TRUE(migration.migrate(hyperparameters, nullptr, out));
  EXPECT_EQ(parse_tensor(out.tensor)->element_count, 0U);
}

TEST(EventMigration, GraphsAndRunMetadataAreBlobSequences) {
  EventMigration migration;
  MigratedValue out;
  EventView event;
  event.kind = EventKind::kGraphDef;
  event.content = as_bytes("graph");
  ASSERT_TRUE(migration.migrate_event(event, out));
  EXPECT_EQ(out.tag, "__run_graph__");
  EXPECT_EQ(out.metadata.plugin_name, "graphs");
  EXPECT_EQ(texts(out.blobs), std::vector<std::string>{"graph"});
  event.kind = EventKind::kTaggedRunMetadata;
  event.run_metadata_tag = "step 3";
  ASSERT_TRUE(migration.migrate_event(event, out));
  EXPECT_EQ(out.tag, "step 3");
  event.kind = EventKind::kSummary;
  EXPECT_FALSE(migration.migrate_event(event, out));
}

TEST(EventMigration, AValueThatDoesNotFitItsSeriesIsAnError) {
  EventMigration migration;
  MigratedValue out;
  const SeriesKind scalar{DataClass::kScalar};
  const SeriesKind tensor{DataClass::kTensor};
  const SeriesKind blobs{DataClass::kBlobSequence};
  const Bytes text = strings({}, {"x"});
  EXPECT_FALSE(migration.migrate(value_of("t", ValueForm::kTensor, text), &scalar, out));
  EXPECT_FALSE(migration.migrate(value_of("t", ValueForm::kHistogram, {}), &scalar, out));
  EXPECT_FALSE(migration.migrate(value_of("t", ValueForm::kSimpleValue, {}), &tensor, out));
  EXPECT_FALSE(migration.migrate(value_of("t", ValueForm::kTensor, as_bytes("\x2a\x01")), &tensor, out));
  EXPECT_FALSE(migration.migrate(value_of("t", ValueForm::kHistogram, {}), &blobs, out));
}

}  // namespace
}  // namespace headrace
