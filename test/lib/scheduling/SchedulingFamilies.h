// Small random scheduling problems, by family: what a solver has to get right.
#pragma once
#include "lib/scheduling/problem/SchedulingProblem.h"
#include <algorithm>
#include <array>
#include <numeric>
#include <random>

namespace accord::testing {

enum class Family : uint8_t {
  Projects,      ///< one mode each, shared resources, delays
  Memory,        ///< buffers of one or two memories, from roomy to infeasible
  Modes,         ///< one core, all cores, or another kind; what modes spend is limited
  Transfers,     ///< two places, and a link that is needed where maker and reader are apart
  Recomputation, ///< kept, or made again by an optional task
  Mixtures       ///< anything, tied by random pairings
};
constexpr std::array kFamilies = {Family::Projects,  Family::Memory,        Family::Modes,
                                  Family::Transfers, Family::Recomputation, Family::Mixtures};
inline const char *nameOf(Family family) {
  constexpr const char *kNames[] = {"Projects", "Memory", "Modes", "Transfers", "Recomputation", "Mixtures"};
  return kNames[static_cast<int>(family)];
}

/// The same problem for a seed wherever it is made. At most 9 tasks, durations of at most 4, delays
/// of at most 2; `check` finds nothing. A reader is always stated to be after the producer.
class FamilyMember {
public:
  using Id = SchedulingProblem::Id;

  FamilyMember(Family family, unsigned seed) {
    for (unsigned again = 0;; ++again) {
      problem = {};
      random.seed(1000003u * seed + 101u * static_cast<unsigned>(family) + 7919u * again);
      make(family);
      if (check(problem).empty())
        return;
    }
  }

  SchedulingProblem problem;

private:
  using Mode = SchedulingProblem::Mode;
  using Usage = SchedulingProblem::Usage;

  int64_t pick(int64_t min, int64_t max) {
    return min + static_cast<int64_t>(random() % static_cast<uint64_t>(max - min + 1));
  }
  bool chance(int percent) { return pick(1, 100) <= percent; }

  void make(Family family) {
    switch (family) {
    case Family::Projects:
      shared(pick(1, 3));
      tasks(pick(3, 7));
      return order(35);
    case Family::Memory:
      shared(pick(1, 2));
      tasks(pick(3, 6));
      order(25);
      return buffers(pick(1, 2));
    case Family::Modes:
      return modes();
    case Family::Transfers:
      return transfers();
    case Family::Recomputation:
      return recomputation();
    case Family::Mixtures:
      return mixtures();
    }
  }

  void shared(int64_t count) {
    for (int64_t r = 0; r < count; ++r)
      problem.addResource("r" + std::to_string(r), pick(1, 4));
  }

  std::vector<Usage> usage(int64_t duration) {
    std::vector<Usage> list;
    for (Id r = 0; r < problem.resources.size(); ++r)
      if (chance(60)) {
        int64_t capacity = problem.resources[r].capacity;
        list.push_back({r, pick(0, capacity + (duration > 0 && chance(3)))});
      }
    return list;
  }

  void tasks(int64_t count) {
    for (int64_t t = 0; t < count; ++t) {
      int64_t duration = chance(10) ? 0 : pick(1, 4);
      problem.addTask("t" + std::to_string(t), duration, usage(duration));
    }
  }

  /// Random precedences that follow a random order of the tasks.
  void order(int percent) {
    rank.resize(problem.tasks.size());
    std::iota(rank.begin(), rank.end(), Id{0});
    for (size_t i = rank.size(); i-- > 1;)
      std::swap(rank[i], rank[static_cast<size_t>(pick(0, static_cast<int64_t>(i)))]);
    for (size_t i = 0; i < rank.size(); ++i)
      for (size_t j = i + 1; j < rank.size(); ++j)
        if (chance(percent))
          problem.addPrecedence(rank[i], rank[j], chance(25) ? pick(1, 2) : 0);
  }

