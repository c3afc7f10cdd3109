// The program of tests/python/test_record_tensorflow.py: the codecs of record/ and codec/ on files, JSON
// lines on standard input and output. Floats travel as their 32 bits, bytes as hexadecimal digits.
//
//   headrace_record_probe read FILE [NAME:TYPE[:LENGTH[:DEFAULT]] …]   columns: by ExampleDecoder
//   headrace_record_probe write FILE none|gzip RECORDS_PER_MEMBER
//   headrace_record_probe index FILE                  the index that `write` made beside the file
//   headrace_record_probe events FILE                 writes
//   headrace_record_probe show-events FILE [PIECE_BYTES]   one line an event, each value as it lies there and
//                                                          as it is read today

#include <bit>
#include <cstdio>
#include <deque>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>

#include "headrace/base/crc32c.h"
#include "headrace/base/json.h"
#include "headrace/base/text.h"
#include "headrace/codec/deflate.h"
#include "headrace/record/event.h"
#include "headrace/record/event_migration.h"
#include "headrace/record/event_reader.h"
#include "headrace/record/event_stream.h"
#include "headrace/record/example.h"
#include "headrace/record/example_decoder.h"
#include "headrace/record/index.h"
#include "headrace/record/tfrecord.h"

namespace headrace {
namespace {

constexpr std::uint64_t kLimitBytes = std::uint64_t{1} << 30;

std::string to_hex(BytesView bytes) {
  std::string out;
  for (const std::byte byte : bytes) out += hex32(std::to_integer<std::uint32_t>(byte)).substr(6);
  return out;
}

Bytes from_hex(const std::string& digits) {
  Bytes out;
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2) {
    out.push_back(static_cast<std::byte>(std::stoi(digits.substr(i, 2), nullptr, 16)));
  }
  return out;
}

Bytes read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return to_bytes(std::string(std::istreambuf_iterator<char>(file), {}));
}

void write_file(const std::string& path, BytesView data) {
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(data.data()), static_cast<std::streamsize>(data.size()));
}

Json show(const std::vector<BytesView>& values) {
  Json list = Json::array();
  for (const BytesView value : values) list.push_back(to_hex(value));
  return {{"bytes", list}};
}
Json show(const std::vector<float>& values) {
  Json list = Json::array();
  for (const float value : values) list.push_back(std::bit_cast<std::uint32_t>(value));
  return {{"float32", list}};
}
Json show(const std::vector<std::int64_t>& values) { return {{"int64", values}}; }
Json show(std::monostate) { return nullptr; }

