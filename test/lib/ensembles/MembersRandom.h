// Random members and devices, and the best ensemble of them by trying everything.
#pragma once
#include "lib/ensembles/solve/ChooseMembers.h"
#include <algorithm>
#include <bit>
#include <limits>
#include <map>
#include <random>

namespace accord {

struct MembersRandom {
  std::mt19937 engine;
  explicit MembersRandom(unsigned seed) : engine(seed) {}
  int64_t operator()(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(engine() % static_cast<uint64_t>(high - low + 1));
  }

  MemberProblem problem() {
    MemberProblem p;
    p.objective = static_cast<MemberObjective>((*this)(0, 3));
    auto devices = (*this)(1, 3), kinds = (*this)(1, 3), left = int64_t(4);
    for (int64_t d = 0; d < devices; ++d) {
      MemberProblem::Device device;
      device.name = std::string(1, static_cast<char>('p' + d));
      device.count = (*this)(1, std::max<int64_t>(1, left - (devices - 1 - d)));
      left -= device.count;
      device.memory = (*this)(0, 3) == 0 ? 0 : (*this)(5, 40);
      device.pricePerHour = static_cast<double>((*this)(0, 5));
      p.devices.push_back(device);
    }
    for (int64_t k = 0; k < kinds; ++k) {
      MemberProblem::Kind kind;
      kind.name = std::string(1, static_cast<char>('a' + k));
      for (const MemberProblem::Device &device : p.devices) {
        auto &alternatives = kind.alternatives.emplace_back();
        for (int64_t w = (*this)(0, 9) == 0 ? 0 : (*this)(1, 2); w > 0; --w) {
          MemberCost alternative;
          alternative.devices = (*this)(0, 4) == 0 ? (*this)(1, device.count) : 1;
          alternative.time = (*this)(0, 5) == 0 ? 7 : (*this)(0, 30);
          alternative.state = (*this)(0, 12), alternative.activations = (*this)(0, 12);
          alternative.joules = static_cast<double>((*this)(0, 20));
          alternatives.push_back(alternative);
        }
      }
      p.kinds.push_back(kind);
    }
    p.sizes = (*this)(0, 2) ? std::vector<unsigned>{1, 3} : std::vector<unsigned>{3};
    if (left >= 1 && kinds < 3 && (*this)(0, 2) == 0)
      p.sizes.push_back(5);
    if ((*this)(0, 7))
      p.max = Rational((*this)(5, 95)) / Rational(100);
    p.deviceFailures = (*this)(0, 3) == 0 ? static_cast<unsigned>((*this)(1, 2)) : 0;
    return p;
  }
};

/// An error of each multiset, of hundredths, that looks like none; more members have less on
/// average. By names, so that it does not depend on the order of kinds.
inline VoteError errorByNames(const MemberProblem &problem, unsigned seed) {
  std::vector<std::string> names;
  for (const MemberProblem::Kind &kind : problem.kinds)
    names.push_back(kind.name);
  return [names, seed](const std::vector<unsigned> &counts) -> std::optional<Rational> {
    std::map<std::string, unsigned> byName;
    unsigned size = 0;
    for (size_t k = 0; k < counts.size(); ++k)
      byName[names[k]] = counts[k], size += counts[k];
    uint64_t hash = seed;
    for (auto &[name, count] : byName)
      hash = (hash * 1000003 + static_cast<unsigned>(name[0]) * 31 + count) * 0x9e3779b97f4a7c15;
    hash >>= 40;
    if (hash % 23 == 0)
      return std::nullopt;
    return Rational(static_cast<int64_t>(hash % 100 / size)) / Rational(100);
  };
}

/// The least value of a size among ensembles that keep the requirement; infinite: there is none.
/// Without a requirement the least error, then the value.
struct MembersTried {
  Rational error = 2;
  double value = std::numeric_limits<double>::infinity();
};

class MembersBruteForce {
public:
  MembersBruteForce(const MemberProblem &problem, VoteError error) : p(problem), error(error) {}

  MembersTried best(unsigned size) {
    found = {};
    kinds.clear();
    chooseKinds(size, 0);
    return found;
  }

private:
  struct Member {
    unsigned kind, device;
    std::vector<int64_t> on;
    const MemberCost *alternative;
  };

