#include "headrace/cli/servers/mlflow/mlflow_front.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "headrace/base/text.h"
#include "headrace/cli/servers/mlflow/request_origin.h"

namespace headrace {
namespace {

constexpr int kStoreThreads = 16;
// A client may take or send an artifact slowly, and occupies a thread for that time.
constexpr int kDownloadThreads = 16;
constexpr int kUploadThreads = 8;
constexpr int kMostWaiting = 256;
constexpr int kMostArtifactsWaiting = 28;         // in each direction; each may hold kStreamBytes
constexpr std::chrono::seconds kLongestWait{30};  // how long a request waits for a thread

using AnswerStream = PieceQueue<std::string>;

HttpAnswer http_answer(mlflow::ApiAnswer answer) {
  HttpAnswer out{.status = answer.status,
                 .content_type = std::move(answer.content_type),
                 .body = std::move(answer.body)};
  if (out.status == 429 || out.status == 503) out.headers.emplace_back("Retry-After", "1");
  if (const auto& artifact = answer.artifact) {
    out.stream = std::make_shared<AnswerStream>();
    out.stream_bytes = artifact->size_bytes;
    out.headers.emplace_back("Accept-Ranges", "bytes");
    if (out.status == 206) {
      out.headers.emplace_back("Content-Range", concat("bytes ", artifact->offset_bytes, "-",
                                                       artifact->offset_bytes + artifact->size_bytes - 1, "/",
                                                       artifact->whole_bytes));
    }
  }
  // A browser must not show an artifact as a page of this server.
  out.headers.emplace_back("X-Content-Type-Options", "nosniff");
  return out;
}

HttpAnswer http_error(const Error& error) { return http_answer(mlflow::error_answer(error)); }

// Runs in the worker's thread, until the client has taken everything or has gone. The last piece is held back
// until the read has succeeded, because only its end shows whether the artifact is damaged.
void send_artifact(const mlflow::OpenArtifact& artifact, AnswerStream& stream) {
  std::string last;
  Status sent = artifact.read([&](BytesView bytes) -> Status {
    while (!bytes.empty()) {
      if (!last.empty()) HEADRACE_CHECK(stream.put(std::exchange(last, {})));
      const std::size_t size = std::min(bytes.size(), kBodyPieceBytes);
      last = as_text(bytes.first(size));
      bytes = bytes.subspan(size);
    }
    return {};
  });
  if (sent && !last.empty()) sent = stream.put(std::move(last));
  if (!sent) return stream.break_off(sent.error());
  stream.end();
}

bool is_too_late(const ReceivedRequest& request) {
  return RequestHead::Clock::now() - request.head.received() > kLongestWait;
}

}  // namespace

// Shared, because functions are copied, and this cannot be copied.
struct MlflowFront::Asked {
  ReceivedRequest request;
  Responder responder;
  bool is_body_too_large = false;  // it came in chunks, so its head could not give the size

