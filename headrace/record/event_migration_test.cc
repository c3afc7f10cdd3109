#include "headrace/record/event_migration.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
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

TEST(EventMigration, OlderFormsGetThePluginThatShowsThem) {
  const auto metadata_of = [](ValueForm form, const MetadataView& given) {
    SummaryValue value = value_of("tag", form, {});
    value.metadata = given;
    EventMigration migration;
    MigratedValue out;
    EXPECT_TRUE(migration.migrate(value, nullptr, out));
    EXPECT_EQ(out.tag, "tag");
    EXPECT_EQ(out.kind.data_class, out.metadata.data_class);
    EXPECT_FALSE(out.kind.first_column_only);
    return out.metadata;
  };
  MetadataView given;
  given.display_name = "name", given.description = "about";
  const MetadataView histogram = metadata_of(ValueForm::kHistogram, given);
  EXPECT_EQ(histogram.plugin_name, "histograms");
  EXPECT_TRUE(histogram.plugin_content.empty());
  EXPECT_EQ(histogram.display_name, "name");
  EXPECT_EQ(histogram.description, "about");
  EXPECT_EQ(histogram.data_class, DataClass::kTensor);
  const MetadataView image = metadata_of(ValueForm::kImage, {});
  EXPECT_EQ(as_text(image.plugin_content), "\x10\x01");
  EXPECT_EQ(image.display_name, "tag");
  EXPECT_EQ(image.data_class, DataClass::kBlobSequence);
  const MetadataView audio = metadata_of(ValueForm::kAudio, {});
  EXPECT_EQ(audio.plugin_name, "audio");
  EXPECT_EQ(as_text(audio.plugin_content), "\x10\x0b\x18\x01");
}

TEST(EventMigration, KnowsTheClassesOfTensorBoardsPlugins) {
  EXPECT_EQ(data_class_of_plugin("scalars"), DataClass::kScalar);
  for (const char* tensors : {"histograms", "text", "hparams", "pr_curves", "mesh", "custom_scalars"})
    EXPECT_EQ(data_class_of_plugin(tensors), DataClass::kTensor) << tensors;
  for (const char* blobs :
       {"images", "audio", "graph_run_metadata", "graph_run_metadata_graph", "graph_keras_model"})
    EXPECT_EQ(data_class_of_plugin(blobs), DataClass::kBlobSequence) << blobs;
  EXPECT_EQ(data_class_of_plugin(""), DataClass::kUnknown);
}

TEST(EventMigration, AScalarMayBeATensor) {
  const Bytes number = encoded([](WireWriter& tensor) {
    tensor.varint(tensor_field::kDtype, dtype::kDouble);
    tensor.fixed64(tensor_field::kDoubleVal, 2.5);
  });
  EventMigration migration;
  MigratedValue out;
  ASSERT_TRUE(migration.migrate(value_of("loss", ValueForm::kTensor, number, "scalars"), nullptr, out));
  EXPECT_EQ(out.scalar, 2.5F);
  EXPECT_EQ(out.metadata.data_class, DataClass::kScalar) << "filled in";
  const SeriesKind known = out.kind;
  out.metadata.plugin_name = "kept";
  ASSERT_TRUE(migration.migrate(value_of("loss", ValueForm::kTensor, number, "text"), &known, out));
  EXPECT_EQ(out.metadata.plugin_name, "kept") << "a later value tells nothing about its series";
}

TEST(EventMigration, HistogramsOfFewBucketsKeepTheirLimits) {
  const auto table = [](const std::vector<double>& edges, const std::vector<double>& counts) {
    const Bytes histogram = encoded([&](WireWriter& out) {
      out.fixed64(1, -1.5);
      out.fixed64(2, 4.5);
      out.bytes(6, std::as_bytes(std::span(edges)));
      out.bytes(7, std::as_bytes(std::span(counts)));
    });
    EventMigration migration;
    MigratedValue out;
    EXPECT_TRUE(migration.migrate(value_of("h", ValueForm::kHistogram, histogram), nullptr, out));
    const Result<TensorProtoView> tensor = parse_tensor(out.tensor);
    EXPECT_EQ(tensor->dtype, dtype::kFloat);
    EXPECT_EQ(tensor->rank, 2);
    EXPECT_EQ(tensor->sizes[1], 3);
    std::vector<float> numbers(tensor->content.size() / sizeof(float));
    std::copy(tensor->content.begin(), tensor->content.end(),
              std::as_writable_bytes(std::span(numbers)).begin());
    EXPECT_EQ(tensor->element_count, numbers.size());
    return numbers;
  };
  using Numbers = std::vector<float>;
  EXPECT_EQ(table({1, 2, 3}, {0, 0.5, 0}), (Numbers{-1.5F, 4.5F, 0.5F}));
  EXPECT_EQ(table({1, 2, 3}, {0.5, 0, 0.25}), (Numbers{-1.5F, 1, 0.5F, 1, 2, 0, 2, 4.5F, 0.25F}));
  EXPECT_EQ(table({1, 2}, {0, 0}), Numbers());
  EXPECT_EQ(table({1, 2, 3}, {0.5, 1, 0}), (Numbers{-1.5F, 1, 0.5F, 1, 4.5F, 1}));
}

