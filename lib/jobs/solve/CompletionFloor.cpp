#include "lib/jobs/solve/CompletionFloor.h"
#include "lib/search/LinearProgram.h"
#include <algorithm>
#include <cmath>
#include <limits>

namespace accord::jobs {
namespace {

using Matrix = std::vector<std::vector<double>>; ///< by interval and type

/// The rates of a job on types that hold its gang.
std::vector<double> usableRates(const std::vector<int64_t> &capacity, const SteadyJob &job) {
  std::vector<double> rates = job.rates;
  for (size_t t = 0; t < rates.size(); ++t)
    if (job.gang > capacity[t])
      rates[t] = 0;
  return rates;
}

/// Seconds of a job alone on its fastest type.
double fastestTime(const std::vector<int64_t> &capacity, const SteadyJob &job) {
  const std::vector<double> rates = usableRates(capacity, job);
  return job.steps / *std::max_element(rates.begin(), rates.end());
}

/// One job against prices. Work is counted in shares of its steps.
class PricedJob {
public:
  PricedJob(const std::vector<int64_t> &capacity, const SteadyJob &job, double interval, size_t limited)
      : gang(job.gang), rates(usableRates(capacity, job)), limit(std::max(job.arrival, interval * double(limited))) {
    for (double &rate : rates)
      rate /= job.steps;
    first = std::min(limited, static_cast<size_t>(job.arrival / interval));
    for (size_t k = first; k < limited; ++k) {
      const double begin = interval * static_cast<double>(k), start = std::max(begin, job.arrival);
      starts.push_back(start);
      lengths.push_back(begin + interval - start);
    }
  }

  /// The most that a value may be: that of steps in the unlimited interval.
  double largestValue() const { return limit; }

  /// The bound with a value of all steps; `share`: of the steps that are worth their price.
  double bound(const Matrix &prices, double value, double &share) const {
    double result = value;
    share = 0;
    for (size_t i = 0; i < starts.size(); ++i) {
      double gain = 0;
      const size_t type = best(prices[first + i], value - starts[i], gain);
      if (gain <= 0)
        continue;
      result -= gain * lengths[i];
      share += rates[type] * lengths[i];
    }
    return result;
  }

  /// Adds device-seconds, times `part`, that are worth their price.
  void addUse(const Matrix &prices, double value, double part, Matrix &use) const {
    for (size_t i = 0; i < starts.size(); ++i) {
      double gain = 0;
      const size_t type = best(prices[first + i], value - starts[i], gain);
      if (gain > 0)
        use[first + i][type] += part * gang * lengths[i];
    }
  }

  /// Finds the value with the best bound, at which as many steps are worth their price as there are, and adds the
  /// device-seconds of exactly these.
  double improve(const Matrix &prices, double &value, Matrix &use) const {
    double low = 0, high = limit, lowShare = 0, highShare = 0, middleShare = 0;
    bound(prices, high, highShare);
    if (highShare <= 1) { // the rest is in the unlimited interval
      value = limit;
      addUse(prices, value, 1, use);
      return bound(prices, value, highShare);
    }
    for (int step = 0; step < 34; ++step) {
      const double middle = (low + high) / 2;
      bound(prices, middle, middleShare);
      (middleShare > 1 ? high : low) = middle;
      (middleShare > 1 ? highShare : lowShare) = middleShare;
    }
    const double part = highShare > lowShare ? (1 - lowShare) / (highShare - lowShare) : 0;
    addUse(prices, high, part, use);
    addUse(prices, low, 1 - part, use);
    value = low;
    return bound(prices, value, lowShare);
  }

private:
  /// The type with the largest gain of a second in an interval.
  size_t best(const std::vector<double> &prices, double margin, double &gain) const {
    size_t type = 0;
    gain = 0;
    if (margin <= 0)
      return type;
    for (size_t t = 0; t < rates.size(); ++t)
      if (const double one = rates[t] * margin - gang * prices[t]; rates[t] > 0 && one > gain) {
        gain = one;
        type = t;
      }
    return type;
  }

  double gang;
  std::vector<double> rates; ///< shares of all steps a second
  double limit;
  size_t first; ///< interval of the arrival
  std::vector<double> starts, lengths;
};

class Ascent {
public:
  Ascent(const Cluster &cluster, const std::vector<SteadyJob> &jobs, double interval, size_t limited)
      : capacity(cluster.capacity()), interval(interval), limited(limited), count(double(jobs.size())) {
    for (const SteadyJob &job : jobs) {
      priced.emplace_back(capacity, job, interval, limited);
      constant += fastestTime(capacity, job) / 2 - job.arrival;
    }
  }

