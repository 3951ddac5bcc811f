// Random problems of offers, and all their choices.
#pragma once
#include "lib/offers/problem/Offers.h"
#include "lib/support/SplitMix.h"
#include <algorithm>
#include <functional>
#include <map>

namespace accord::offers {

/// An option whose price, energy and carbon follow from its time.
inline OfferOption optionOf(unsigned offer, const InstanceOffer &of, int64_t instances, bool spot, double time,
                            double watts, double intensity) {
  OfferOption option;
  option.offer = offer, option.instances = instances, option.devices = instances * 8, option.spot = spot;
  option.rate = spot ? of.spotPrice : of.price;
  option.step = 1, option.steps = time;
  option.time = {time, time * 0.9, time * 1.25};
  const double rate = static_cast<double>(instances) * option.rate / 3600;
  option.price = {time * rate, option.time.low * rate, option.time.high * rate};
  option.watts = watts, option.energy = watts * time, option.intensity = intensity;
  option.carbon = option.energy * intensity;
  return option;
}

/// One to four trainings with up to seven options each; limits that are often tight, and offers of few instances.
inline OfferProblem randomProblem(SplitMix &random) {
  OfferProblem problem;
  const size_t offers = 1 + random.below(5);
  for (size_t i = 0; i < offers; ++i) {
    InstanceOffer &offer = problem.offers.emplace_back();
    offer.provider = "cloud", offer.instance = "instance-" + std::to_string(i), offer.devices = 8;
    offer.price = static_cast<double>(1 + random.below(40)), offer.spotPrice = offer.price / 2;
    offer.available = random.below(3) ? 0 : 1 + static_cast<int64_t>(random.below(6));
  }
  const size_t trainings = 1 + random.below(4);
  for (size_t t = 0; t < trainings; ++t) {
    OfferTraining &training = problem.trainings.emplace_back();
    training.name = "training-" + std::to_string(t);
    const size_t options = 1 + random.below(7);
    for (size_t o = 0; o < options; ++o) {
      const auto offer = static_cast<unsigned>(random.below(offers));
      const InstanceOffer &of = problem.offers[offer];
      const int64_t instances = 1 + static_cast<int64_t>(random.below(of.available > 0 ? of.available : 4));
      training.options.push_back(optionOf(
          offer, of, instances, random.below(2), 3600.0 * static_cast<double>(1 + random.below(60)),
          static_cast<double>(instances * (1 + random.below(5))) * 1000, static_cast<double>(random.below(4)) * 1e-5));
    }
  }
  problem.objective = static_cast<OfferObjective>(random.below(4));
  if (random.below(2))
    problem.limits.deadline = 3600.0 * static_cast<double>(5 + random.below(60));
  if (random.below(2))
    problem.limits.budget = static_cast<double>(10 + random.below(4000));
  if (random.below(2))
    problem.limits.watts = static_cast<double>(1 + random.below(40)) * 1000;
  problem.limits.sure = random.below(3) == 0;
  return problem;
}

struct WholeChoice {
  std::vector<unsigned> choice;
  double price = 0, time = 0, late = 0, watts = 0, energy = 0, carbon = 0;
};

inline bool keeps(const WholeChoice &one, const OfferLimits &limits) {
  return (limits.deadline <= 0 || (limits.sure ? one.late : one.time) <= limits.deadline) &&
         (limits.budget <= 0 || one.price <= limits.budget) && (limits.watts <= 0 || one.watts <= limits.watts);
}

/// Every combination of options that the numbers of instances allow.
inline std::vector<WholeChoice> allChoices(const OfferProblem &problem) {
  std::vector<WholeChoice> all;
  std::vector<unsigned> at(problem.trainings.size(), 0);
  for (bool more = true; more;) {
    WholeChoice one;
    one.choice = at;
    std::map<unsigned, int64_t> used;
    for (size_t t = 0; t < at.size(); ++t) {
      const OfferOption &option = problem.trainings[t].options[at[t]];
      one.price += option.price.value, one.watts += option.watts, one.energy += option.energy;
      one.carbon += option.carbon;
      one.time = std::max(one.time, option.time.value), one.late = std::max(one.late, option.time.high);
      used[option.offer] += option.instances;
    }
    if (std::ranges::all_of(used, [&](const auto &of) {
          const int64_t available = problem.offers[of.first].available;
          return available == 0 || of.second <= available;
        }))
      all.push_back(one);
    more = false;
    for (size_t t = 0; t < at.size() && !more; ++t)
      if (++at[t] < problem.trainings[t].options.size())
        more = true;
      else
        at[t] = 0;
  }
  return all;
}

inline double objectiveOf(const OfferProblem &problem, const WholeChoice &one) {
  switch (problem.objective) {
  case OfferObjective::Price:
    return one.price;
  case OfferObjective::Time:
    return one.time;
  case OfferObjective::Energy:
    return one.energy;
  case OfferObjective::Carbon:
    return one.carbon;
  }
  return 0;
}

} // namespace accord::offers
