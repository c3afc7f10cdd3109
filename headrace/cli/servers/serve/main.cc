// headrace-server: answers clients of served models. docs/serving.md.

#include <sys/prctl.h>

#include <csignal>
#include <cstdio>
#include <fstream>
#include <thread>

#include "headrace/base/text.h"
#include "headrace/cli/duration.h"
#include "headrace/cli/serve_options.h"
#include "headrace/cli/servers/serve/engine_loader.h"
#include "headrace/cli/servers/serve/example_request.h"
#include "headrace/cli/servers/serve/grpc_front.h"
#include "headrace/cli/servers/serve/grpc_router.h"
#include "headrace/cli/servers/serve/request_router.h"
#include "headrace/cli/sibling_program.h"
#include "headrace/cli/stop_on_signal.h"
#include "headrace/os/parallel.h"

namespace headrace {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kLookEach{50};
constexpr std::chrono::milliseconds kTokensLookEach{2'000};

// A model as it is given on the command line.
struct GivenModel {
  std::string name;
  Location place;
};

Result<GivenModel> parse_model(StoreRegistry& stores, const std::string& text) {
  const std::size_t equals = text.find('=');
  const bool has_name = equals != text.npos && equals < text.find("://") && equals < text.find('/');
  GivenModel out;
  HEADRACE_TRY(out.place, stores.open(has_name ? text.substr(equals + 1) : text));
  std::string path = out.place.key;
  while (path.ends_with('/')) path.pop_back();
  if (path.ends_with("/export")) path.resize(path.size() - std::string_view("/export").size());
  out.name = has_name ? text.substr(0, equals) : path.substr(path.rfind('/') + 1);
  if (!out.name.empty() && out.name.find('/') == out.name.npos) return out;
  return Error{Code::kInvalidArgument, concat("the model ", text, " has no name: give it as NAME=", text)};
}

Result<VersionPolicy> parse_policy(const std::string& text) {
  constexpr std::string_view kLatestWord = "latest:";
  if (text == "default") return VersionPolicy{};
  if (text == "all") return VersionPolicy{.choice = VersionPolicy::Choice::kAll};
  if (text.starts_with(kLatestWord)) {
    const auto count = parse_number<std::uint64_t>(std::string_view(text).substr(kLatestWord.size()));
    if (count && *count > 0) return VersionPolicy{.choice = VersionPolicy::Choice::kLatest, .latest = *count};
  }
  VersionPolicy policy{.choice = VersionPolicy::Choice::kNumbers};
  for (const std::string& word : split(text, ',')) {
    const auto number = parse_number<std::uint64_t>(word);
    if (!number) {
      return Error{
          Code::kInvalidArgument,
          concat("--versions is ", text, "; it must be default, latest:N, all, or numbers as in 3,5")};
    }
    policy.numbers.push_back(*number);
  }
  return policy;
}

Result<std::vector<std::uint64_t>> parse_sizes(const std::string& text, std::uint64_t rows_max) {
  std::vector<std::uint64_t> sizes;
  if (text.empty()) return sizes;
  for (const std::string& word : split(text, ',')) {
    const auto size = parse_number<std::uint64_t>(word);
    if (!size)
      return Error{Code::kInvalidArgument, concat("--batch-sizes is ", text, "; it must be as 1,8,64")};
    sizes.push_back(*size);
  }
  if (sizes.back() != rows_max) sizes.push_back(rows_max);
  return sizes;
}

Result<std::chrono::milliseconds> duration_option(const OptionValues& options, std::string_view name) {
  const auto parsed = parse_duration(options.text(name));
  if (parsed && parsed->count() > 0) return std::chrono::milliseconds(*parsed);
  return Error{Code::kInvalidArgument,
               concat("--", name, " is ", options.text(name), "; it must be a time as in 30s or 5m")};
}

int threads_option(const OptionValues& options, std::string_view name, int otherwise) {
  const auto given = static_cast<int>(options.integer(name));
  return given != 0 ? given : otherwise;
}

std::string address(const std::string& host, std::int64_t port) {
  const bool is_bare_ipv6 = host.find(':') != host.npos && !host.starts_with('[');
  return is_bare_ipv6 ? concat("[", host, "]:", port) : concat(host, ":", port);
}

Status write_ports(const std::string& path, const std::vector<std::uint16_t>& ports) {
  if (path.empty()) return {};
  const std::string unfinished = path + ".new";
  std::ofstream file(unfinished);
  for (const std::uint16_t port : ports) file << port << '\n';
  file.close();
  if (file && std::rename(unfinished.c_str(), path.c_str()) == 0) return {};
  return Error{Code::kUnavailable, concat("--port-file: cannot write ", path)};
}

// Everything that one server is made of, in the order of its dependencies.
class Server {
 public:
  Server(CommandContext& context, const OptionValues& options) : context_(context), options_(options) {}

  Status run(const std::vector<std::string>& arguments) {
    HEADRACE_CHECK(open_models(arguments));
    HEADRACE_CHECK(listen());
    tell_addresses();
    std::jthread telling([this](const std::stop_token& stop) { tell_when_ready(stop); });
    while (!context_.stop.stop_requested()) std::this_thread::sleep_for(kLookEach);
    telling.request_stop();
    return drain();
  }

 private:
  Status open_models(const std::vector<std::string>& arguments) {
    HEADRACE_TRY(const std::string program,
                 find_sibling_program("headrace", "without its command", context_.environment));
    std::string folder = options_.text("cache");
    if (folder.empty()) folder = cache_folder(context_.environment).value_or("./.cache/headrace") + "/models";
    HEADRACE_TRY(cache_, ExportCache::open(folder, {.bound_bytes = options_.size_bytes("cache-size")}));
    HEADRACE_TRY(const VersionPolicy policy, parse_policy(options_.text("versions")));
    LiveModelOptions live;
    live.batching.rows_max = static_cast<std::uint64_t>(options_.integer("batch-rows"));
    live.batching.lanes = static_cast<std::uint64_t>(options_.integer("lanes"));
    live.batching.waiting_rows_max = static_cast<std::uint64_t>(options_.integer("queue-rows"));
    HEADRACE_TRY(live.batching.allowed_rows,
                 parse_sizes(options_.text("batch-sizes"), live.batching.rows_max));
    HEADRACE_CHECK(check_options(live.batching));
    HEADRACE_TRY(live.poll_each, duration_option(options_, "poll-each"));
    HEADRACE_TRY(live.drain_max, duration_option(options_, "drain"));
    const EngineLoaderOptions loading{
        .program = program,
        .encoder_weights = options_.text("encoder-weights"),
        .intra_op_threads = threads_option(options_, "threads", available_cores()),
        .lanes = live.batching.lanes,
        .rows_max = live.batching.rows_max};
    const auto remark = [this](const std::string& text) { say(text); };
    std::vector<GivenModel> given;
    for (const std::string& text : arguments) {
      HEADRACE_TRY(GivenModel model, parse_model(context_.stores, text));
      for (const GivenModel& other : given) {
        if (other.name != model.name) continue;
        return Error{Code::kInvalidArgument, concat("two models are called ", model.name,
                                                    ": give one another name, as in NAME=", text)};
      }
      given.push_back(std::move(model));
    }
    for (GivenModel& model : given) {
      live.jitter_seed = random_name_bits();
      const auto open_source = [place = model.place, policy](const CallOptions& call) {
        return open_model_source(place, policy, call);
      };
      models_.add(std::make_unique<LiveModel>(
          model.name,
          LiveModelParts{open_source,
                         make_engine_loader(model.name, *cache_, context_.environment, loading, remark),
                         remark},
          live));
    }
    return {};
  }

  Status listen() {
    HEADRACE_TRY(const std::chrono::milliseconds deadline, duration_option(options_, "deadline"));
    const Environment& environment = context_.environment;
    if (options_.given("tokens")) {
      HEADRACE_TRY(tokens_, AccessTokens::open(options_.text("tokens"), kTokensLookEach,
                                               [this](const std::string& text) { say(text); }));
    }
    HEADRACE_CHECK(open_traces());
    RequestRouterOptions routes{.deadline = deadline,
                                .repeated_bytes_max = options_.size_bytes("body-size"),
                                .predict_route = environment.get("AIP_PREDICT_ROUTE").value_or(""),
                                .health_route = environment.get("AIP_HEALTH_ROUTE").value_or(""),
                                .tokens = tokens_.get()};
    routes.tracer = tracer_ ? &*tracer_ : nullptr;
    routes.has_page = !options_.flag("no-page") && routes.predict_route != "/" && routes.health_route != "/";
    router_.emplace(models_, metrics_, std::move(routes));
    HttpServerOptions http;
    http.listen = {address(options_.text("listen"), options_.integer("port"))};
    http.threads = http_threads();
    http.limits.body_bytes = options_.size_bytes("body-size");
    http.limits.bytes_in_flight = options_.size_bytes("memory");
    http.on_remark = [this](const std::string& text) { say(text); };
    if (options_.given("tls-certificate") || options_.given("tls-key")) {
      http.tls = HttpServerTls{.certificate_file = options_.text("tls-certificate"),
                               .key_file = options_.text("tls-key"),
                               .client_ca_file = options_.text("tls-client-ca")};
    }
    HEADRACE_TRY(http_, HttpServer::start(
                            std::move(http), [this](const RequestHead& head) { return router_->judge(head); },
                            [this](ReceivedRequest request, Responder responder) {
                              router_->answer(std::move(request), std::move(responder));
                            }));
    HttpServerOptions admin;
    admin.listen = {address(options_.text("admin-listen"), options_.integer("admin-port"))};
    admin.limits.connections = 64;
    admin.limits.body_bytes = 0;
    HEADRACE_TRY(admin_, HttpServer::start(
                             std::move(admin), [](const RequestHead&) { return HeadVerdict{}; },
                             [this](ReceivedRequest request, Responder responder) {
                               router_->answer_admin(request, std::move(responder), http_->counts());
                             }));
    HEADRACE_CHECK(listen_for_grpc(deadline));
    std::vector<std::uint16_t> ports = {http_->port(), admin_->port()};
    if (grpc_) ports.push_back(grpc_->port());
    return write_ports(options_.text("port-file"), ports);
  }

  Status open_traces() {
    if (!options_.given("trace")) return {};
    HEADRACE_TRY(exporter_,
                 SpanExporter::start(options_.text("trace"), [this](const std::string& text) { say(text); }));
    tracer_.emplace(*exporter_, options_.number("trace-share"));
    return {};
  }

  Status listen_for_grpc(std::chrono::milliseconds deadline) {
    if (options_.flag("no-grpc")) return {};
    const GrpcFrontOptions grpc{.listen = address(options_.text("listen"), options_.integer("grpc-port")),
                                .threads = http_threads(),
                                .body_bytes = options_.size_bytes("body-size"),
                                .bytes_in_flight = options_.size_bytes("memory"),
                                .certificate_file = options_.text("tls-certificate"),
                                .key_file = options_.text("tls-key"),
                                .client_ca_file = options_.text("tls-client-ca")};
    grpc_router_.emplace(models_, metrics_,
                         GrpcRouterOptions{.deadline = deadline,
                                           .repeated_bytes_max = grpc.body_bytes,
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
                  address(options_.text("listen"), http_->port()));
  }

  std::string grpc_address() const {
    return grpc_ ? concat(", for gRPC on ", address(options_.text("listen"), grpc_->port())) : "";
  }

  void tell_addresses() {
    context_.console.result(concat("listening on ", base_url(), grpc_address(),
                                   ", and for probes and metrics on http://",
                                   address(options_.text("admin-listen"), admin_->port())));
    static_cast<void>(context_.console.flush());
    const std::string& host = options_.text("listen");
    const bool is_local = host == "127.0.0.1" || host == "localhost" || host == "::1";
    if (is_local || options_.given("tls-client-ca") || options_.given("tokens")) return;
    context_.console.warn(
        concat("anyone who can reach ", host, " can use the models: give --tokens, or --tls-client-ca"));
  }

  void tell_when_ready(const std::stop_token& stop) {
    std::map<std::string, bool> told;
    while (!stop.stop_requested() && told.size() < models_.all().size()) {
      for (const auto& [name, model] : models_.all()) {
        const auto version = model->find({}, {});
        if (!version || told[name]) continue;
        told[name] = true;
        say(example_request(base_url(), name, (*version)->model()));
      }
      std::erase_if(told, [](const auto& each) { return !each.second; });
      std::this_thread::sleep_for(kLookEach);
    }
  }

  // Readiness says no; requests that were accepted are answered.
  Status drain() {
    say("draining");
    router_->begin_drain();
    if (grpc_) grpc_router_->begin_drain();
    http_->stop_accepting();
    HEADRACE_TRY(const std::chrono::milliseconds drain, duration_option(options_, "drain"));
    const Clock::time_point deadline = Clock::now() + drain;
    const bool is_grpc_idle = !grpc_ || grpc_->stop(deadline);
    const bool is_idle = http_->wait_until_idle(deadline) && is_grpc_idle;
    for (const auto& [name, model] : models_.all()) model->stop();
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
  ServedModels models_;
  std::optional<RequestRouter> router_;
  std::unique_ptr<HttpServer> http_;
  std::unique_ptr<HttpServer> admin_;
  std::optional<GrpcRouter> grpc_router_;
  std::unique_ptr<GrpcFront> grpc_;
};

Status serve_models(CommandContext& context, const std::vector<std::string>& arguments,
                    const OptionValues& options) {
  return Server(context, options).run(arguments);
}

Status check_serve(const OptionValues& options) {
  if (options.given("tls-certificate") == options.given("tls-key")) return {};
  return Error{Code::kInvalidArgument, "--tls-certificate and --tls-key need each other"};
}

const Command kServerCommand = {.name = "serve",
                                .summary = kServeSummary,
                                .details = kServeDetails,
                                .positionals = kServePositionals,
                                .options = kServeOptions,
                                .run = serve_models,
                                .check = check_serve};

}  // namespace

// The only one that this program has.
std::span<const Command* const> all_commands() {
  static constexpr const Command* kCommands[] = {&kServerCommand};
  return kCommands;
}

}  // namespace headrace

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);  // a reader that went away is an error of the write, not the process's end
  // Engine processes of the same user may not look into this one, where no Landlock forbids it.
  prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  const auto environment = headrace::Environment::capture();
  const headrace::StopOnSignal stop;
  return headrace::run_command_line({argv, argv + argc}, environment, stop.source());
}