  void chooseKinds(unsigned size, unsigned from) {
    if (kinds.size() == size) {
      std::vector<unsigned> counts = countsOf(kinds);
      whole = error(counts);
      if (whole && (!p.max || *whole <= *p.max))
        place();
      return;
    }
    for (unsigned k = from; k < p.kinds.size(); ++k) {
      kinds.push_back(k);
      chooseKinds(size, k);
      kinds.pop_back();
    }
  }
  std::vector<unsigned> countsOf(const std::vector<unsigned> &of) const {
    std::vector<unsigned> counts(p.kinds.size());
    for (unsigned k : of)
      ++counts[k];
    return counts;
  }

  void place() {
    if (members.size() == kinds.size()) {
      value();
      return;
    }
    unsigned k = kinds[members.size()];
    for (unsigned d = 0; d < p.devices.size(); ++d)
      for (const MemberCost &alternative : p.kinds[k].alternatives[d])
        for (int64_t set = 1; set < int64_t(1) << p.devices[d].count; ++set) {
          Member member{k, d, {}, &alternative};
          for (int64_t i = 0; i < p.devices[d].count; ++i)
            if (set >> i & 1)
              member.on.push_back(i);
          if (static_cast<int64_t>(member.on.size()) != alternative.devices)
            continue;
          members.push_back(member);
          place();
          members.pop_back();
        }
  }

  void value() {
    double joules = 0, rent = 0, time = 0, memory = 0;
    std::vector<std::vector<size_t>> used; // members by device
    for (unsigned d = 0; d < p.devices.size(); ++d)
      for (int64_t i = 0; i < p.devices[d].count; ++i) {
        double t = 0, state = 0, activations = 0;
        std::vector<size_t> here;
        bool group = false;
        for (size_t m = 0; m < members.size(); ++m)
          if (members[m].device == d && std::ranges::count(members[m].on, i)) {
            const MemberCost &alternative = *members[m].alternative;
            t += static_cast<double>(alternative.time), state += static_cast<double>(alternative.state);
            activations = std::max(activations, static_cast<double>(alternative.activations));
            group |= alternative.devices > 1;
            here.push_back(m);
          }
        double needs = state + activations;
        if ((group && here.size() > 1) || (p.devices[d].memory && needs > static_cast<double>(p.devices[d].memory)))
          return;
        time = std::max(time, t), memory = std::max(memory, needs);
        if (!here.empty())
          rent += p.devices[d].pricePerHour, used.push_back(here);
      }
    for (const Member &member : members)
      joules += member.alternative->joules;
    double price = rent * time / 3.6e15;
    double v = p.objective == MemberObjective::StepTime ? time
               : p.objective == MemberObjective::Energy ? joules
               : p.objective == MemberObjective::Memory ? memory
                                                        : price;
    if (p.max ? v < found.value : *whole < found.error || (*whole == found.error && v < found.value))
      if (!p.max || !p.deviceFailures || survives(used))
        found = {*whole, v};
  }

  bool survives(const std::vector<std::vector<size_t>> &used) {
    for (uint64_t set = 0; set < uint64_t(1) << used.size(); ++set) {
      auto deviceFailures = static_cast<size_t>(std::popcount(set));
      if (deviceFailures != std::min<size_t>(p.deviceFailures, used.size()))
        continue;
      std::vector<bool> gone(members.size());
      for (size_t u = 0; u < used.size(); ++u)
        if (set >> u & 1)
          for (size_t m : used[u])
            gone[m] = true;
      std::vector<unsigned> left;
      for (size_t m = 0; m < members.size(); ++m)
        if (!gone[m])
          left.push_back(members[m].kind);
      Rational min = 1;
      for (uint64_t vote = 1; vote < uint64_t(1) << left.size(); ++vote)
        if (std::popcount(vote) % 2) {
          std::vector<unsigned> votingMembers;
          for (size_t i = 0; i < left.size(); ++i)
            if (vote >> i & 1)
              votingMembers.push_back(left[i]);
          if (auto e = error(countsOf(votingMembers)); e && *e < min)
            min = *e;
        }
      if (min > *p.max)
        return false;
    }
    return true;
  }

  const MemberProblem &p;
  VoteError error;
  std::vector<unsigned> kinds;
  std::vector<Member> members;
  std::optional<Rational> whole;
  MembersTried found;
};

} // namespace accord
