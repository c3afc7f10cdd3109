#include "headrace/cli/servers/tensorboard_data/data_server.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>

#include "data_provider.grpc.pb.h"
#include "headrace/base/text.h"
#include "headrace/events/thinning.h"

namespace headrace {
namespace {

namespace proto = tensorboard::data;

/// One message of ReadBlob's stream: well below the 4 MiB that clients take unless told otherwise.
constexpr std::size_t kBlobPieceBytes = 1 << 20;
/// Calls that are answered at a time; further calls are refused with RESOURCE_EXHAUSTED.
constexpr int kMostThreads = 64;

grpc::Status to_grpc(const Error& error) {
  return {static_cast<grpc::StatusCode>(error.code), error.message};  // the numbers are gRPC's
}

template <typename Request>
Result<SeriesQuery> query_of(const Request& request, DataClass data_class) {
  if (request.plugin_filter().plugin_name().empty()) {
    return Error{Code::kInvalidArgument, "the name of a plugin is missing: plugin_filter.plugin_name"};
  }
  SeriesQuery query{request.plugin_filter().plugin_name(), data_class};
  const auto names = [](const auto& filter) {
    return std::set<std::string>(filter.names().begin(), filter.names().end());
  };
  if (request.run_tag_filter().has_runs()) query.runs = names(request.run_tag_filter().runs());
  if (request.run_tag_filter().has_tags()) query.tags = names(request.run_tag_filter().tags());
  return query;
}

template <typename Request>
Result<std::size_t> points_of(const Request& request) {
  if (!request.has_downsample() || request.downsample().num_points() < 0) {
    return Error{Code::kInvalidArgument, "the number of points is missing: downsample.num_points"};
  }
  return static_cast<std::size_t>(request.downsample().num_points());
}

/// Puts each series into the entry of its tag, in the entry of its run: `fill(entry, series, begun)`.
template <typename Response, typename Fill>
void fill_entries(const LogFolder& folder, const SeriesQuery& query, Response& response, Fill&& fill) {
  typename Response::RunEntry* run_entry = nullptr;
  folder.for_each_series(query, [&](const std::string& run, const std::string& tag, const Series& series,
                                    const LogTimes& begun) {
    if (run_entry == nullptr || run_entry->run_name() != run) {
      run_entry = response.add_runs();
      run_entry->set_run_name(run);
    }
    auto* const entry = run_entry->add_tags();
    entry->set_tag_name(tag);
    fill(*entry, series, begun);
  });
}

/// The answer to one of the List calls.
template <typename Request, typename Response, typename More>
grpc::Status list_series(const LogFolder& folder, const Request& request, DataClass data_class,
                         Response& response, More&& more) {
  const Result<SeriesQuery> query = query_of(request, data_class);
  if (!query) return to_grpc(query.error());
  fill_entries(folder, *query, response, [&](auto& entry, const Series& series, const LogTimes& begun) {
    const SeriesExtent extent = series.extent(begun);
    auto& metadata = *entry.mutable_metadata();
    metadata.set_max_step(extent.max_step);
    metadata.set_max_wall_time(extent.max_wall_time_s);
    more(metadata, extent);
    proto::SummaryMetadata& summary = *metadata.mutable_summary_metadata();
    summary.mutable_plugin_data()->set_plugin_name(series.plugin_name);
    summary.mutable_plugin_data()->set_content(series.plugin_content);
    summary.set_display_name(series.display_name);
    summary.set_summary_description(series.description);
    summary.set_data_class(static_cast<std::int32_t>(series.kind.data_class));
  });
  return grpc::Status::OK;
}

/// The answer to one of the Read calls: `fill(data, series, begun, points)`.
template <typename Request, typename Response, typename Fill>
grpc::Status read_series(const LogFolder& folder, const Request& request, DataClass data_class,
                         Response& response, Fill&& fill) {
  const Result<SeriesQuery> query = query_of(request, data_class);
  if (!query) return to_grpc(query.error());
  const Result<std::size_t> points = points_of(request);
  if (!points) return to_grpc(points.error());
  fill_entries(folder, *query, response, [&](auto& entry, const Series& series, const LogTimes& begun) {
    fill(*entry.mutable_data(), series, begun, *points);
  });
  return grpc::Status::OK;
}

void fill_scalars(proto::ScalarData& data, const Series& series, const LogTimes& begun, std::size_t points) {
  ScalarColumns scratch;
  const ScalarView all = series.scalars(begun, scratch);
  if (all.steps.size() <= points) {
    data.mutable_step()->Add(all.steps.begin(), all.steps.end());
    data.mutable_wall_time()->Add(all.wall_times_s.begin(), all.wall_times_s.end());
    for (const double value : all.values) data.add_value(static_cast<float>(value));
    return;
  }
  for (const std::size_t place : thin_curve(all.steps, all.values, points)) {
    data.add_step(all.steps[place]);
    data.add_wall_time(all.wall_times_s[place]);
    data.add_value(static_cast<float>(all.values[place]));
  }
}

/// Step and wall time of each sample that is sent, and its value by `add(value)`.
template <typename Data, typename Samples, typename Add>
void fill_samples(Data& data, const Samples& samples, std::size_t points, Add&& add) {
  for (const std::size_t place : thin_evenly(samples.size(), points)) {
    data.add_step(samples[place]->step);
    data.add_wall_time(samples[place]->wall_time_s);
    add(samples[place]->value);
  }
}

class Service final : public proto::TensorBoardDataProvider::Service {
 public:
  explicit Service(const LogFolder& folder) : folder_(folder) {}

  grpc::Status GetExperiment(grpc::ServerContext*, const proto::GetExperimentRequest*,
                             proto::GetExperimentResponse* response) override {
    response->set_data_location(folder_.describe());
    return grpc::Status::OK;
  }