  mlflow::ApiRequest view() {
    mlflow::ApiRequest out{.method = request.head.method(),
                           .target = request.head.target(),
                           .body = request.body.text(),
                           .range = request.head.header("Range").value_or("")};
    if (request.stream) out.next_piece = [this] { return next_piece(); };
    return out;
  }
  Result<BytesView> next_piece() {
    auto piece = request.stream->take();
    is_body_too_large = !piece && piece.error().code == Code::kOutOfRange;
    if (!piece) return piece.error();
    request.body = *piece ? **std::move(piece) : RequestBody();
    return request.body.bytes();
  }
  void refuse() {
    send(mlflow::error_answer({Code::kUnavailable, "too many requests wait for an answer; try again later"}));
  }
  void send(HttpAnswer answer) { std::move(responder).send(std::move(answer)); }
  void send(mlflow::ApiAnswer answer) {
    const std::optional<mlflow::OpenArtifact> artifact = answer.artifact;
    if (is_body_too_large) answer.status = 413;
    HttpAnswer out = http_answer(std::move(answer));
    const auto stream = out.stream;
    send(std::move(out));
    if (stream) send_artifact(*artifact, *stream);
  }
};

MlflowFront::MlflowFront(mlflow::TrackingService& service, MlflowFrontOptions options)
    : service_(service),
      options_(std::move(options)),
      others_(kStoreThreads, kMostWaiting),
      downloads_(kDownloadThreads, kMostArtifactsWaiting),
      uploads_(kUploadThreads, kMostArtifactsWaiting),
      logging_(options_.logging_threads, kMostWaiting) {}

HeadVerdict MlflowFront::judge(const RequestHead& head) const {
  const Status origin =
      check_request_origin(head.header("Host"), head.header("Origin"), options_.allowed_hosts);
  if (!origin) return {.refusal = http_error(origin.error())};
  const auto kind = mlflow::kind_of(head.method(), head.target());
  if (options_.tokens != nullptr && kind != mlflow::RequestKind::kImmediate) {
    const Status allowed = options_.tokens->check(head.header("Authorization"), std::nullopt);
    if (!allowed) {
      HttpAnswer refusal = http_error(allowed.error());
      if (allowed.error().code == Code::kUnauthenticated)
        refusal.headers.emplace_back("WWW-Authenticate", "Bearer realm=\"headrace\"");
      return {.refusal = std::move(refusal)};
    }
  }
  const bool is_artifact = kind == mlflow::RequestKind::kArtifact;
  const bool is_upload = is_artifact && head.method() == "PUT";
  if (is_upload && is_busy()) {
    return {.refusal = http_error({Code::kResourceExhausted,
                                   "many large bodies are in memory at the moment; try again later"})};
  }
  return {.body_bytes_max = is_artifact ? options_.artifact_bytes_max : kBodyBytesMax,
          .is_streamed = is_upload};
}

bool MlflowFront::is_busy() const {
  return options_.bytes_in_flight && options_.bytes_in_flight() > options_.busy_bytes;
}

// Called just before the answer is read: a request may have waited while others were answered.
mlflow::ApiAnswer MlflowFront::answer_now(const mlflow::ApiRequest& request) const {
  if (mlflow::has_large_answer(request.method, request.target) && is_busy()) {
    return mlflow::error_answer(
        {Code::kResourceExhausted, "many large answers are read at the moment; try again later"});
  }
  return service_.answer(request, {});
}

void MlflowFront::answer(ReceivedRequest request, Responder responder) {
  const auto kind = mlflow::kind_of(request.head.method(), request.head.target());
  const auto asked = std::make_shared<Asked>(Asked{std::move(request), std::move(responder)});
  switch (kind) {
    case mlflow::RequestKind::kImmediate:
      return asked->send(answer_now(asked->view()));
    case mlflow::RequestKind::kLogging:
      if (!logging_.add([this, asked] { log(asked); })) asked->refuse();
      return;
    case mlflow::RequestKind::kOther:
      return ask_store(others_, asked);
    case mlflow::RequestKind::kArtifact:
      return ask_store(workers_for_artifact(asked->request.head.method()), asked);
  }
}

// Requests that move artifacts wait for their clients. The others, such as a removal, wait only for the
// store.
RequestWorkers& MlflowFront::workers_for_artifact(std::string_view method) {
  if (method == "PUT") return uploads_;
  return method == "GET" ? downloads_ : others_;
}

// Runs in a thread that never waits for the store.
void MlflowFront::log(const AskedPointer& asked) {
  if (auto answer = service_.answer_at_once(asked->view())) return asked->send(*std::move(answer));
  ask_store(others_, asked);
}

void MlflowFront::ask_store(RequestWorkers& workers, const AskedPointer& asked) const {
  const auto work = [this, asked] {
    if (is_too_late(asked->request)) return asked->refuse();
    asked->send(answer_now(asked->view()));
  };
  if (!workers.add(work)) asked->refuse();
}

}  // namespace headrace
