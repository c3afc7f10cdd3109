#pragma once

/// \file The command line of `headrace serve-mlflow`. `headrace-server` parses it, too.

#include "headrace/cli/command.h"
#include "headrace/cli/server_options.h"

namespace headrace {

inline constexpr Positional kServeMlflowPositionals[] = {
    {.name = "URL", .sentence = "Folder of a store whose runs are served: a tracking root."}};

inline constexpr Option kServeMlflowOptions[] = {
    {.name = "listen",
     .default_value = "127.0.0.1",
     .unit = "ADDRESS",
     .sentence =
         "Address on which clients are answered. Anyone who can reach it can read and write the runs, "
         "unless --tokens or --tls-client-ca say otherwise."},
    {.name = "port",
     .type = OptionType::kInteger,
     .default_value = "5000",
     .unit = "PORT",
     .sentence = "Port for MLflow's REST API; 0: any free port.",
     .minimum = 0,
     .maximum = 65535},
    {.name = "allow-host",
     .unit = "NAME",
     .sentence = "Name of this server that clients may use, besides addresses and localhost; several are "
                 "separated by commas. Requests for other names are refused, so that no web page can make "
                 "them."},
    {.name = "tokens",
     .unit = "FILE",
     .sentence = "File with the bearer tokens of clients, one in a line. It is read again when it changes. "
                 "Clients give theirs in MLFLOW_TRACKING_TOKEN."},
    kTlsCertificateOption,
    kTlsKeyOption,
    kTlsClientCaOption,
    {.name = "http-threads",
     .type = OptionType::kInteger,
     .default_value = "0",
     .unit = "threads",
     .sentence = "Threads that read and write HTTP; 0: half of the cores.",
     .minimum = 0,
     .maximum = 256},
    {.name = "artifact-size",
     .type = OptionType::kSize,
     .default_value = "1000GiB",
     .unit = "bytes",
     .sentence =
         "The largest artifact that a client may send through the server. S3 takes 1,016 GiB at most.",
     .minimum = 1},
    {.name = "memory",
     .type = OptionType::kSize,
     .default_value = "1GiB",
     .unit = "bytes",
     .sentence = "Memory for the bodies and answers of all requests; further requests are refused with "
                 "status 429.",
     .minimum = 1'000'000},
    kDrainOption,
    {.name = "port-file",
     .unit = "FILE",
     .sentence = "File that gets the port, in decimal, when the server listens on it."},
};

inline constexpr std::string_view kServeMlflowSummary = "Serve the runs of a folder to MLflow's clients";
inline constexpr std::string_view kServeMlflowDetails =
    "Answers the calls of MLflow's REST API that concern experiments, runs, metrics, artifacts and logged\n"
    "models, from the records of runs in any store. There is no database: several servers may serve one\n"
    "folder, and every program that logs there is seen. docs/how-to/mlflow.md\n"
    "\n"
    "  headrace serve-mlflow s3://datasets/runs\n"
    "  MLFLOW_TRACKING_URI=http://127.0.0.1:5000 python train.py";

}  // namespace headrace
