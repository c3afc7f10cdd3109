#include "headrace/predict/cache_prediction_table.h"

#include <utility>
#include <vector>

#include "headrace/base/text.h"
#include "headrace/net/ignite/cache.h"
#include "headrace/net/ignite/cluster_types.h"
#include "headrace/net/ignite/object_encoder.h"

namespace headrace {
namespace {

class CachePredictionTable final : public PredictionTable {
 public:
  CachePredictionTable(const std::shared_ptr<ignite::Cluster>& cluster, const std::string& cache,
                       const AnswerFormat& answers, const std::string& model_digest)
      : PredictionTable(answers, model_digest), cache_(cluster, cache) {}

  Status create(const std::string& type, const std::stop_token& stop) {
    std::vector<std::pair<std::string_view, ignite::Value>> fields;
    for (const TableColumn& column : columns())
      fields.emplace_back(column.name, column.is_number ? ignite::Value(0.0F) : std::string_view());
    auto made = ignite::make_object(type, std::move(fields));
    if (!made) return std::move(made).error().in("name the type of predictions with ?type=");
    prototype_ = *std::move(made);
    HEADRACE_CHECK(cache_.get_or_create({.backups = 1}, stop));
    if (Status known = ignite::register_type(cache_.cluster(), *prototype_->type, stop); !known) {
      return std::move(known).error().in(
          concat("registering the type ", printable_line(type, 100),
                 " with Ignite for predictions in the cache \"", printable_line(cache_.name(), 200),
                 "\"; if the type already has other fields, name another type with ?type="));
    }
    return {};
  }

 private:
  Result<Bytes> encoded(const std::vector<std::string>& cells) const {
    const auto object = std::make_shared<ignite::ComplexObject>(*prototype_);
    for (std::size_t i = 0; i < cells.size(); ++i) {
      HEADRACE_TRY(object->fields[i].value, value_of(columns()[i], cells[i]));
    }
    Bytes out;
    HEADRACE_CHECK(ignite::append_object(std::shared_ptr<const ignite::ComplexObject>(object), {}, out));
    return out;
  }

  Status write(const Rows& rows, const std::stop_token& stop) const override {
    std::vector<std::pair<Bytes, Bytes>> objects;
    for (const auto& [id, cells] : rows) {
      HEADRACE_TRY(Bytes value, encoded(cells));
      objects.emplace_back(ignite::encode_string(id), std::move(value));
    }
    std::vector<ignite::Entry> entries;
    for (const auto& [key, value] : objects) entries.push_back({key, value});
    Status put = cache_.put_all(entries, stop);
    return put ? put : std::move(put).error().in("writing predictions");
  }

  const ignite::Cache cache_;
  std::shared_ptr<const ignite::ComplexObject>
      prototype_;  // the value of an entry; its fields are replaced for each entry
};

}  // namespace

Result<std::unique_ptr<PredictionTable>> open_cache_prediction_table(
    const std::shared_ptr<ignite::Cluster>& cluster, const std::string& cache, const std::string& type,
    const AnswerFormat& answers, const std::string& model_digest, const std::stop_token& stop) {
  auto opened = std::make_unique<CachePredictionTable>(cluster, cache, answers, model_digest);
  HEADRACE_CHECK(opened->create(type, stop));
  return std::unique_ptr<PredictionTable>(std::move(opened));
}

}  // namespace headrace
