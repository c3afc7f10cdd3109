#include "headrace/metrics/metric_journal.h"

#include <algorithm>

#include "headrace/base/digest.h"
#include "headrace/base/text.h"
#include "headrace/base/wire.h"

namespace headrace {

namespace {

constexpr std::size_t kPointsPerFrame = 1 << 16;

Bytes encode_head(const MetricJournalHead& head) {
  Bytes out;
  WireWriter writer(out);
  writer.text(1, head.url);
  if (head.from_step) writer.varint(2, zigzag(*head.from_step));
  return out;
}

void write_points(WireWriter& writer, std::span<const MetricPoint> points, const JournalNumbers& numbers) {
  Bytes metrics;
  Bytes values;
  std::vector<std::int64_t> steps;
  std::vector<std::int64_t> times;
  for (const MetricPoint& point : points) {
    append_varint(metrics, numbers[point.metric]);
    steps.push_back(point.step);
    times.push_back(point.time_us);
    append_little_endian(values, point.value);
  }
  writer.bytes(2, metrics);
  writer.bytes(3, encode_integers(steps));
  writer.bytes(4, encode_integers(times));
  writer.bytes(5, values);
}

bool parse_head(BytesView payload, MetricJournalHead& head) {
  WireReader reader(payload);
  for (WireField field; reader.next(field);) {
    if (field.number == 1) head.url = field.as_text();
    if (field.number == 2) head.from_step = unzigzag(field.value);
  }
  return !reader.malformed() && !head.url.empty();
}

/// Adds all points of a frame, or none.
bool parse_points(BytesView payload, MetricJournalFile& file) {
  BytesView metrics;
  BytesView steps;
  BytesView times;
  BytesView values;
  bool is_end = false;
  WireReader reader(payload);
  for (WireField field; reader.next(field);) {
    if (field.number == 1) file.names.emplace_back(field.as_text());
    if (field.number == 2) metrics = field.bytes;
    if (field.number == 3) steps = field.bytes;
    if (field.number == 4) times = field.bytes;
    if (field.number == 5) values = field.bytes;
    if (field.number == 6) is_end = field.value != 0;
  }
  if (reader.malformed() || values.size() % 8 != 0) return false;
  const std::size_t count = values.size() / 8;
  const auto all_steps = decode_integers(steps, count);
  const auto all_times = decode_integers(times, count);
  if (!all_steps || !all_times) return false;
  std::size_t position = 0;
  for (std::size_t i = 0; i < count; ++i) {
    std::uint64_t metric = 0;
    if (!read_varint(metrics, position, metric) || metric >= file.names.size()) return false;
    file.points.push_back({static_cast<std::uint32_t>(metric), (*all_steps)[i], (*all_times)[i],
                           load_little_endian<double>(values.data() + 8 * i)});
  }
  file.is_end = is_end;
  return true;
}

}  // namespace

Result<MetricJournal> MetricJournal::create(std::string folder, const MetricJournalHead& head) {
  HEADRACE_TRY(Journal files, Journal::create(std::move(folder), encode_head(head)));
  return MetricJournal(std::move(files));
}

Status MetricJournal::append(std::span<const std::string> names, std::span<const MetricPoint> points,
                             bool is_end) {
  do {
    const auto some = points.first(std::min(points.size(), kPointsPerFrame));
    points = points.subspan(some.size());
    const std::uint32_t names_before = in_file_.count();
    Bytes payload;
    WireWriter writer(payload);
    for (const MetricPoint& point : some) {
      if (in_file_.add(point.metric)) writer.text(1, names[point.metric]);
    }
    write_points(writer, some, in_file_);
    if (is_end && points.empty()) writer.varint(6, 1);
    if (Status written = files_.append(payload); !written) {
      in_file_.cut(names_before);
      return written;
    }
  } while (!points.empty());
  return {};
}

std::uint64_t MetricJournal::end_file() {
  in_file_.cut(0);
  return files_.end_file();
}

Result<MetricJournalFile> parse_metric_journal(BytesView file, const std::string& path) {
  HEADRACE_TRY(const JournalPayloads payloads, journal_payloads(file, path));
  MetricJournalFile parsed;
  if (!parse_head(payloads.head, parsed.head))
    return Error{Code::kDataLoss, concat(path, " is not a journal of metrics")};
  BytesView last_good = payloads.head;
  for (const BytesView payload : payloads.others) {
    const std::size_t names = parsed.names.size();
    const std::size_t points = parsed.points.size();
    if (!parse_points(payload, parsed)) {
      parsed.names.resize(names);
      parsed.points.resize(points);
      break;
    }
    last_good = payload;
  }
  parsed.digest = sha256(BytesView(file.data(), last_good.data() + last_good.size()));
  return parsed;
}

Result<MetricJournalFile> read_metric_journal(const std::string& path) {
  HEADRACE_TRY(const Bytes file, read_journal_file(path));
  return parse_metric_journal(file, path);
}

}  // namespace headrace