  grpc::Status ListPlugins(grpc::ServerContext*, const proto::ListPluginsRequest*,
                           proto::ListPluginsResponse* response) override {
    for (const std::string& plugin : folder_.plugins()) response->add_plugins()->set_name(plugin);
    return grpc::Status::OK;
  }

  grpc::Status ListRuns(grpc::ServerContext*, const proto::ListRunsRequest*,
                        proto::ListRunsResponse* response) override {
    for (const LogFolder::RunInfo& run : folder_.runs()) {
      if (!run.start_time_s) continue;  // nothing of the run was read yet
      proto::Run& out = *response->add_runs();
      out.set_name(run.name);
      out.set_start_time(*run.start_time_s);
    }
    return grpc::Status::OK;
  }

  grpc::Status ListScalars(grpc::ServerContext*, const proto::ListScalarsRequest* request,
                           proto::ListScalarsResponse* response) override {
    return list_series(folder_, *request, DataClass::kScalar, *response,
                       [](proto::ScalarMetadata&, const SeriesExtent&) {});
  }

  grpc::Status ReadScalars(grpc::ServerContext*, const proto::ReadScalarsRequest* request,
                           proto::ReadScalarsResponse* response) override {
    return read_series(folder_, *request, DataClass::kScalar, *response, fill_scalars);
  }

  grpc::Status ListTensors(grpc::ServerContext*, const proto::ListTensorsRequest* request,
                           proto::ListTensorsResponse* response) override {
    return list_series(folder_, *request, DataClass::kTensor, *response,
                       [](proto::TensorMetadata&, const SeriesExtent&) {});
  }

  grpc::Status ReadTensors(grpc::ServerContext*, const proto::ReadTensorsRequest* request,
                           proto::ReadTensorsResponse* response) override {
    return read_series(
        folder_, *request, DataClass::kTensor, *response,
        [](proto::TensorData& data, const Series& series, const LogTimes& begun, std::size_t points) {
          fill_samples(data, series.tensors(begun), points,
                       [&](const Bytes& tensor) { data.add_value(tensor.data(), tensor.size()); });
        });
  }

  grpc::Status ListBlobSequences(grpc::ServerContext*, const proto::ListBlobSequencesRequest* request,
                                 proto::ListBlobSequencesResponse* response) override {
    return list_series(folder_, *request, DataClass::kBlobSequence, *response,
                       [](proto::BlobSequenceMetadata& metadata, const SeriesExtent& extent) {
                         metadata.set_max_length(extent.max_length);
                       });
  }

  grpc::Status ReadBlobSequences(grpc::ServerContext*, const proto::ReadBlobSequencesRequest* request,
                                 proto::ReadBlobSequencesResponse* response) override {
    return read_series(folder_, *request, DataClass::kBlobSequence, *response,
                       [this](proto::BlobSequenceData& data, const Series& series, const LogTimes& begun,
                              std::size_t points) {
                         fill_samples(data, series.blobs(begun), points, [&](const BlobSequence& sequence) {
                           proto::BlobReferenceSequence& out = *data.add_values();
                           for (const BlobReference& blob : sequence.blobs) {
                             out.add_blob_refs()->set_blob_key(folder_.blob_key(sequence, blob));
                           }
                         });
                       });
  }

  grpc::Status ReadBlob(grpc::ServerContext*, const proto::ReadBlobRequest* request,
                        grpc::ServerWriter<proto::ReadBlobResponse>* writer) override {
    const Result<Bytes> blob = folder_.read_blob(request->blob_key(), {.stop = stopping_.get_token()});
    if (!blob) return to_grpc(blob.error());
    for (std::size_t at = 0; at < blob->size(); at += kBlobPieceBytes) {
      proto::ReadBlobResponse piece;
      piece.set_data(blob->data() + at, std::min(kBlobPieceBytes, blob->size() - at));
      if (!writer->Write(piece)) return grpc::Status::CANCELLED;
    }
    return grpc::Status::OK;
  }

  void stop() { stopping_.request_stop(); }

 private:
  const LogFolder& folder_;
  std::stop_source stopping_;
};

class GrpcDataServer final : public DataServer {
 public:
  explicit GrpcDataServer(const LogFolder& folder) : service_(folder) {}
  ~GrpcDataServer() override { stop(std::chrono::milliseconds(0)); }

  Status listen(const std::string& host, int port) {
    const bool is_ipv6 = host.find(':') != std::string::npos;
    const std::string address = concat(is_ipv6 ? "[" : "", host, is_ipv6 ? "]:" : ":", port);
    grpc::ServerBuilder builder;
    builder.AddListeningPort(address, grpc::InsecureServerCredentials(), &port_);
    // A second server on the port of the first would take every other call.
    builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
    builder.SetResourceQuota(grpc::ResourceQuota("calls").SetMaxThreads(kMostThreads));
    builder.RegisterService(&service_);
    server_ = builder.BuildAndStart();
    if (server_ && port_ != 0) return {};
    return Error{Code::kUnavailable, concat("cannot listen on ", address,
                                            ": is the port taken? --port 0 takes any that is free")};
  }

  int port() const override { return port_; }
  void stop(std::chrono::milliseconds grace) override {
    service_.stop();
    if (!server_) return;
    server_->Shutdown(std::chrono::system_clock::now() + grace);
    server_->Wait();
  }

 private:
  Service service_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace

Result<std::unique_ptr<DataServer>> DataServer::start(const LogFolder& folder, const std::string& host,
                                                      int port) {
  auto server = std::make_unique<GrpcDataServer>(folder);
  HEADRACE_CHECK(server->listen(host, port));
  return std::unique_ptr<DataServer>(std::move(server));
}

}  // namespace headrace
