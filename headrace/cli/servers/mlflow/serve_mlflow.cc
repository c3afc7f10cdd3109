// headrace serve-mlflow, as headrace-server runs it. docs/decisions/mlflow-server.md.

#include <algorithm>
#include <chrono>
#include <mutex>
#include <thread>

#include "headrace/base/text.h"
#include "headrace/cli/serve_mlflow_options.h"
#include "headrace/cli/servers/mlflow/mlflow_front.h"
#include "headrace/cli/servers/serve/listen_options.h"
#include "headrace/cli/servers/serve/model_arguments.h"
#include "headrace/cli/servers/serve/server_ports.h"
#include "headrace/os/parallel.h"

namespace headrace {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kStopLookEach{50};
constexpr std::chrono::milliseconds kTokenLookEach{2'000};

// All parts of a server, in the order of their dependencies.
class MlflowServer {
 public:
  MlflowServer(CommandContext& context, const OptionValues& options) : context_(context), options_(options) {}

  Status run(const std::string& url) {
    HEADRACE_TRY(drain_max_, duration_option(options_, "drain"));
    HEADRACE_CHECK(open_service(url));
    HEADRACE_CHECK(listen());
    tell_address();
    while (!context_.stop.stop_requested()) std::this_thread::sleep_for(kStopLookEach);
    return drain();
  }

 private:
  Status open_service(const std::string& url) {
    const Environment& environment = context_.environment;
    HEADRACE_TRY(Location root, context_.stores.open(url));
    const auto state = state_folder(environment);
    if (!state)
      return Error{Code::kFailedPrecondition,
                   "metrics are kept on this machine until they are in the store: set HOME, or set "
                   "XDG_STATE_HOME to a folder"};
    service_.emplace(
        mlflow::TrackingServiceOptions{.root = std::move(root),
                                       .root_url = url,
                                       .stores = &context_.stores,
                                       .cache = cache_folder(environment),
                                       .journals = concat(*state, "/metrics"),
                                       .command_line = context_.command_line,
                                       .version = HEADRACE_VERSION,
                                       .now = environment.now,
                                       .remark = [this](const std::string& text) { say(text); }});
    for (const std::string& remark : service_->recover(context_.call())) say(remark);
    return {};
  }

  Status listen() {
    if (options_.given("tokens")) {
      HEADRACE_TRY(tokens_, AccessTokens::open(options_.text("tokens"), kTokenLookEach,
                                               [this](const std::string& text) { say(text); }));
    }
    MlflowFrontOptions front{.tokens = tokens_.get(),
                             .artifact_bytes_max = options_.size_bytes("artifact-size"),
                             .busy_bytes = options_.size_bytes("memory") / 2,
                             .bytes_in_flight = [this] { return bytes_in_flight(); },
                             .logging_threads = std::max(available_cores(), 2)};
    for (const std::string& name : split(to_lower(options_.text("allow-host")), ','))
      front.allowed_hosts.insert(std::string(trim(name)));
    front_.emplace(*service_, std::move(front));
    HttpServerOptions http;
    http.listen = {listen_address(options_.text("listen"), options_.integer("port"))};
    http.threads = threads_option(options_, "http-threads", std::max(available_cores() / 2, 1));
    http.limits.body_bytes = MlflowFront::kBodyBytesMax;
    http.limits.bytes_in_flight = options_.size_bytes("memory");
    http.on_remark = [this](const std::string& text) { say(text); };
    http.tls = tls_of(options_);
    HEADRACE_TRY(http_, HttpServer::start(
                            std::move(http), [this](const RequestHead& head) { return front_->judge(head); },
                            [this](ReceivedRequest request, Responder responder) {
                              front_->answer(std::move(request), std::move(responder));
                            }));
    listen_as(http_.get());
    return write_port_file(options_.text("port-file"), {http_->port()});
  }

  // A request may come before HttpServer::start returns, and may still be worked on after the server is gone.
  std::uint64_t bytes_in_flight() {
    const std::scoped_lock lock(counting_);
    return listening_ != nullptr ? listening_->counts().bytes_in_flight : 0;
  }
  void listen_as(const HttpServer* http) {
    const std::scoped_lock lock(counting_);
    listening_ = http;
  }

  void tell_address() {
    const std::string& host = options_.text("listen");
    context_.console.result(concat("listening on ",
                                   options_.given("tls-certificate") ? "https://" : "http://",
                                   listen_address(host, http_->port())));
    static_cast<void>(context_.console.flush());
    if (!may_anybody_ask(options_)) return;
    context_.console.warn(concat("anyone who can reach ", host,
                                 " can read and write the runs: give --tokens, or --tls-client-ca"));
  }

  // Answers the accepted requests, then writes all points to the store.
  Status drain() {
    say("draining");
    http_->stop_accepting();
    const bool is_idle = http_->wait_until_idle(Clock::now() + drain_max_);
    listen_as(nullptr);
    http_.reset();
    front_.reset();
    const std::vector<std::string> failed = service_->close();
    if (!failed.empty()) return Error{Code::kUnavailable, join(failed, "; ")};
    if (is_idle) return {};
    return Error{Code::kDeadlineExceeded,
                 "some requests were not answered before the time of --drain was over"};
  }

  void say(const std::string& text) { context_.console.note(text); }

  CommandContext& context_;
  const OptionValues& options_;
  std::chrono::milliseconds drain_max_{};
  std::unique_ptr<AccessTokens> tokens_;
  std::optional<mlflow::TrackingService> service_;
  std::optional<MlflowFront> front_;
  std::unique_ptr<HttpServer> http_;
  std::mutex counting_;
  const HttpServer* listening_ = nullptr;  // guarded by counting_
};

Status run_mlflow_server(CommandContext& context, const std::vector<std::string>& arguments,
                         const OptionValues& options) {
  return MlflowServer(context, options).run(arguments[0]);
}

}  // namespace

extern const Command kMlflowServerCommand;
const Command kMlflowServerCommand = {.name = "serve-mlflow",
                                      .summary = kServeMlflowSummary,
                                      .details = kServeMlflowDetails,
                                      .positionals = kServeMlflowPositionals,
                                      .options = kServeMlflowOptions,
                                      .run = run_mlflow_server,
                                      .check = check_tls_options};

}  // namespace headrace
