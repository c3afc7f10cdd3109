#include "headrace/base/text.h"
#include "headrace/log/recover_segments.h"
#include "headrace/log/segment_log.h"
#include "headrace/track/recorder.h"
#include "headrace/track/run_keys.h"
#include "tests/interleave/log_commands.h"
#include "tests/interleave/process.h"

namespace headrace::interleave {
namespace {

constexpr std::string_view kRunOfMedia = "r";
constexpr std::uint64_t kMedia = 3;

Bytes media_record(double value) {
  Bytes record;
  append_little_endian(record, value);
  return record;
}

// As hr.init, Run.log of images, and Run.finish. Each record, acknowledged by the journal, is a segment.
Status log_media(const Surroundings& in) {
  Process process(in);
  HEADRACE_TRY(RunRecorder recorder, start_logging_run(process, kRunOfMedia));
  const std::string part = concat(kRunOfMedia, "/", recorder.part());
  const Location log = recorder.root().at(concat(kMediaPrefix, part, "/events"));
  const std::string folder = parent_key(log.key);
  const std::string state = concat(*state_folder(process.environment), kSegmentJournals);
  Background background(2);
  SegmentLogOptions options{.segment_header = to_bytes(kMediaHeader),
                            .journal = {.folder = concat(state, "/", recorder.part())},
                            .now = virtual_steady_clock(in.control)};
  options.journal.owner = recorder.root().at(concat(kRunPartsPrefix, part)).url.text();
  HEADRACE_TRY(const std::shared_ptr<SegmentLog> written,
               SegmentLog::open(log, false, std::move(options), background));
  for (std::uint64_t i = 0; i < kMedia; ++i) {
    HEADRACE_CHECK(written->append(media_record(in.world.ledger->log(folder))));
    in.world.ledger->acknowledge(folder);
    HEADRACE_CHECK(written->flush());
    if (in.control->was_killed()) return Error{Code::kUnavailable, "killed"};
    if (written->waiting_bytes() == 0) in.world.ledger->store(folder);
  }
  const Status closed = written->close();
  const Status recorded = recorder.finish({}, {});
  return closed ? recorded : closed;
}

}  // namespace

std::vector<TestCommand> media_commands() { return {{"media-log", log_media}}; }

}  // namespace headrace::interleave