// The whole file uncompressed, by both decompressors, which must agree.
Result<Bytes> uncompressed(const Bytes& stored) {
  const Compression compression = sniff_compression(stored);
  if (compression == Compression::kNone) return stored;
  Bytes whole;
  HEADRACE_CHECK(BufferInflater().all(stored, compression, whole, kLimitBytes));
  Inflater inflater(compression);
  Bytes streamed, piece(10'000);
  for (BytesView rest = stored;;) {
    HEADRACE_TRY(const InflateStep step, inflater.step(rest, piece));
    rest = rest.subspan(step.consumed_bytes);
    append(streamed, BytesView(piece).first(step.produced_bytes));
    if (step.produced_bytes < piece.size()) break;
  }
  HEADRACE_CHECK(inflater.finish());
  if (streamed != whole) return Error{Code::kInternal, "the decompressors disagree"};
  return whole;
}

Result<Json> show_parsed(BytesView record) {
  HEADRACE_TRY(const std::vector<Feature> features, parse_example(record));
  Json out = Json::object();
  for (const Feature& feature : features) {
    out[feature.name] = std::visit([](const auto& values) { return show(values); }, feature.values);
  }
  return out;
}

// Columns with a buffer of one row each.
struct Columns {
  std::vector<Column> columns;
  std::deque<std::vector<float>> floats;
  std::deque<std::vector<std::int64_t>> integers;
  std::deque<std::vector<BytesView>> texts;
  std::vector<ColumnBuffer> buffers;

  void add(const std::string& description) {
    const std::vector<std::string> parts = split(description, ':');
    Column column{parts[0], DataType::kBytes, std::nullopt, false};
    if (parts[1] == "float32") column.type = DataType::kFloat32;
    if (parts[1] == "int64") column.type = DataType::kInt64;
    if (parts.size() > 2) column.length = *parse_number<std::uint32_t>(parts[2]);
    if (parts.size() > 3) {
      if (column.type == DataType::kFloat32) column.default_value = *parse_number<float>(parts[3]);
      if (column.type == DataType::kInt64) column.default_value = *parse_number<std::int64_t>(parts[3]);
      if (column.type == DataType::kBytes) column.default_value = parts[3];
    }
    const std::size_t length = column.length.value_or(0);
    const auto bind = [&](auto& values) {
      values.resize(length);
      if (column.length) {
        buffers.emplace_back(values.data());
      } else {
        buffers.emplace_back(&values);
      }
    };
    if (column.type == DataType::kFloat32) bind(floats.emplace_back());
    if (column.type == DataType::kInt64) bind(integers.emplace_back());
    if (column.type == DataType::kBytes) bind(texts.emplace_back());
    columns.push_back(std::move(column));
  }

  Result<Json> show_decoded(ExampleDecoder& decoder, BytesView record) {
    HEADRACE_CHECK(decoder.decode(record, buffers, 0));
    Json out = Json::object();
    std::size_t next_float = 0, next_integer = 0, next_text = 0;
    for (const Column& column : columns) {
      const auto take = [&](auto& values) {
        out[column.name] = show(values);
        if (!column.length) values.clear();
      };
      if (column.type == DataType::kFloat32) take(floats[next_float++]);
      if (column.type == DataType::kInt64) take(integers[next_integer++]);
      if (column.type == DataType::kBytes) take(texts[next_text++]);
    }
    return out;
  }
};

Status read(const std::vector<std::string>& arguments) {
  HEADRACE_TRY(const Bytes stream, uncompressed(read_file(arguments.at(0))));
  Columns columns;
  for (std::size_t i = 1; i < arguments.size(); ++i) columns.add(arguments[i]);
  HEADRACE_TRY(ExampleDecoder decoder, ExampleDecoder::create(columns.columns));
  RecordScanner scanner(stream);
  BytesView record;
  ScanOutcome outcome = scanner.next(record);
  for (; outcome == ScanOutcome::kRecord; outcome = scanner.next(record)) {
    HEADRACE_TRY(const Json line,
                 arguments.size() > 1 ? columns.show_decoded(decoder, record) : show_parsed(record));
    std::cout << line.dump() << "\n";
  }
  if (outcome != ScanOutcome::kEnd) return scan_error(outcome, arguments[0], scanner.position(), 0);
  return {};
}

void append_example(const Json& features, Bytes& stream) {
  ExampleBuilder builder;
  std::deque<std::string> names;
  std::deque<std::vector<float>> floats;
  std::deque<std::vector<std::int64_t>> integers;
  std::deque<Bytes> texts;
  std::deque<std::vector<BytesView>> lists;
  for (const auto& [key, feature] : features.members()) {
    const std::string& name = names.emplace_back(key);
    const auto& [type, values] = *feature.members().begin();
    if (type == "float32") {
      auto& list = floats.emplace_back();
      for (const Json& value : values.values())
        list.push_back(std::bit_cast<float>(value.as<std::uint32_t>()));
      builder.add_floats(name, list);
    } else if (type == "int64") {
      builder.add_int64s(name, integers.emplace_back(values.as<std::vector<std::int64_t>>()));
    } else {
      auto& list = lists.emplace_back();
      for (const Json& value : values.values()) list.push_back(texts.emplace_back(from_hex(value.text())));
      builder.add_bytes_list(name, list);
    }
  }
  const std::size_t offset = begin_record(stream);
  builder.append_to(stream);
  end_record(stream, offset);
}

Status write(const std::vector<std::string>& arguments) {
  const bool gzip = arguments.at(1) == "gzip";
  const auto member_records = *parse_number<std::uint64_t>(arguments.at(2));
  HEADRACE_TRY(GzipCompressor compressor, GzipCompressor::create(6));
  ShardIndexBuilder index(gzip ? ShardEncoding::kGzip : ShardEncoding::kPlain);
  Bytes stored, stream;
  const auto end_member = [&] {
    if (gzip) {
      index.add_member(compressor.append_member(stream, stored), stream.size());
    } else {
      append(stored, stream);
    }
    stream.clear();
  };
  for (std::string line; std::getline(std::cin, line);) {
    const std::size_t before = stream.size();
    append_example(*parse_json(line), stream);
    index.add_record(stream.size() - before - kRecordFramingBytes);
    if (index.record_count() % member_records == 0) end_member();
  }
  if (!stream.empty()) end_member();
  write_file(arguments.at(0), stored);
  HEADRACE_TRY(const ShardIndex finished, std::move(index).finish(stored.size(), crc32c(stored)));
  write_file(arguments.at(0) + ".index", finished.serialize());
  return {};
}

Status show_index(const std::vector<std::string>& arguments) {
  HEADRACE_TRY(const ShardIndex index, ShardIndex::parse(read_file(arguments.at(0) + ".index")));
  Json members = Json::array();
  for (const ShardMember& member : index.members()) {
    members.push_back(
        Json::array({member.compressed_offset, member.compressed_bytes, member.uncompressed_offset,
                     member.uncompressed_bytes, member.first_record, member.record_count}));
  }
  std::cout << Json{{"records", index.record_count()},
                    {"stream_bytes", index.stream_bytes()},
                    {"shard_bytes", index.shard_bytes()},
                    {"members", members}}
                   .dump()
            << "\n";
  return {};
}

SeriesLabel label_of(const Json& event) {
  const auto text = [&](const char* name) {
    return event.contains(name) ? std::string_view(event.at(name).text()) : "";
  };
  return {text("display_name"), text("description")};
}

HyperparameterValue hyperparameter_value(const Json& value) {
  if (value.is_number()) return value.as<double>();
  if (value.is_string()) return std::string_view(value.text());
  return value.as<bool>();
}

void write_experiment(EventEncoder& encoder, Bytes& out, const Json& event) {
  std::vector<HyperparameterDomain> domains;
  std::deque<std::vector<HyperparameterValue>> values;
  for (const Json& domain : event.at("hyperparameters").values()) {
    HyperparameterDomain next{domain.at("name").text()};
    next.label = label_of(domain);
    if (domain.contains("values")) {
      values.emplace_back();
      for (const Json& value : domain.at("values").values())
        values.back().push_back(hyperparameter_value(value));
      next.values = values.back();
    } else {
      next.least = domain.get<double>("least");
      next.greatest = domain.get<double>("greatest");
    }
    domains.push_back(next);
  }
  std::vector<MetricName> metrics;
  for (const Json& metric : event.at("metrics").values()) {
    metrics.push_back({metric.at("tag").text(), metric.at("group").text(), label_of(metric)});
  }
  encoder.experiment(out, event.get<double>("wall_time"),
                     {domains, metrics, event.at("name").text(), event.at("description").text()});
}

void write_images(EventEncoder& encoder, Bytes& out, const EventStamp& stamp, const Json& event) {
  std::vector<Bytes> encoded;
  for (const Json& image : event.at("encoded").values()) encoded.push_back(from_hex(image.text()));
  const std::vector<BytesView> views(encoded.begin(), encoded.end());
  encoder.images(out, stamp, event.get<std::string>("tag"),
                 {event.get<std::uint32_t>("width"), event.get<std::uint32_t>("height"), views},
                 label_of(event));
}

void write_event(EventEncoder& encoder, Bytes& out, const Json& event) {
  const auto kind = event.get<std::string>("kind");
  const std::string tag = event.get_or("tag", "");
  const EventStamp stamp{event.get<double>("wall_time"), event.get_or("step", std::int64_t{0})};
  if (kind == "begin") encoder.begin_file(out, stamp.wall_time_s, "headrace_record_probe");
  if (kind == "scalar") encoder.scalar(out, stamp, tag, event.get<float>("value"), label_of(event));
  if (kind == "histogram") {
    encoder.histogram(out, stamp, tag, make_histogram(event.get<std::vector<float>>("values")),
                      label_of(event));
  }
  if (kind == "histogram of doubles") {
    encoder.histogram(out, stamp, tag, make_histogram(event.get<std::vector<double>>("values")));
  }
  if (kind == "text") encoder.text(out, stamp, tag, event.get<std::string>("text"), label_of(event));
  if (kind == "images") write_images(encoder, out, stamp, event);
  if (kind == "graph") encoder.graph(out, stamp, from_hex(event.get<std::string>("graph_def")));
  if (kind == "experiment") write_experiment(encoder, out, event);
  if (kind == "trial start") {
    std::vector<Hyperparameter> values;
    for (const auto& [name, value] : event.at("hyperparameters").members()) {
      values.push_back({name, hyperparameter_value(value)});
    }
    encoder.trial_start(out, stamp.wall_time_s, event.get<std::string>("trial"), values);
  }
  if (kind == "trial end") {
    encoder.trial_end(out, stamp.wall_time_s, static_cast<TrialStatus>(event.get<int>("status")));
  }
}

Status events(const std::vector<std::string>& arguments) {
  Bytes out;
  EventEncoder encoder;
  for (std::string line; std::getline(std::cin, line);) write_event(encoder, out, *parse_json(line));
  write_file(arguments.at(0), out);
  return {};
}

Json show_migrated(const MigratedValue& value) {
  const MetadataView& metadata = value.metadata;
  Json out{{"tag", value.tag},
           {"class", static_cast<int>(value.kind.data_class)},
           {"plugin", metadata.plugin_name},
           {"content", to_hex(metadata.plugin_content)},
           {"display_name", metadata.display_name},
           {"description", metadata.description}};
  if (value.kind.data_class == DataClass::kScalar)
    out["scalar"] = std::bit_cast<std::uint32_t>(static_cast<float>(value.scalar));
  if (value.kind.data_class == DataClass::kTensor) out["tensor"] = to_hex(value.tensor);
  if (value.kind.data_class == DataClass::kBlobSequence) {
    out["blobs"] = Json::array();
    for (const BytesView blob : value.blobs) out["blobs"].push_back(to_hex(blob));
  }
  return out;
}

// As it lies in the file. A number is the bits of a double.
Json show_value(const SummaryValue& value) {
  Json out{{"tag", value.tag}, {"form", static_cast<int>(value.form)}};
  if (value.form != ValueForm::kTensor) return out;
  const Result<TensorProtoView> tensor = parse_tensor(value.content);
  if (!tensor) return out;
  out["dtype"] = tensor->dtype;
  out["rank"] = tensor->rank;
  out["elements"] = tensor->element_count;
  const std::optional<double> scalar = tensor->scalar();
  if (scalar) out["scalar"] = std::bit_cast<std::uint64_t>(*scalar);
  out["strings"] = Json::array();
  StringReader strings(*tensor);
  for (BytesView element; strings.next(element);) out["strings"].push_back(to_hex(element));
  return out;
}

class EventPrinter {
 public:
  Json show(const StreamEvent& from) {
    const EventView& event = from.event;
    Json out{
        {"wall_time", event.wall_time_s}, {"step", event.step},     {"kind", static_cast<int>(event.kind)},
        {"offset", from.offset_bytes},    {"writer", event.writer}, {"values", Json::array()},
        {"migrated", Json::array()},      {"errors", Json::array()}};
    MigratedValue migrated;
    if (migration_.migrate_event(event, migrated)) out["migrated"].push_back(show_migrated(migrated));
    SummaryReader values(event);
    for (SummaryValue value; values.next(value);) {
      out["values"].push_back(show_value(value));
      const auto known = kinds_.find(std::string(value.tag));
      migrated = {};
      const Status done =
          migration_.migrate(value, known == kinds_.end() ? nullptr : &known->second, migrated);
      if (!done) {
        out["errors"].push_back(done.error().message);
        continue;
      }
      if (known == kinds_.end()) kinds_[std::string(value.tag)] = migrated.kind;
      out["migrated"].push_back(show_migrated(migrated));
    }
    return out;
  }

 private:
  EventMigration migration_;
  std::map<std::string, SeriesKind> kinds_;
};

Status show_events(const std::vector<std::string>& arguments) {
  const Bytes file = read_file(arguments.at(0));
  const std::size_t piece = arguments.size() > 1 ? std::stoul(arguments.at(1)) : 8 << 20;
  EventPrinter printer;
  EventStream stream;
  for (std::size_t at = 0; at < file.size(); at += piece) {
    stream.append(BytesView(file).subspan(at, std::min(piece, file.size() - at)));
    StreamEvent event;
    for (StreamOutcome outcome; (outcome = stream.next(event)) != StreamOutcome::kWait;) {
      if (outcome == StreamOutcome::kEvent) std::cout << printer.show(event).dump() << "\n";
      if (outcome == StreamOutcome::kDamaged)
        std::cout << Json{{"damaged", stream.error().message}}.dump() << "\n";
      if (outcome == StreamOutcome::kBroken) return stream.error();
    }
  }
  return {};
}

Status run(const std::string& command, const std::vector<std::string>& arguments) {
  if (command == "read") return read(arguments);
  if (command == "write") return write(arguments);
  if (command == "index") return show_index(arguments);
  if (command == "events") return events(arguments);
  if (command == "show-events") return show_events(arguments);
  return Error{Code::kInvalidArgument, concat("no command '", command, "'")};
}

}  // namespace
}  // namespace headrace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  std::ios::sync_with_stdio(false);
  const headrace::Status status = headrace::run(argv[1], std::vector<std::string>(argv + 2, argv + argc));
  if (!status) std::fprintf(stderr, "%s\n", status.error().message.c_str());
  return status ? 0 : 1;
}