TEST(EventMigration, OfStringsInRowsOnlyAudioLeavesTheLabelsOut) {
  EventMigration migration;
  MigratedValue out;
  const Bytes rows = strings({2, 2}, {"one", "label", "two", "label"});
  ASSERT_TRUE(migration.migrate(value_of("i", ValueForm::kTensor, rows, "images"), nullptr, out));
  EXPECT_EQ(out.blobs.size(), 4U);
  const auto clips = [&](std::initializer_list<std::uint64_t> sizes) {
    const Bytes tensor = strings(sizes, {"a", "b", "c", "d"});
    EXPECT_TRUE(migration.migrate(value_of("a", ValueForm::kTensor, tensor, "audio"), nullptr, out));
    return texts(out.blobs);
  };
  EXPECT_EQ(clips({4}).size(), 4U);
  EXPECT_EQ(clips({1, 4}), std::vector<std::string>{"a"});
  EXPECT_EQ(clips({0, 4}).size(), 4U);
  EXPECT_EQ(clips({4, 0}).size(), 0U);
  SummaryValue modern = value_of("a", ValueForm::kTensor, rows, "audio");
  modern.metadata.data_class = DataClass::kBlobSequence;
  ASSERT_TRUE(migration.migrate(modern, nullptr, out));
  EXPECT_EQ(out.blobs.size(), 4U) << "where the file tells the class, there are no labels";
}

TEST(EventMigration, ABlobSequenceIsBounded) {
  const Bytes many = strings({}, std::vector<std::string>(EventMigration::kMaxBlobs + 1, "x"));
  EventMigration migration;
  MigratedValue out;
  ASSERT_TRUE(migration.migrate(value_of("i", ValueForm::kTensor, many, "images"), nullptr, out));
  EXPECT_EQ(out.blobs.size(), EventMigration::kMaxBlobs);
}

TEST(EventMigration, AnErrorNamesTheTagAndTheReason) {
  const auto message = [](ValueForm form, BytesView content, DataClass data_class) {
    const SeriesKind kind{data_class};
    EventMigration migration;
    MigratedValue out;
    const Status migrated = migration.migrate(value_of("t", form, content), &kind, out);
    if (migrated) return std::string("it was migrated");
    EXPECT_EQ(migrated.error().code, Code::kDataLoss);
    return migrated.error().message;
  };
  const Bytes text = strings({}, {"x"});
  EXPECT_EQ(message(ValueForm::kImage, {}, DataClass::kScalar), "value of tag \"t\": not a scalar");
  EXPECT_EQ(message(ValueForm::kTensor, text, DataClass::kScalar),
            "value of tag \"t\": a tensor that is not a number");
  EXPECT_EQ(message(ValueForm::kImage, {}, DataClass::kTensor), "value of tag \"t\": not a tensor");
  EXPECT_EQ(message(ValueForm::kNone, {}, DataClass::kTensor), "it was migrated");
  EXPECT_EQ(message(ValueForm::kNone, {}, DataClass::kBlobSequence), "value of tag \"t\": no blobs");
  EXPECT_EQ(message(ValueForm::kTensor, {}, DataClass::kBlobSequence),
            "value of tag \"t\": a tensor that holds no blobs");
  const Bytes edges = encoded([](WireWriter& out) { out.fixed64(6, 1); });
  EXPECT_EQ(message(ValueForm::kHistogram, edges, DataClass::kTensor),
            "value of tag \"t\": a histogram whose edges and counts differ in number");
  EXPECT_EQ(message(ValueForm::kTensor, text, DataClass::kUnknown), "it was migrated");
}

TEST(EventMigration, MetadataOfARunLeaveNothingOfTheValueBefore) {
  EventMigration migration;
  MigratedValue out;
  out.scalar = 7;
  out.metadata.display_name = "before";
  EventView event;
  event.kind = EventKind::kTaggedRunMetadata;
  event.content = as_bytes("metadata");
  event.run_metadata_tag = "tag";
  ASSERT_TRUE(migration.migrate_event(event, out));
  EXPECT_EQ(out.metadata.plugin_name, "graph_tagged_run_metadata");
  EXPECT_EQ(out.metadata.data_class, DataClass::kBlobSequence);
  EXPECT_EQ(out.kind.data_class, DataClass::kBlobSequence);
  EXPECT_EQ(texts(out.blobs), std::vector<std::string>{"metadata"});
  EXPECT_EQ(out.scalar, 0);
  EXPECT_EQ(out.metadata.display_name, "");
}

}  // namespace
}  // namespace headrace
