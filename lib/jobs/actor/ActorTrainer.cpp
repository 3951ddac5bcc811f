#include "lib/jobs/actor/ActorTrainer.h"
#include "lib/jobs/actor/ActorWeigher.h"
#include "lib/jobs/actor/NormalDraw.h"
#include "lib/support/ThreadPool.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace accord::jobs {
namespace {

using Parameters = std::vector<double>;

/// A simulation, and what the policy without weights reaches there.
struct Episode {
  DrawnSimulation drawn;
  double unweighed = 0; ///< mean completion, seconds
};

class Trainer {
public:
  Trainer(const DrawSimulation &draw, const TrainingOptions &options)
      : draw(draw), options(options), random(options.seed), pool(options.threads) {}

  Result<TrainedActor> run() {
    const size_t perGeneration = options.traces * (2 * options.pairs + 1);
    if (options.budget < 2 * options.validations + perGeneration)
      return Error{Code::WrongJobsFile,
                   fmt::format("a budget of {} simulations trains nothing: one generation and its validation need {}",
                               options.budget, 2 * options.validations + perGeneration)};
    initialize();
    ACCORD_TRY(validation, episodes(kValidationSeeds, options.validations));
    best = parameters;
    if (auto done = validate(validation, 0); !done)
      return done.takeError();
    size_t generation = 0;
    while (trained.simulations + perGeneration + options.validations <= options.budget) {
      if (auto done = improve(generation++); !done)
        return done.takeError();
      if (generation % options.every == 0)
        if (auto done = validate(validation, generation); !done)
          return done.takeError();
    }
    if (generation % options.every != 0)
      if (auto done = validate(validation, generation); !done)
        return done.takeError();
    trained.generations = generation;
    trained.graph = graphOf(best);
    return std::move(trained);
  }

private:
  static size_t jobFeatures() { return jobFeatureNames().size(); }
  static size_t clusterFeatures() { return clusterFeatureNames().size(); }
  ActorGraph graphOf(const Parameters &of) const {
    return deepSet(jobFeatures(), clusterFeatures(), options.hidden, of);
  }

  /// Normal numbers over the root of the number of inputs; biases and what the answer is the sum of are 0.
  void initialize() {
    const size_t f = jobFeatures(), c = clusterFeatures(), h = options.hidden;
    auto add = [&](size_t rows, size_t columns, double scale) {
      for (size_t i = 0; i < rows * columns; ++i)
        parameters.push_back(scale > 0 ? scale * drawNormal(random) / std::sqrt(static_cast<double>(rows)) : 0);
    };
    add(f, h, 1), add(1, h, 0), add(h + c, h, 1), add(1, h, 0), add(h, h, 1), add(h, h, 1), add(1, h, 0);
    add(h, 1, 0), add(1, 1, 0), add(f, 1, 0);
    first.assign(parameters.size(), 0), second = first;
  }

  /// The mean completion of a simulation; without parameters, of the policy without weights.
  Result<double> simulated(const DrawnSimulation &drawn, const Parameters *of) const {
    AllocationOptions allocation;
    allocation.knows = KnownWork::Learned;
    allocation.effort = options.effort;
    if (of) {
      ACCORD_TRY(network, ActorNetwork::make(graphOf(*of)));
      ACCORD_TRY(weigher, ActorWeigher::make(std::move(network)));
      allocation.weigher = weigher;
    }
    AllocationPolicy policy(allocation);
    ACCORD_TRY(result, simulate(drawn.cluster, drawn.jobs, policy, drawn.options));
    return result.meanCompletion(drawn.jobs);
  }

  /// Draws simulations of the seeds from `begin` on; one for each is spent.
  Result<std::vector<Episode>> episodes(uint64_t begin, size_t count) {
    std::vector<Episode> made(count);
    for (size_t i = 0; i < count; ++i) {
      ACCORD_TRY(drawn, draw(begin + i));
      made[i].drawn = std::move(drawn);
    }
    std::vector<Result<double>> means(count);
    pool.each(count, [&](size_t i) { means[i] = simulated(made[i].drawn, nullptr); });
    trained.simulations += count;
    for (size_t i = 0; i < count; ++i) {
      if (!means[i])
        return means[i].takeError();
      made[i].unweighed = *means[i];
    }
    return made;
  }

