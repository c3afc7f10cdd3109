#include <algorithm>
#include <atomic>
#include <cstring>
#include <set>
#include <thread>

#include "headrace/base/text.h"
#include "headrace/record/logged_request.h"
#include "headrace/record/manifest.h"
#include "headrace/serve/protocol/echo_test.h"
#include "headrace/serve/request_log/logged_records.h"
#include "headrace/serve/request_log/request_log.h"
#include "headrace/track/published_folder.h"
#include "tests/interleave/log_commands.h"
#include "tests/interleave/logged_value.h"
#include "tests/interleave/output.h"
#include "tests/interleave/process.h"

namespace headrace::interleave {
namespace {

constexpr std::string_view kModel = "m";
constexpr int kRequests = 3;

std::uint64_t next_number() {
  static std::atomic<std::uint64_t> last = 0;
  return ++last;
}

// A server of one model whose answers are its inputs: one number.
class Server {
 public:
  Server(const Surroundings& in, const Location& folder, std::string writer)
      : in_(in),
        key_(concat(kRequestLogs, "/", next_number())),
        log_(folder, {.writer = std::move(writer),
                      .fraction = 1,
                      .flush_each = std::chrono::milliseconds(1),
                      .now = virtual_now,
                      .steady_now = virtual_steady_clock(in.control),
                      .remark = [this](const std::string& text) { keep(text); }}) {}

  // Until its record is in the store, so that the calls are the same each time; or the server is killed.
  Status ask() {
    const auto value = static_cast<std::int64_t>(in_.world.ledger->log(key_));
    HEADRACE_TRY(ReservedRows rows, batcher_.reserve(1, {{DataType::kInt64, {}}}));
    std::memcpy(rows.at(0, 0), &value, sizeof value);
    auto logged = log_.draw(kModel, 1, signature_, rows);
    if (!logged) return Error{Code::kInternal, "a request is not logged"};
    std::move(rows).commit(
        [logged = std::move(logged)](const Result<BatchAnswers>& answers) { logged->add(*answers); });
    batches_.run_all();
    for (int look = 0; look < kMostLooks && log_.waiting_bytes() > 0; ++look) {
      if (in_.control->was_killed()) return Error{Code::kUnavailable, "the server was killed"};
      std::this_thread::sleep_for(kLookEach);
    }
    if (log_.waiting_bytes() > 0) give_up("a record of a request is not written");
    in_.world.ledger->store(key_);
    return {};
  }

  // Success: nobody was told of a loss.
  Status close() {
    log_.close(std::chrono::steady_clock::now() + std::chrono::minutes(1));
    const std::scoped_lock lock(mutex_);
    return remark_.empty() ? Status() : Error{Code::kInternal, remark_};
  }

 private:
  void keep(const std::string& remark) {
    const std::scoped_lock lock(mutex_);
    remark_ = remark;
  }

  const Surroundings& in_;
  const std::string key_;  // of the ledger: several servers may have the writer's name
  const ServedSignature signature_{
      "serving_default", {{"x", DataType::kInt64, {-1}}}, {{"y", DataType::kInt64, {-1}}}, true};
  EchoBatches batches_{echo_inputs};
  Batcher batcher_{batches_, {.rows_max = 1, .waiting_rows_max = 10}};
  std::mutex mutex_;
  std::string remark_;
  RequestLog log_;
};

// `headrace serve --log-requests`. Others may have the name of its writer.
Status serve(const Surroundings& in, const std::string& writer) {
  Process process(in);
  HEADRACE_TRY(const Location folder, process.stores.open(concat("memory://out/", kRequestLogs)));
  Server server(in, folder, writer);
  for (int i = 0; i < kRequests; ++i) HEADRACE_CHECK(server.ask());
  return server.close();
}

struct StoredRequests {
  std::uint64_t least = 0;
  std::uint64_t most = 0;
};

StoredRequests stored_requests(const World& world) {
  StoredRequests stored;
  for (const auto& [key, logged] : world.ledger->logs()) {
    if (!key.starts_with(kRequestLogs)) continue;
    stored.least += logged.stored;
    stored.most += logged.values.size();
  }
  if (world.out->shortened().contains(std::string(kRequestLogs))) stored.least = 0;
  return stored;
}

// `before` it began, so much was there; `read` is what a reader has found.
Status check_count(const Surroundings& in, const StoredRequests& before, std::uint64_t read) {
  const StoredRequests now = stored_requests(in.world);
  const std::uint64_t least = std::min(before.least, now.least);
  if (least <= read && read <= now.most) return {};
  return Error{Code::kInternal,
               concat("a reader finds ", read, " requests, not from ", least, " to ", now.most)};
}

// As a new version is warmed up.
Status read_requests(const Surroundings& in) {
  Process process(in);
  const StoredRequests before = stored_requests(in.world);
  HEADRACE_TRY(const Location folder, process.stores.open(concat("memory://out/", kRequestLogs)));
  HEADRACE_TRY(const LoggedRecords read, read_newest_records(folder, kModel, {}));
  if (!read.remark.empty()) return Error{Code::kInternal, read.remark};
  std::set<double> values;
  for (const BytesView record : read.records) {
    HEADRACE_TRY(const double value, logged_value(record));
    if (!values.insert(value).second) return Error{Code::kInternal, "a reader finds a request twice"};
  }
  return check_count(in, before, values.size());
}

// As a dataset, each time another one: whatever is logged later would make it another plan.
Status prepare_requests(const Surroundings& in) {
  Process process(in);
  const StoredRequests before = stored_requests(in.world);
  const std::string output = concat("memory://copy/", kRowsOfRequests, "-", next_number());
  HEADRACE_CHECK(process.run(concat("prepare memory://out/", kRequestLogs, "/", kModel, " ", output,
                                    " --layout request-log --workers 1 --compression-level 1")));
  HEADRACE_TRY(const Location place, process.stores.open(output));
  HEADRACE_TRY(const auto published, read_published(place));
  if (!published) return Error{Code::kInternal, "the requests are not a dataset"};
  HEADRACE_TRY(DatasetAttributes attributes, parse_dataset_attributes(published->manifest.attributes_json));
  return check_count(in, before, attributes.counts["written"]);
}

}  // namespace

Result<double> logged_value(BytesView record) {
  HEADRACE_TRY(const auto request, logged_predict_request(record));
  if (!request) return Error{Code::kDataLoss, "a record of no request"};
  HEADRACE_TRY(const std::vector<LoggedInput> inputs, inputs_of_request(*request));
  if (inputs.size() != 1) return Error{Code::kDataLoss, "a request without its input"};
  HEADRACE_TRY(const TensorValues values, tensor_values(inputs.front().tensor, 1));
  const auto* const numbers = std::get_if<std::vector<std::int64_t>>(&values);
  if (numbers == nullptr || numbers->size() != 1)
    return Error{Code::kDataLoss, "a request without its number"};
  return static_cast<double>(numbers->front());
}

std::vector<TestCommand> request_log_commands() {
  return {
      {"requests-serve", [](const Surroundings& in) { return serve(in, concat("w", next_number())); }},
      {"requests-serve-same", [](const Surroundings& in) { return serve(in, "w"); }},
      {"requests-read", read_requests, true},
      {"requests-prepare", prepare_requests, true},
  };
}

}  // namespace headrace::interleave