  /// Of tasks in `rank`: some make what some later ones read. Few roomy memories.
  void buffers(int64_t memories) {
    for (int64_t m = 0; m < memories; ++m)
      problem.memories.push_back({"m" + std::to_string(m), 0});
    for (size_t i = 0; i <= rank.size(); ++i) {
      if (!chance(i == rank.size() ? 40 : 75))
        continue;
      SchedulingProblem::Buffer buffer;
      buffer.name = "b" + std::to_string(i);
      buffer.bytes = pick(0, 5);
      buffer.memory = static_cast<Id>(pick(0, memories - 1));
      buffer.persistent = chance(15);
      bool input = i == rank.size();
      buffer.producer = input ? SchedulingProblem::kNoTask : rank[i];
      for (size_t j = input ? 0 : i + 1; j < rank.size(); ++j)
        if (chance(30)) {
          buffer.readers.push_back({rank[j], SchedulingProblem::kNoTask});
          if (!input)
            problem.addPrecedence(rank[i], rank[j]);
        }
      problem.buffers.push_back(std::move(buffer));
    }
    capacities();
  }

  /// From a little less than the largest buffer to a little less than all together.
  void capacities() {
    for (Id m = 0; m < problem.memories.size(); ++m) {
      int64_t largest = 0, sum = 0;
      for (const auto &buffer : problem.buffers)
        if (buffer.memory == m)
          largest = std::max(largest, buffer.bytes), sum += buffer.bytes;
      int64_t min = chance(10) ? std::max<int64_t>(0, largest - 1) : std::max(largest, sum / 2);
      problem.memories[m].capacity = pick(min, std::max(min, sum * 5 / 6));
    }
  }

  void modes() {
    Id cores = static_cast<Id>(pick(2, 3));
    for (Id c = 0; c < cores; ++c)
      problem.addResource("core" + std::to_string(c), 1);
    Id other = problem.addResource("vector", 1);
    int64_t count = pick(3, 5), min = 0, max = 0;
    problem.budgets.push_back({"energy", 0});
    for (int64_t t = 0; t < count; ++t) {
      SchedulingProblem::Task task;
      task.name = "t" + std::to_string(t);
      int64_t alone = pick(1, 4);
      auto add = [&](const char *name, int64_t duration, std::vector<Usage> list) {
        task.modes.push_back({name, duration, std::move(list), {{0, pick(1, 4)}}, false});
      };
      for (Id c = 0; c < cores; ++c)
        if (c == 0 || chance(60))
          add("one core", alone, {{c, 1}});
      if (chance(50)) {
        std::vector<Usage> all;
        for (Id c = 0; c < cores; ++c)
          all.push_back({c, 1});
        add("all cores", (alone + 1) / 2, all);
      }
      if (chance(40))
        add("vector", std::min<int64_t>(4, alone + pick(0, 2)), {{other, 1}});
      auto [cheap, dear] = std::minmax_element(task.modes.begin(), task.modes.end(), [](const Mode &a, const Mode &b) {
        return a.spends[0].amount < b.spends[0].amount;
      });
      min += cheap->spends[0].amount, max += dear->spends[0].amount;
      problem.tasks.push_back(std::move(task));
    }
    problem.budgets[0].capacity = pick(std::max<int64_t>(1, min - 1), max);
    order(30);
  }

  /// Where a buffer is, a pairing can say only of two tasks. So the transfer has a mode for each
  /// pair of places: it does not happen (or takes no time) where they are the same.
  void transfers() {
    for (const char *name : {"place0", "place1", "link"})
      problem.addResource(name, 1);
    int64_t count = pick(2, 4), edges = 0;
    for (int64_t t = 0; t < count; ++t) {
      SchedulingProblem::Task task;
      task.name = "t" + std::to_string(t);
      for (Id place = 0; place < 2; ++place)
        task.modes.push_back({"at " + std::to_string(place), pick(1, 4), {{place, 1}}, {}, false});
      problem.tasks.push_back(std::move(task));
    }
    for (Id from = 0; from < count; ++from)
      for (Id to = from + 1; to < count; ++to) {
        if (edges == 3 || !chance(60))
          continue;
        ++edges;
        Id transfer = static_cast<Id>(problem.tasks.size());
        int64_t duration = pick(1, 3);
        SchedulingProblem::Task task;
        task.name = "move" + std::to_string(from) + std::to_string(to);
        task.modes = {{"at 0", 0, {}, {}, true},
                      {"at 1", 0, {}, {}, false},
                      {"0 to 1", duration, {{2, 1}}, {}, false},
                      {"1 to 0", duration, {{2, 1}}, {}, false}};
        problem.tasks.push_back(std::move(task));
        problem.pairings.push_back({from, transfer, {{0, 0}, {0, 2}, {1, 1}, {1, 3}}});
        problem.pairings.push_back({transfer, to, {{0, 0}, {1, 1}, {2, 1}, {3, 0}}});
        problem.addPrecedence(from, transfer);
        problem.addPrecedence(transfer, to);
        problem.addPrecedence(from, to);
      }
  }