  /// log of (mean completion / that without weights) of each of some parameters in each episode; below 0 is better.
  Result<std::vector<double>> changes(const std::vector<Episode> &in, const std::vector<Parameters> &of) {
    std::vector<Result<double>> means(in.size() * of.size());
    pool.each(means.size(), [&](size_t i) { means[i] = simulated(in[i % in.size()].drawn, &of[i / in.size()]); });
    trained.simulations += means.size();
    std::vector<double> changes;
    for (size_t i = 0; i < means.size(); ++i) {
      if (!means[i])
        return means[i].takeError();
      const double unweighed = in[i % in.size()].unweighed;
      changes.push_back(unweighed > 0 && *means[i] > 0 ? std::log(*means[i] / unweighed) : 0);
    }
    return changes;
  }

  /// One generation: a step of Adam (Kingma and Ba, ICLR 2015) along the estimated gradient.
  Result<void> improve(size_t generation) {
    // Where seeds differ by a generation's number, the traces do, too.
    ACCORD_TRY(in, episodes(kTrainingSeeds + options.seed * 10'000'000 + generation * options.traces, options.traces));
    // What the answer is the sum of; the layers before stay as they were drawn.
    const size_t fixed = parameters.size() - (options.hidden + 1 + jobFeatures());
    std::vector<Parameters> noise(options.pairs, Parameters(parameters.size(), 0)), perturbed;
    for (Parameters &one : noise) {
      for (size_t i = fixed; i < one.size(); ++i)
        one[i] = drawNormal(random);
      for (double sign : {1.0, -1.0}) {
        perturbed.push_back(parameters);
        for (size_t i = fixed; i < parameters.size(); ++i)
          perturbed.back()[i] += sign * options.sigma * one[i];
      }
    }
    ACCORD_TRY(found, changes(in, perturbed));
    std::vector<double> differences;
    double squares = 0;
    for (size_t pair = 0; pair < options.pairs; ++pair) {
      double difference = 0;
      for (size_t trace = 0; trace < options.traces; ++trace)
        difference += found[2 * pair * options.traces + trace] - found[(2 * pair + 1) * options.traces + trace];
      differences.push_back(difference);
      squares += difference * difference;
    }
    const double scale = std::sqrt(squares / static_cast<double>(options.pairs));
    if (scale <= 0)
      return {}; // no perturbation changed anything
    const double left = 1 - static_cast<double>(trained.simulations) / static_cast<double>(options.budget);
    ++updates;
    for (size_t i = fixed; i < parameters.size(); ++i) {
      double gradient = 0;
      for (size_t pair = 0; pair < options.pairs; ++pair)
        gradient += differences[pair] / scale * noise[pair][i] / static_cast<double>(options.pairs);
      constexpr double kFirst = 0.9, kSecond = 0.99;
      first[i] = kFirst * first[i] + (1 - kFirst) * gradient;
      second[i] = kSecond * second[i] + (1 - kSecond) * gradient * gradient;
      const double mean = first[i] / (1 - std::pow(kFirst, updates)),
                   deviation = std::sqrt(second[i] / (1 - std::pow(kSecond, updates)));
      parameters[i] -= options.rate * left * mean / (deviation + 1e-8);
    }
    return {};
  }

  /// Keeps the parameters if none before were better on the episodes of validation.
  Result<void> validate(const std::vector<Episode> &validation, size_t generation) {
    ACCORD_TRY(found, changes(validation, {parameters}));
    for (double &change : found)
      change = std::expm1(change);
    const MeanInterval interval = bootstrapInterval(found, 0.95);
    trained.steps.push_back({generation, trained.simulations, interval.mean});
    if (generation > 0 && interval.mean >= trained.validation.mean)
      return {};
    best = parameters;
    trained.generation = generation;
    trained.validation = interval;
    return {};
  }

  const DrawSimulation &draw;
  const TrainingOptions options;
  SplitMix random;
  ThreadPool pool;
  Parameters parameters, best;
  Parameters first, second; ///< moments of Adam
  unsigned updates = 0;
  TrainedActor trained;
};

} // namespace

Result<TrainedActor> trainActor(const DrawSimulation &draw, const TrainingOptions &options) {
  return Trainer(draw, options).run();
}

} // namespace accord::jobs
