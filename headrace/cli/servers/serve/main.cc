// headrace-server: answers clients of served models (docs/serving.md), and MLflow's (servers/mlflow/).

#include <sys/prctl.h>

#include <algorithm>
#include <csignal>
#include <set>
#include <thread>

#include "headrace/base/text.h"
#include "headrace/cli/serve_options.h"
#include "headrace/cli/servers/serve/configuration_thread.h"
#include "headrace/cli/servers/serve/configured_models.h"
#include "headrace/cli/servers/serve/engine_loader.h"
#include "headrace/cli/servers/serve/example_request.h"
#include "headrace/cli/servers/serve/grpc_front.h"
#include "headrace/cli/servers/serve/grpc_router.h"
#include "headrace/cli/servers/serve/listen_options.h"
#include "headrace/cli/servers/serve/model_arguments.h"
#include "headrace/cli/servers/serve/request_router.h"
#include "headrace/cli/servers/serve/server_ports.h"
#include "headrace/cli/sibling_program.h"
#include "headrace/cli/stop_on_signal.h"
#include "headrace/os/parallel.h"
#include "headrace/track/recorder.h"

namespace headrace {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kLookEach{50};
constexpr std::chrono::milliseconds kTokensLookEach{2'000};

// All parts of a server, in the order of their dependencies.
class Server {
 public:
  Server(CommandContext& context, const OptionValues& options) : context_(context), options_(options) {}

  Status run(const std::vector<std::string>& arguments) {
    HEADRACE_CHECK(open_request_log());
    HEADRACE_CHECK(open_models(arguments));
    HEADRACE_CHECK(listen());
    tell_addresses();
    std::jthread announcing([this](const std::stop_token& stop) { announce_ready_models(stop); });
    while (!context_.stop.stop_requested()) std::this_thread::sleep_for(kLookEach);
    announcing.request_stop();
    return drain();
  }

 private:
  Status open_request_log() {
    if (!options_.given("log-requests")) return {};
    HEADRACE_TRY(Location folder, context_.stores.open(options_.text("log-requests")));
    const Environment& environment = context_.environment;
    std::string start = format_time(environment.now());
    std::ranges::replace(start, ':', '-');
    request_log_.emplace(std::move(folder),
                         RequestLogOptions{.writer = concat(start, "-", hex64(random_name_bits())),
                                           .fraction = options_.number("log-fraction"),
                                           .seed = {random_name_bits(), random_name_bits()},
                                           .now = environment.now,
                                           .remark = [this](const std::string& text) { say(text); }});
    models_.set_request_log(&*request_log_);
    return {};
  }

  Status open_models(const std::vector<std::string>& arguments) {
    HEADRACE_TRY(program_, find_sibling_program("headrace", "without its command", context_.environment));
    std::string folder = options_.text("cache");
    if (folder.empty()) folder = cache_folder(context_.environment).value_or("./.cache/headrace") + "/models";
    HEADRACE_TRY(cache_, ExportCache::open(folder, {.bound_bytes = options_.size_bytes("cache-size")}));
    HEADRACE_TRY(poll_each_, duration_option(options_, "poll-each"));
    HEADRACE_TRY(drain_max_, duration_option(options_, "drain"));
    if (options_.given("warm-up")) {
      HEADRACE_TRY(warm_up_, context_.stores.open(options_.text("warm-up")));
    }
    HEADRACE_TRY(const ModelConfiguration defaults, default_configuration(options_));
    std::optional<FollowedConfiguration> followed;
    ServingConfiguration first;
    if (options_.given("config")) {
      HEADRACE_TRY(followed, open_configuration(defaults));
      first = followed->current();
    } else {
      HEADRACE_TRY(first, configuration_of(arguments, defaults, context_.stores));
    }
    configured_.emplace(
        models_,
        ConfiguredModelsParts{
            .start = [this](const std::string& name,
                            const ModelConfiguration& model) { return start_model(name, model); },
            .remark = [this](const std::string& text) { say(text); },
            .drain_max = drain_max_},
        first);
    if (!configured_->has_started_all())
      return Error{Code::kResourceExhausted, "the system refuses threads: a model cannot be served"};
    if (followed) {
      following_.emplace(*configured_, *std::move(followed), poll_each_, change_recorder(),
                         [this](const std::string& text) { say(text); });
    }
    return {};
  }

  // Records a run of the command `serve` for each change, with the file as its input.
  ConfigurationThread::RecordChange change_recorder() {
    return [this](const std::string& record, const std::map<std::string, std::string>& facts,
                  const CallOptions& call) -> Status {
      HEADRACE_TRY(const Location file, context_.stores.open(options_.text("config")));
      RunStart start{.command = "serve", .command_line = context_.command_line, .parameters = facts};
      start.versions["headrace"] = HEADRACE_VERSION;
      HEADRACE_TRY(RunRecorder recorder, RunRecorder::start(context_.stores, file, std::move(start),
                                                            {.root_url = record,
                                                             .continues_earlier = false,
                                                             .has_output = false,
                                                             .now = context_.environment.now,
                                                             .call = call}));
      HEADRACE_CHECK(recorder.add_input("configuration", file));
      return recorder.finish({}, {});
    };
  }

  Result<FollowedConfiguration> open_configuration(const ModelConfiguration& defaults) {
    HEADRACE_TRY(Location file, context_.stores.open(options_.text("config")));
    return FollowedConfiguration::open(
        std::move(file),
        [this, defaults](std::string_view text, std::string_view source) {
          return parse_serving_configuration(
              text, source, defaults, [this](const std::string& place) -> Status {
                HEADRACE_TRY(const Location opened, context_.stores.open(place));
                return {};
              });
        },
        context_.call());
  }

  // Called in any thread.
  std::shared_ptr<LiveModel> start_model(const std::string& name, const ModelConfiguration& model) {
    const auto remark = [this](const std::string& text) { say(text); };
    const EngineLoaderOptions loading{
        .stores = &context_.stores,
        .program = program_,
        .encoder_weights = options_.text("encoder-weights"),
        .warm_up = warm_up_,
        .intra_op_threads = threads_option(options_, "threads", available_cores()),
        .lanes = model.lanes,
        .rows_max = model.batch_rows};
    const auto open_source = [this, model](const CallOptions& call) -> Result<std::unique_ptr<ModelSource>> {
      HEADRACE_TRY(const Location place, context_.stores.open(model.place));
      return open_model_source(place, model.versions, call);
    };
    return std::make_shared<LiveModel>(
        name,
        LiveModelParts{open_source, make_engine_loader(name, *cache_, context_.environment, loading, remark),
                       remark},
        LiveModelOptions{.batching = model.batching(),
                         .poll_each = poll_each_,
                         .drain_max = drain_max_,
                         .jitter_seed = random_name_bits()});
  }

  Status listen() {
    const Environment& environment = context_.environment;
    if (options_.given("tokens")) {
      HEADRACE_TRY(tokens_, AccessTokens::open(options_.text("tokens"), kTokensLookEach,
                                               [this](const std::string& text) { say(text); }));
    }
    HEADRACE_CHECK(open_traces());
    RequestRouterOptions routes{.repeated_bytes_max = options_.size_bytes("body-size"),
                                .predict_route = environment.get("AIP_PREDICT_ROUTE").value_or(""),
                                .health_route = environment.get("AIP_HEALTH_ROUTE").value_or(""),
                                .tokens = tokens_.get()};
    routes.tracer = tracer_ ? &*tracer_ : nullptr;
    routes.has_page = !options_.flag("no-page") && routes.predict_route != "/" && routes.health_route != "/";
    router_.emplace(models_, metrics_, std::move(routes));
    HttpServerOptions http;
    http.listen = {listen_address(options_.text("listen"), options_.integer("port"))};
    http.threads = http_threads();
    http.limits.body_bytes = options_.size_bytes("body-size");
    http.limits.bytes_in_flight = options_.size_bytes("memory");
    http.on_remark = [this](const std::string& text) { say(text); };
    http.on_round_end = RequestRouter::end_round;
    http.tls = tls_of(options_);
    HEADRACE_TRY(http_, HttpServer::start(
                            std::move(http), [this](const RequestHead& head) { return router_->judge(head); },
                            [this](ReceivedRequest request, Responder responder) {
                              router_->answer(std::move(request), std::move(responder));
                            }));
    HttpServerOptions admin;
    admin.listen = {listen_address(options_.text("admin-listen"), options_.integer("admin-port"))};
    admin.limits.connections = 64;
    admin.limits.body_bytes = 0;
    HEADRACE_TRY(admin_, HttpServer::start(
                             std::move(admin), [](const RequestHead&) { return HeadVerdict{}; },
                             [this](ReceivedRequest request, Responder responder) {
                               router_->answer_admin(request, std::move(responder), http_->counts());
                             }));
    HEADRACE_CHECK(listen_for_grpc());
    std::vector<std::uint16_t> ports = {http_->port(), admin_->port()};
    if (grpc_) ports.push_back(grpc_->port());
    return write_port_file(options_.text("port-file"), ports);
  }

  Status open_traces() {
    if (!options_.given("trace")) return {};
    HEADRACE_TRY(exporter_,
                 SpanExporter::start(options_.text("trace"), [this](const std::string& text) { say(text); }));
    tracer_.emplace(*exporter_, options_.number("trace-share"));
    return {};
  }

  Status listen_for_grpc() {
    if (options_.flag("no-grpc")) return {};
    const GrpcFrontOptions grpc{
        .listen = listen_address(options_.text("listen"), options_.integer("grpc-port")),
        .threads = http_threads(),
        .body_bytes = options_.size_bytes("body-size"),
        .bytes_in_flight = options_.size_bytes("memory"),
        .certificate_file = options_.text("tls-certificate"),
        .key_file = options_.text("tls-key"),
        .client_ca_file = options_.text("tls-client-ca")};
    grpc_router_.emplace(models_, metrics_,
                         GrpcRouterOptions{.repeated_bytes_max = grpc.body_bytes,
                                           .tokens = tokens_.get(),
                                           .tracer = tracer_ ? &*tracer_ : nullptr});
    auto started = start_grpc_front(
        grpc, {.judge =
                   [this](std::string_view method, std::optional<std::string_view> authorization) {
                     return grpc_router_->judge(method, authorization);
                   },
               .on_call = [this](std::unique_ptr<GrpcCall> call) { grpc_router_->answer(std::move(call)); }});
    const bool is_absent = !started && started.error().code == Code::kUnimplemented;
    if (is_absent && !options_.given("grpc-port")) {
      say(started.error().message);
      return {};
    }
    HEADRACE_TRY(grpc_, std::move(started));
    return {};
  }

  int http_threads() const {
    return threads_option(options_, "http-threads", std::max(available_cores() / 2, 1));
  }

  std::string base_url() const {
    return concat(options_.given("tls-certificate") ? "https://" : "http://",
                  listen_address(options_.text("listen"), http_->port()));
  }

  std::string grpc_address() const {
    return grpc_ ? concat(", for gRPC on ", listen_address(options_.text("listen"), grpc_->port())) : "";
  }

  void tell_addresses() {
    context_.console.result(concat("listening on ", base_url(), grpc_address(),
                                   ", and for probes and metrics on http://",
                                   listen_address(options_.text("admin-listen"), admin_->port())));
    static_cast<void>(context_.console.flush());
    const std::string& host = options_.text("listen");
    if (!may_anybody_ask(options_)) return;
    context_.console.warn(
        concat("anyone who can reach ", host, " can use the models: give --tokens, or --tls-client-ca"));
  }

  // Prints an example request for each model, once the model is ready.
  void announce_ready_models(const std::stop_token& stop) {
    std::set<std::string> announced;
    for (bool is_one_missing = true; is_one_missing && !stop.stop_requested();) {
      is_one_missing = false;
      for (const auto& [name, model] : models_.all()) {
        if (announced.contains(name)) continue;
        is_one_missing = true;
        const auto version = model->find({}, {});
        if (!version) continue;
        announced.insert(name);
        say(example_request(base_url(), name, (*version)->model()));
      }
      std::this_thread::sleep_for(kLookEach);
    }
  }

  // Sets readiness to no, and answers the accepted requests.
  Status drain() {
    say("draining");
    const Clock::time_point deadline = Clock::now() + drain_max_;
    router_->begin_drain();
    if (grpc_) grpc_router_->begin_drain();
    following_.reset();
    http_->stop_accepting();
    const bool is_grpc_idle = !grpc_ || grpc_->stop(deadline);
    const bool is_idle = http_->wait_until_idle(deadline) && is_grpc_idle;
    if (request_log_) request_log_->close(deadline);
    configured_->stop();
    if (is_idle) return {};
    return Error{Code::kDeadlineExceeded,
                 "some requests were not answered before the time of --drain was over"};
  }

  void say(const std::string& text) { context_.console.note(text); }

  CommandContext& context_;
  const OptionValues& options_;
  std::unique_ptr<ExportCache> cache_;
  std::unique_ptr<AccessTokens> tokens_;
  std::unique_ptr<SpanExporter> exporter_;
  std::optional<RequestTracer> tracer_;
  ServingMetrics metrics_;
  std::string program_;
  std::chrono::milliseconds poll_each_{};
  std::chrono::milliseconds drain_max_{};
  std::optional<Location> warm_up_;
  std::optional<RequestLog> request_log_;
  ServedModels models_;
  std::optional<ConfiguredModels> configured_;
  std::optional<RequestRouter> router_;
  std::unique_ptr<HttpServer> http_;
  std::unique_ptr<HttpServer> admin_;
  std::optional<GrpcRouter> grpc_router_;
  std::unique_ptr<GrpcFront> grpc_;
  std::optional<ConfigurationThread> following_;
};

Status serve_models(CommandContext& context, const std::vector<std::string>& arguments,
                    const OptionValues& options) {
  HEADRACE_CHECK(check_served(arguments, options));
  return Server(context, options).run(arguments);
}

Status check_server(const OptionValues& options) {
  HEADRACE_CHECK(check_tls_options(options));
  if (options.given("log-fraction") && !options.given("log-requests"))
    return Error{Code::kInvalidArgument, "--log-fraction needs --log-requests"};
  return {};
}

const Command kServerCommand = {.name = "serve",
                                .summary = kServeSummary,
                                .details = kServeDetails,
                                .positionals = kServePositionals,
                                .options = kServeOptions,
                                .run = serve_models,
                                .check = check_server};

}  // namespace

extern const Command kMlflowServerCommand;  // servers/mlflow/

std::span<const Command* const> all_commands() {
  static constexpr const Command* kCommands[] = {&kServerCommand, &kMlflowServerCommand};
  return kCommands;
}

}  // namespace headrace

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);  // a reader that has gone makes a write fail, and does not end the process
  // Engine processes of the same user must not look into this process, where no Landlock forbids it.
  prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  const auto environment = headrace::Environment::capture();
  const headrace::StopOnSignal stop;
  return headrace::run_command_line({argv, argv + argc}, environment, stop.source());
}
