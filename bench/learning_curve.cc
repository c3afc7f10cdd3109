// Simulates learning curves and answers for each with the code of headrace/study; prints one JSON document.
// The points are part of it, so that peers answer for the very same curves.
//
//   headrace_bench_learning_curve simulate SEED COUNT   curves as the Learning Curve Database describes them
//   headrace_bench_learning_curve regions SEED COUNT    three regions, with published exponents

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "headrace/base/json.h"
#include "headrace/study/bootstrap.h"

namespace headrace {
namespace {

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  double between(double low, double high) { return low + (high - low) * unit(); }
  double log_between(double low, double high) { return low * std::pow(high / low, unit()); }
  int integer(int low, int high) { return low + static_cast<int>(unit() * (high - low + 1)); }
  double normal() { return std::sqrt(-2 * std::log(1 - unit())) * std::cos(2 * std::acos(-1.0) * unit()); }

 private:
  double unit() { return static_cast<double>(engine_() >> 11) * 0x1p-53; }
  std::mt19937_64 engine_;
};

struct Truth {
  std::string form;
  bool is_fitted = false;  // the form is one of those that are fitted
  double largest = 0;      // size that was measured
  double exponent = 0;
  std::function<double(double)> error;
};

constexpr const char* kFitted[] = {"pow2", "pow3", "pow4", "exp3"};
constexpr const char* kOthers[] = {"mmf4", "wbl4", "vap3", "ilog2", "pow_pow", "bump"};

// The shapes are functions of u = n / largest, and fall to 1 at u = 1.
std::function<double(double)> shape_of(const std::string& form, double b, Random& random) {
  if (form == "exp3") {
    const double rate = random.between(0.7, 4);
    return [=](double u) { return std::exp(rate * (1 - u)); };
  }
  if (form == "pow4") {
    const double d = random.log_between(0.01, 0.3);
    return [=](double u) { return std::pow((u + d) / (1 + d), -b); };
  }
  if (form == "mmf4") {
    const double k = random.log_between(0.01, 1);
    return [=](double u) { return (1 + std::pow(1 / k, b)) / (1 + std::pow(u / k, b)); };
  }
  if (form == "wbl4") {
    const double rate = random.between(0.7, 3), d = random.between(0.2, 0.8);
    return [=](double u) { return std::exp(rate * (1 - std::pow(u, d))); };
  }
  if (form == "vap3") {
    const double k = random.between(-0.006, 0.006);
    return [=](double u) { return std::pow(u, -b) * std::exp(k * (1 / u - 1)); };
  }
  if (form == "ilog2") {
    const double ln_largest = random.between(7, 12);
    return [=](double u) { return ln_largest / (ln_largest + std::log(u)); };
  }
  if (form == "pow_pow") {
    const double other = b * random.between(0.2, 0.6), share = random.between(0.2, 0.8);
    return [=](double u) { return share * std::pow(u, -b) + (1 - share) * std::pow(u, -other); };
  }
  if (form == "bump") {
    const double at = random.log_between(0.03, 0.6), height = random.between(0.03, 0.15);
    return [=](double u) {
      const double x = std::log(u / at) / 0.5;
      return std::pow(u, -b) * (1 + height * std::exp(-x * x));
    };
  }
  return [=](double u) { return std::pow(u, -b); };
}

Truth draw_truth(bool is_fitted, Random& random, double smallest_share) {
  for (;;) {
    Truth out{.is_fitted = is_fitted, .largest = std::round(random.log_between(2000, 200'000))};
    out.form = is_fitted ? kFitted[random.integer(0, 3)] : kOthers[random.integer(0, 5)];
    out.exponent = random.log_between(0.07, 0.9);
    const double last = random.log_between(0.02, 0.4);
    const double floor = out.form == "pow2" ? 0 : last * random.between(0, 0.8);
    const auto shape = shape_of(out.form, out.exponent, random);
    out.error = [=, largest = out.largest](double n) { return floor + (last - floor) * shape(n / largest); };
    if (out.error(out.largest * smallest_share) < 1) return out;
  }
}

struct Simulated {
  Truth truth;
  std::vector<MeasuredError> runs;
};

Simulated simulate(bool is_fitted, Random& random) {
  const int sizes = random.integer(5, 7), seeds = random.integer(3, 5);
  Simulated out{.truth = draw_truth(is_fitted, random, std::pow(0.5, sizes - 1))};
  const double noise = random.log_between(0.01, 0.08), decay = random.between(0, 0.5);
  for (int i = 0; i < sizes; ++i) {
    const double size = std::round(out.truth.largest * std::pow(0.5, sizes - 1 - i));
    const double spread = out.truth.error(size) * noise * std::pow(2.0, -decay * i);
    for (int seed = 0; seed < seeds; ++seed) {
      const double error = out.truth.error(size) + spread * random.normal();
      out.runs.push_back({size, std::max(error, 1e-6)});
    }
  }
  return out;
}

double size_for(const Truth& truth, double error) {
  double low = truth.largest, high = truth.largest * 1e6;
  for (int i = 0; i < 200; ++i) {
    const double middle = std::sqrt(low * high);
    (truth.error(middle) > error ? low : high) = middle;
  }
  return low;
}

Json json_of(const Interval& interval) { return Json::array({interval.middle, interval.low, interval.high}); }

Json answers(const Simulated& curve, double target) {
  const auto points = summarise_curve(curve.runs);
  if (!points) return {{"failed", points.error().message}};
  const FittedCurves fitted = fit_curves(*points);
  const auto spread = [&](auto value) {
    std::vector<double> values;
    for (const Curve& one : fitted.replicates) values.push_back(value(one));
    return interval_of(std::move(values));
  };
  const double n = curve.truth.largest;
  return {
      {"at_2", json_of(spread([&](const Curve& one) { return one.at(2 * n); }))},
      {"at_5", json_of(spread([&](const Curve& one) { return one.at(5 * n); }))},
      {"size_for", json_of(spread([&](const Curve& one) { return std::min(one.size_for(target), 1e18); }))},
      {"gain", spread([&](const Curve& one) { return one.at(n) - one.at(2 * n); }).middle},
      {"chosen", curve_form_name(fitted.chosen)}};
}

Json simulated_json(bool is_fitted, Random& random) {
  const Simulated curve = simulate(is_fitted, random);
  const double n = curve.truth.largest, target = curve.truth.error(n * random.log_between(1.5, 8));
  Json runs = Json::array();
  for (const MeasuredError& run : curve.runs) runs.push_back(Json::array({run.size, run.error}));
  return {{"form", curve.truth.form},
          {"is_fitted", is_fitted},
          {"runs", runs},
          {"at_1", curve.truth.error(n)},
          {"at_2", curve.truth.error(2 * n)},
          {"at_5", curve.truth.error(5 * n)},
          {"target", target},
          {"size_for", size_for(curve.truth, target)},
          {"wanted_share", random.log_between(0.01, 0.4)},
          {"headrace", answers(curve, target)}};
}

Json regions_json(double exponent, Random& random) {
  Simulated curve{.truth = {.form = "regions", .largest = 1 << 20, .exponent = exponent}};
  const double first = 256, knee = first * random.log_between(2, 8), floor = random.between(0, 0.3);
  const double scale = 1;
  // The floor is a share of what the power law has come down to at the largest size.
  const double floor_error = floor * scale * std::pow(curve.truth.largest / knee, -exponent);
  for (double size = first; size <= curve.truth.largest; size *= 2) {
    const double x = size / knee;
    const double error = floor_error + scale * std::pow(1 + x * x * x * x, -exponent / 4);
    for (int seed = 0; seed < 5; ++seed) curve.runs.push_back({size, error * (1 + 0.01 * random.normal())});
  }
  const auto points = summarise_curve(curve.runs);
  const FittedCurves fitted = fit_curves(*points);
  std::vector<double> rates;
  for (const Curve& one : fitted.replicates) rates.push_back(one.rate);
  return {{"exponent", exponent},
          {"chosen", curve_form_name(fitted.chosen)},
          {"answer", json_of(interval_of(rates))}};
}

int run(int count, char** arguments) {
  if (count < 4) return 2;
  Random random(std::strtoull(arguments[2], nullptr, 10));
  const int curves = std::atoi(arguments[3]);
  Json out = Json::array();
  if (std::string_view(arguments[1]) == "simulate") {
    for (int i = 0; i < curves; ++i) out.push_back(simulated_json(i % 2 == 0, random));
  } else {
    for (const double exponent : {0.488, 0.309, 0.30, 0.128, 0.094, 0.066})
      for (int i = 0; i < curves; ++i) out.push_back(regions_json(exponent, random));
  }
  std::puts(out.dump().c_str());
  return 0;
}

}  // namespace
}  // namespace headrace

int main(int count, char** arguments) { return headrace::run(count, arguments); }