  CompletionFloor climb(size_t rounds) {
    CompletionFloor best;
    best.interval = interval;
    best.values.assign(priced.size(), 0);
    Matrix prices(limited, std::vector<double>(capacity.size(), 0)), direction = prices;
    best.prices = prices;
    best.mean = -std::numeric_limits<double>::infinity();
    double delta = 0, travelled = 0, mark = 0;
    std::vector<double> values(priced.size(), 0);
    for (size_t round = 0; round < rounds; ++round) {
      Matrix use(limited, std::vector<double>(capacity.size(), 0));
      const double now = evaluate(prices, values, use);
      if (round == 0) {
        delta = 0.2 * std::abs(now) + 1;
        mark = now;
      }
      if (now > best.mean) {
        best.mean = now;
        best.prices = prices;
        best.values = values;
      }
      if (best.mean >= mark + delta / 2) { // the level is reached
        mark = best.mean;
        travelled = 0;
      } else if (travelled > kPatience) {
        delta /= 2;
        mark = best.mean;
        travelled = 0;
        prices = best.prices;
        for (std::vector<double> &row : direction)
          std::fill(row.begin(), row.end(), 0);
        evaluate(prices, values, use = Matrix(limited, std::vector<double>(capacity.size(), 0)));
      }
      travelled += 1;
      move(prices, direction, use, mark + delta - std::min(now, best.mean));
      best.rounds = round + 1;
    }
    return best;
  }

private:
  static constexpr double kPatience = 25; ///< rounds without the level reached
  static constexpr double kMemory = 0.6;  ///< of the direction before

  double cost(const Matrix &prices) const {
    double total = 0;
    for (const std::vector<double> &row : prices)
      for (size_t t = 0; t < capacity.size(); ++t)
        total += row[t] * static_cast<double>(capacity[t]) * interval;
    return total;
  }

  double evaluate(const Matrix &prices, std::vector<double> &values, Matrix &use) const {
    double total = constant - cost(prices);
    for (size_t j = 0; j < priced.size(); ++j)
      total += priced[j].improve(prices, values[j], use);
    return total / count;
  }

  /// A step in a direction that remembers the ones before; its length is that of the gain that is wanted.
  void move(Matrix &prices, Matrix &direction, const Matrix &use, double gain) const {
    double norm = 0;
    for (size_t k = 0; k < limited; ++k)
      for (size_t t = 0; t < capacity.size(); ++t) {
        double slope = (use[k][t] - static_cast<double>(capacity[t]) * interval) / count;
        if (prices[k][t] <= 0 && slope < 0)
          slope = 0;
        direction[k][t] = slope + kMemory * direction[k][t];
        if (prices[k][t] <= 0 && direction[k][t] < 0)
          direction[k][t] = 0;
        norm += direction[k][t] * direction[k][t];
      }
    if (norm <= 0)
      return;
    for (size_t k = 0; k < limited; ++k)
      for (size_t t = 0; t < capacity.size(); ++t)
        prices[k][t] = std::max(0.0, prices[k][t] + gain / norm * direction[k][t]);
  }

  const std::vector<int64_t> capacity;
  const double interval;
  const size_t limited; ///< intervals before the unlimited one
  const double count;
  double constant = 0; ///< sum of half of the times of jobs alone, less their arrivals
  std::vector<PricedJob> priced;
};

} // namespace

CompletionFloor completionFloor(const Cluster &cluster, const std::vector<SteadyJob> &jobs,
                                const FloorOptions &options) {
  const double horizon = 1.25 * makespanFloor(cluster, jobs);
  const size_t limited = static_cast<size_t>(std::clamp(std::ceil(horizon / options.interval), 1.0, 10000.0));
  return Ascent(cluster, jobs, options.interval, limited).climb(options.rounds);
}

double makespanFloor(const Cluster &cluster, const std::vector<SteadyJob> &jobs) {
  const std::vector<int64_t> capacity = cluster.capacity();
  double unit = 0, total = 0, last = 0; // the unit of time keeps the numbers of the program near 1
  for (const SteadyJob &job : jobs) {
    unit = std::max(unit, fastestTime(capacity, job));
    total += fastestTime(capacity, job);
    last = std::max(last, job.arrival);
  }
  LinearProgram program;
  const unsigned makespan = program.addColumn(-1, (total + last) / unit);
  for (size_t t = 0; t < capacity.size(); ++t)
    program.columns[makespan].entries.push_back({program.addRow(0), -static_cast<double>(capacity[t])});
  for (const SteadyJob &job : jobs) {
    const std::vector<double> rates = usableRates(capacity, job);
    const unsigned work = program.addRow(1, LinearProgram::Relation::Equal), time = program.addRow(-job.arrival / unit);
    program.columns[makespan].entries.push_back({time, -1});
    for (size_t t = 0; t < capacity.size(); ++t) {
      if (rates[t] <= 0)
        continue;
      const double share = rates[t] * unit / job.steps; // of all steps in a unit of time
      const unsigned column = program.addColumn(0, 1 / share);
      program.columns[column].entries = {{static_cast<unsigned>(t), job.gang}, {work, share}, {time, 1}};
    }
  }
  return -dualBound(program, maximize(program).multipliers) * unit;
}

} // namespace accord::jobs
