#include "headrace/store/examine.h"

#include <algorithm>
#include <chrono>

#include "headrace/base/environment.h"
#include "headrace/base/hash.h"
#include "headrace/base/text.h"
#include "headrace/store/url.h"

namespace headrace {
namespace {

using Outcome = Finding::Outcome;
using std::chrono::steady_clock;

class Examination {
 public:
  Examination(Store& store, std::string_view folder, const ExamineOptions& options, const Report& report)
      : store_(store),
        key_(join_key(folder, concat("headrace-doctor-", hex64(random_name_bits())))),
        options_(options),
        report_(report) {}

  void run() {
    if (writes_and_reads()) {
      creates_once();
      replaces_only_the_version_named();
      reads_one_version();
      lists();
      if (options_.speed_bytes > 0) measures_speed();
    }
    removes();
  }

 private:
  bool writes_and_reads();
  void creates_once();
  void replaces_only_the_version_named();
  void reads_one_version();
  void lists();
  void measures_speed();
  void removes();

  void ok(std::string name, std::string text) { report_({std::move(name), Outcome::kOk, std::move(text)}); }
  void fails(std::string name, const Error& error, std::string advice = "") {
    report_({std::move(name), Outcome::kFailure, error.message, std::move(advice)});
  }
  WriteOptions writing() const { return {.call = options_.call}; }

  Store& store_;
  const std::string key_;
  const ExamineOptions options_;
  const Report& report_;
  ObjectInfo first_;
};

bool Examination::writes_and_reads() {
  const std::string text = concat("written by headrace doctor as ", key_, "; may be removed");
  const auto written = write_text(store_, key_, text, writing());
  if (!written) {
    fails("write", written.error(), "see the messages above; --no-write skips writing");
    return false;
  }
  first_ = *written;
  const auto read = read_object(store_, key_, 1 << 20, options_.call);
  if (!read || as_text(read->data) != text) {
    fails("read",
          read ? Error{Code::kDataLoss, "the bytes read differ from the bytes written"} : read.error());
    return false;
  }
  ok("write and read", concat(store_.describe(key_), ", ", text.size(), " bytes"));
  return true;
}

void Examination::creates_once() {
  WriteOptions absent = writing();
  absent.only_if_absent = true;
  const auto second = write_text(store_, key_, "a second writer", absent);
  const std::string name = "conditional create";
  if (!second && second.error().code == Code::kAlreadyExists)
    return ok(name, "the second of two writers is refused");
  if (!second) return fails(name, second.error());
  first_ = *second;
  fails(name, {Code::kFailedPrecondition, "an existing object was replaced without an error"},
        "two runs that publish here at once can destroy one another's results: use a store that honours "
        "If-None-Match, or one writer at a time");
}

void Examination::replaces_only_the_version_named() {
  const std::string name = "conditional replace";
  const bool is_offered = store_.capabilities().atomic_if_version;
  WriteOptions replace = writing();
  if (is_offered) replace.if_version = first_.version;
  const auto now = write_text(store_, key_, "the second version", replace);
  if (!now) return fails(name, now.error());
  if (!is_offered) return ok(name, "not offered by this kind of store");
  const auto stale = write_text(store_, key_, "from a stale writer", replace);
  if (!stale && stale.error().code == Code::kFailedPrecondition)
    return ok(name, "only the version named is replaced");
  if (!stale) return fails(name, stale.error());
  fails(name, {Code::kFailedPrecondition, "a version that no longer existed was replaced"},
        "writers can undo one another's work here: use a store that honours If-Match on writes");
}

void Examination::reads_one_version() {
  const std::string name = "reads of one version";
  Bytes target(8);
  const auto read = store_.read_into(key_, target, {.if_version = first_.version, .call = options_.call});
  if (!read && read.error().code == Code::kFailedPrecondition)
    return ok(name, "a version that was replaced is not read");
  if (!read) return fails(name, read.error());
  if (read->object.version == first_.version)
    return ok(name, "a version that was replaced can still be read");
  fails(name, {Code::kDataLoss, "the version read is not the one requested"},
        "a long read can mix two versions here: write each object only once");
}

void Examination::lists() {
  bool is_listed = false;
  const Status listed = store_.list(key_, {.call = options_.call}, [&](const ObjectInfo& object) {
    is_listed = object.key == key_;
    return !is_listed;
  });
  if (!listed) return fails("listing", listed.error());
  if (is_listed) return ok("listing", "shows an object that was just written");
  fails("listing", {Code::kDataLoss, "an object that was just written is not listed"},
        "commands that list folders may miss new objects here");
}

std::string speed(std::uint64_t bytes, steady_clock::duration took) {
  const double seconds = std::max(std::chrono::duration<double>(took).count(), 1e-6);
  return concat(format_size(static_cast<std::uint64_t>(static_cast<double>(bytes) / seconds)), "/s");
}

void Examination::measures_speed() {
  Bytes data(options_.speed_bytes);
  for (std::size_t i = 0; i + 8 <= data.size(); i += 8)  // nothing on the way can compress it
    store_little_endian(data.data() + i, siphash({1, 2}, i));
  const auto begin = steady_clock::now();
  const auto written = store_.write(key_, data, writing());
  const auto between = steady_clock::now();
  if (!written) return fails("speed", written.error());
  std::ranges::fill(data, std::byte{0});
  const Status read =
      read_exactly(store_, key_, data, {.if_version = written->version, .call = options_.call});
  const auto end = steady_clock::now();
  if (!read) return fails("speed", read.error());
  ok("speed", concat(format_size(options_.speed_bytes), " in one object: written at ",
                     speed(options_.speed_bytes, between - begin), ", read at ",
                     speed(options_.speed_bytes, end - between)));
}

// Removes the object even after a stop, and even if it is unknown whether the object exists.
void Examination::removes() {
  const Status removed = remove_object(store_, key_, {.deadline = std::chrono::milliseconds(10'000)});
  if (removed) return ok("removal", "done; a bucket with versioning keeps the versions that were written");
  report_({"removal", Outcome::kWarning, removed.error().message,
           concat("remove ", store_.describe(key_), " by hand, if it exists")});
}

}  // namespace

void examine_writes(Store& store, std::string_view folder, const ExamineOptions& options,
                    const Report& report) {
  Examination(store, folder, options, report).run();
}

}  // namespace headrace
