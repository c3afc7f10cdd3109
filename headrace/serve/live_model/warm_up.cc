#include "headrace/serve/live_model/warm_up.h"

#include <algorithm>
#include <future>
#include <memory>

#include "headrace/base/text.h"
#include "headrace/record/logged_request.h"
#include "headrace/serve/protocol/tensorflow_predict.h"

namespace headrace {
namespace {

using WarmUpClock = std::chrono::steady_clock;

// Memory for values that a record's tensors repeat.
constexpr std::uint64_t kRepeatedBytesMax = 64 << 20;
// A model may compile for a long time. An engine process has a shorter deadline for each batch.
constexpr std::chrono::minutes kZerosTime{10};

Status run_and_wait(ServedVersion& version, ReservedRows rows, WarmUpClock::time_point deadline) {
  const auto answered = std::make_shared<std::promise<Status>>();
  std::future<Status> answer = answered->get_future();
  std::move(rows).commit([answered](const Result<BatchAnswers>& answers) {
    answered->set_value(answers ? Status() : Status(answers.error()));
  });
  while (answer.wait_until(deadline) != std::future_status::ready) version.expire();
  return answer.get();
}

// One row of each input, with open sizes set to 1.
std::vector<RowTensor> smallest_row(const ServedSignature& signature) {
  std::vector<RowTensor> row;
  for (const ServedTensor& input : signature.inputs) {
    std::vector<std::int64_t> sizes;
    for (const std::int64_t size : input.shape.sizes()) sizes.push_back(size < 0 ? 1 : size);
    row.push_back({input.type, Shape(std::span(sizes).subspan(1))});
  }
  return row;
}

Status run_zeros_of(ServedVersion& version, std::size_t number, WarmUpClock::time_point deadline) {
  const ServedSignature& signature = version.model().signatures[number];
  HEADRACE_TRY(ReservedRows rows, version.batcher(number).reserve(1, smallest_row(signature), {deadline}));
  for (std::size_t i = 0; i < signature.inputs.size(); ++i) {
    if (signature.inputs[i].type != DataType::kBytes)
      std::fill_n(rows.at(i, 0), rows.row_bytes(i), std::byte{});
  }
  return run_and_wait(version, std::move(rows), deadline);
}

Status run_record(ServedVersion& version, BytesView record, WarmUpClock::time_point deadline) {
  HEADRACE_TRY(const auto message, logged_predict_request(record));
  if (!message) return Error{Code::kInvalidArgument, "it is not a PredictLog"};
  HEADRACE_TRY(const PredictRequest request, PredictRequest::parse(*message, kRepeatedBytesMax));
  const ServedModel& model = version.model();
  const ServedSignature* const signature = model.find(request.signature_name());
  if (signature == nullptr) {
    return Error{Code::kInvalidArgument,
                 concat("the model has no signature ", printable_line(request.signature_name(), 128))};
  }
  HEADRACE_TRY(const auto bound, request.bind(*signature));
  Batcher& batcher = version.batcher(static_cast<std::size_t>(signature - model.signatures.data()));
  HEADRACE_TRY(ReservedRows rows,
               batcher.reserve(bound->rows(), bound->row(),
                               {.deadline = deadline, .texts_bytes = bound->texts_bytes()}));
  HEADRACE_CHECK(bound->fill(rows));
  return run_and_wait(version, std::move(rows), deadline);
}

}  // namespace

Status run_zeros(ServedVersion& version) {
  for (std::size_t i = 0; i < version.model().signatures.size(); ++i) {
    const ServedSignature& signature = version.model().signatures[i];
    if (!signature.is_batched || signature.takes_raw_rows()) continue;
    const Status ran = run_zeros_of(version, i, WarmUpClock::now() + kZerosTime);
    if (ran) continue;
    if (auto end = version.ended()) return *std::move(end);
  }
  return {};
}

Result<WarmUpReport> run_records(ServedVersion& version, const LoggedRecords& records,
                                 const std::stop_token& stop, const WarmUpLimits& limits) {
  WarmUpReport report;
  const WarmUpClock::time_point end = WarmUpClock::now() + limits.time;
  for (std::size_t i = 0; i < records.records.size(); ++i) {
    if (stop.stop_requested()) return Error{Code::kCancelled, "the warm-up was stopped"};
    const WarmUpClock::time_point now = WarmUpClock::now();
    const auto deadline = std::min(now + limits.record_time, end);
    Status ran = now < end ? run_record(version, records.records[i], deadline)
                           : Status(Error{Code::kDeadlineExceeded, "the time for the warm-up is over"});
    if (ran) {
      ++report.ran;
      continue;
    }
    if (auto ended = version.ended()) return *std::move(ended);
    const bool is_last = ran.error().code == Code::kDeadlineExceeded;
    if (report.left_out == 0) report.first_left_out = std::move(ran).error().in(concat("record ", i));
    report.left_out += is_last ? records.records.size() - i : 1;
    if (is_last) break;
  }
  return report;
}

}  // namespace headrace