  void recomputation() {
    Id core = problem.addResource("core", pick(1, 2));
    problem.memories.push_back({"m", 0});
    auto buffer = [&](Id producer, std::vector<SchedulingProblem::Reader> readers) {
      problem.buffers.push_back(
          {"b" + std::to_string(problem.buffers.size()), pick(1, 4), 0, producer, std::move(readers), false});
    };
    constexpr Id kNoTask = SchedulingProblem::kNoTask;
    Id maker = problem.addTask("make", pick(1, 3), {{core, 1}});
    Id before = maker;
    std::vector<Id> forward = {maker};
    for (int64_t i = pick(1, 3); i-- > 0;) {
      Id next = problem.addTask("forward", pick(1, 2), {{core, 1}});
      problem.addPrecedence(before, next);
      buffer(before, {{next, kNoTask}});
      forward.push_back(before = next);
    }
    Id reader = problem.addTask("backward", pick(1, 3), {{core, 1}});
    problem.addPrecedence(before, reader);
    buffer(before, {{reader, kNoTask}});
    for (size_t i = 0; i + 1 < forward.size() && i < 2; ++i) {
      Id again = problem.addTask("again", 0, {});
      problem.tasks[again].modes = {{"not", 0, {}, {}, true}, {"", pick(0, 3), {{core, 1}}, {}, false}};
      if (chance(50))
        std::swap(problem.tasks[again].modes[0], problem.tasks[again].modes[1]);
      problem.buffers[i].readers.push_back({reader, again});
      problem.addPrecedence(forward[i], reader);
      problem.addPrecedence(forward[i], again, chance(30) ? 1 : 0);
      problem.addPrecedence(again, reader);
      buffer(again, {{reader, kNoTask}});
      problem.buffers.back().bytes = problem.buffers[i].bytes;
      if (i > 0) { // made again from what was kept, or made again
        problem.buffers[i - 1].readers.push_back({again, again - 1});
        problem.buffers[problem.buffers.size() - 2].readers.push_back({again, kNoTask});
        problem.addPrecedence(again - 1, again);
      }
    }
    capacities();
  }

  void mixtures() {
    shared(pick(1, 3));
    int64_t count = pick(3, 5);
    problem.budgets.push_back({"budget", pick(2, 8)});
    for (int64_t t = 0; t < count; ++t) {
      SchedulingProblem::Task task;
      task.name = "t" + std::to_string(t);
      for (int64_t m = pick(1, 3); m-- > 0;) {
        int64_t duration = chance(10) ? 0 : pick(1, 4);
        Mode mode{"", duration, usage(duration), {}, false};
        if (chance(40))
          mode.spends.push_back({0, pick(0, 3)});
        task.modes.push_back(std::move(mode));
      }
      if (chance(35))
        task.modes.insert(task.modes.begin() + pick(0, static_cast<int64_t>(task.modes.size())),
                          Mode{"not", 0, {}, {}, true});
      problem.tasks.push_back(std::move(task));
    }
    order(25);
    if (chance(70))
      buffers(1);
    for (auto &buffer : problem.buffers)
      for (auto &reader : buffer.readers)
        for (Id t = 0; t < problem.tasks.size(); ++t)
          if (problem.optional(t) && t != reader.task && t != buffer.producer && chance(30))
            reader.unless = t;
    for (int64_t i = pick(0, 2); i-- > 0;) {
      Id a = static_cast<Id>(pick(0, count - 1)), b = static_cast<Id>(pick(0, count - 1));
      if (a == b)
        continue;
      SchedulingProblem::Pairing pairing{a, b, {}};
      for (Id x = 0; x < problem.tasks[a].modes.size(); ++x)
        for (Id y = 0; y < problem.tasks[b].modes.size(); ++y)
          if (chance(70))
            pairing.allowed.push_back({x, y});
      problem.pairings.push_back(std::move(pairing));
    }
  }

  std::mt19937_64 random;
  std::vector<Id> rank; ///< tasks in an order that precedences follow
};

} // namespace accord::testing
