#pragma once

/// \file The command line of `headrace serve`. `headrace-server` parses it, too.

#include "headrace/cli/command.h"
#include "headrace/cli/server_options.h"

namespace headrace {

inline constexpr std::string_view kServerProgram = "headrace-server";
/// Suffix of the server program with gRPC, where it was built.
inline constexpr std::string_view kGrpcSuffix = "-grpc";

inline constexpr Positional kServePositionals[] = {
    {.name = "MODEL",
     .sentence =
         "A named model, a run, an export, a SavedModel, or a folder with numbered SavedModels; clients call "
         "it by the last part of its URL, or by NAME if it is given as NAME=URL.",
     .required = false,
     .repeated = true}};

/// Checks that either models or a configuration are given.
/// \error kInvalidArgument  both are given, or neither
inline Status check_served(const std::vector<std::string>& models, const OptionValues& options) {
  if (models.empty() == options.given("config")) return {};
  return Error{Code::kInvalidArgument,
               models.empty() ? "there is no model to serve: name one, or give --config with a file that "
                                "names one"
                              : "models on the command line and --config exclude each other: put them all "
                                "into the file"};
}

inline constexpr Option kServeOptions[] = {
    {.name = "listen",
     .default_value = "127.0.0.1",
     .unit = "ADDRESS",
     .sentence =
         "Address on which clients are answered. Anyone who can reach it can use the models, unless --tokens "
         "or --tls-client-ca say otherwise."},
    {.name = "port",
     .type = OptionType::kInteger,
     .default_value = "8501",
     .unit = "PORT",
     .sentence = "Port for TensorFlow Serving's REST API and KServe v2; 0: any free port.",
     .minimum = 0,
     .maximum = 65535},
    {.name = "grpc-port",
     .type = OptionType::kInteger,
     .default_value = "8500",
     .unit = "PORT",
     .sentence = "Port for gRPC: TensorFlow Serving's services, KServe v2 and health; 0: any free port.",
     .minimum = 0,
     .maximum = 65535},
    {.name = "no-grpc", .type = OptionType::kFlag, .sentence = "Open no port for gRPC."},
    {.name = "no-page", .type = OptionType::kFlag, .sentence = "Show no page at / of the port for clients."},
    {.name = "admin-listen",
     .default_value = "127.0.0.1",
     .unit = "ADDRESS",
     .sentence = "Address for probes and metrics."},
    {.name = "admin-port",
     .type = OptionType::kInteger,
     .default_value = "8502",
     .unit = "PORT",
     .sentence = "Port for probes (/livez, /readyz, /startupz), /metrics and /models; 0: any free port.",
     .minimum = 0,
     .maximum = 65535},
    {.name = "config",
     .unit = "URL",
     .sentence =
         "File in TOML with the models, in place of MODEL; it is read again when it changes. Options of "
         "models, such as --batch-rows, apply to models that do not set them in the file."},
    {.name = "versions",
     .default_value = "default",
     .unit = "WHICH",
     .sentence =
         "Versions to serve: default (those that aliases name, else the highest), latest:N, all, or numbers "
         "separated by commas."},
    {.name = "batch-rows",
     .type = OptionType::kInteger,
     .default_value = "64",
     .unit = "rows",
     .sentence = "Largest number of rows in a batch; 1: requests are never combined.",
     .minimum = 1,
     .maximum = 65536},
    {.name = "batch-sizes",
     .unit = "LIST",
     .sentence = "Sizes to which batches are padded, such as 1,8,64; default: any size."},
    {.name = "lanes",
     .type = OptionType::kInteger,
     .default_value = "1",
     .unit = "batches",
     .sentence = "Batches of one version that run at the same time.",
     .minimum = 1,
     .maximum = 256},
    {.name = "threads",
     .type = OptionType::kInteger,
     .default_value = "0",
     .unit = "threads",
     .sentence = "Threads of a version's model; 0: one per core.",
     .minimum = 0,
     .maximum = 1024},
    {.name = "http-threads",
     .type = OptionType::kInteger,
     .default_value = "0",
     .unit = "threads",
     .sentence = "Threads that read and write HTTP, and as many again for gRPC; 0: half of the cores.",
     .minimum = 0,
     .maximum = 256},
    {.name = "queue-rows",
     .type = OptionType::kInteger,
     .default_value = "4096",
     .unit = "rows",
     .sentence = "Rows of a signature that may wait for a lane; more are refused with status 429.",
     .minimum = 1,
     .maximum = 100'000'000},
    {.name = "deadline",
     .default_value = "30s",
     .unit = "DURATION",
     .sentence = "Time limit of a request that sets none itself by X-Request-Timeout-Ms."},
    {.name = "body-size",
     .type = OptionType::kSize,
     .default_value = "64MiB",
     .unit = "bytes",
     .sentence = "Largest size of a request's body.",
     .minimum = 1},
    {.name = "memory",
     .type = OptionType::kSize,
     .default_value = "512MiB",
     .unit = "bytes",
     .sentence = "Memory for the bodies and answers of all requests; further requests are refused with "
                 "status 429.",
     .minimum = 1'000'000},
    {.name = "poll-each",
     .default_value = "12s",
     .unit = "DURATION",
     .sentence = "How often to look for other versions in the store; for a named model, that is one "
                 "request."},
    kDrainOption,
    {.name = "cache",
     .unit = "FOLDER",
     .sentence = "Folder on this machine for the models' files. Default: models below ~/.cache/headrace."},
    {.name = "cache-size",
     .type = OptionType::kSize,
     .default_value = "64GiB",
     .unit = "bytes",
     .sentence = "Largest size of that folder; files that no server uses are removed first.",
     .minimum = 1},
    kTlsCertificateOption,
    kTlsKeyOption,
    kTlsClientCaOption,
    {.name = "tokens",
     .unit = "FILE",
     .sentence =
         "File with the bearer tokens of clients: in each line a token, and after it the models that it is "
         "for. The file is read again when it changes."},
    {.name = "log-requests",
     .unit = "URL",
     .sentence = "Folder of a store that gets a sample of the requests with their answers: TFRecord files of "
                 "TensorFlow Serving's PredictionLog, in a folder for each model."},
    {.name = "log-fraction",
     .type = OptionType::kNumber,
     .default_value = "0.01",
     .sentence = "Share of the requests that --log-requests keeps.",
     .minimum = 0,
     .maximum = 1},
    {.name = "warm-up",
     .unit = "URL",
     .sentence =
         "Log of requests, or one of its files: a version runs the newest of these requests before it is "
         "ready. A model that has assets.extra/tf_serving_warmup_requests runs those instead."},
    {.name = "trace",
     .unit = "URL",
     .sentence = "OpenTelemetry collector that gets the spans of requests, such as http://localhost:4318."},
    {.name = "trace-share",
     .type = OptionType::kNumber,
     .default_value = "0.01",
     .sentence = "Share of the requests without a traceparent that are traced.",
     .minimum = 0,
     .maximum = 1},
    {.name = "encoder-weights",
     .unit = "folder",
     .sentence = "Folder with the encoder's weights. Default: the folder with the encoder's name in "
                 "HEADRACE_ENCODERS, else in ~/.cache/headrace/encoders."},
    {.name = "print-manifest",
     .sentence = "Print a manifest that runs this server elsewhere, and serve nothing: Kubernetes (a "
                 "Deployment with probes, its Service, disruption budget and autoscaler), Compose, or a "
                 "Dockerfile.",
     .choices = "kubernetes|compose|dockerfile"},
    {.name = "image",
     .default_value = "headrace",
     .unit = "IMAGE",
     .sentence = "With --print-manifest: the image that has Headrace and TensorFlow."},
    {.name = "replicas",
     .type = OptionType::kInteger,
     .default_value = "2",
     .unit = "servers",
     .sentence = "With --print-manifest kubernetes: number of servers. They need no coordination.",
     .minimum = 1,
     .maximum = 10'000},
    {.name = "port-file",
     .unit = "FILE",
     .sentence =
         "File that gets the ports, one decimal number in each line, when the server listens on them: those "
         "of --port, --admin-port and, with gRPC, --grpc-port."},
};

inline constexpr std::string_view kServeSummary = "Serve models to clients of TensorFlow Serving and KServe";
inline constexpr std::string_view kServeDetails =
    "Loads the models from their store, follows new versions without a lost request, and answers\n"
    "over HTTP and gRPC: TensorFlow Serving's APIs and KServe v2. A model that Headrace trained\n"
    "takes raw rows, too: texts, numbers and images as they were prepared.\n"
    "\n"
    "Each version runs in a process of its own, without network and without files of others.\n"
    "SIGTERM drains: requests in flight are answered, and readiness says no at once.\n"
    "\n"
    "  headrace serve s3://models/models/imdb\n"
    "  curl -d '{\"instances\": [\"great acting\"]}' localhost:8501/v1/models/imdb:predict\n"
    "  headrace serve imdb=s3://models/runs/17 gs://others/half_plus_two --batch-rows 128\n"
    "  headrace serve --config s3://models/serving.toml";

}  // namespace headrace
