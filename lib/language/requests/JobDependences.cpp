#include "lib/language/requests/JobDependences.h"
#include "lib/language/requests/Jobs.h"
#include <fmt/format.h>
#include <set>

namespace accord {

constexpr size_t kShown = 8; ///< jobs of a cycle in its message

JobDependences::JobDependences(const std::vector<JobEntry> &entries, Diagnostics &diags)
    : entries(entries), diags(diags), after(entries.size()) {
  for (size_t i = 0; i < entries.size(); ++i)
    index[entries[i].job.name] = i;
}

std::optional<JobDependences::Members> JobDependences::membersOf(const JobName &name) {
  auto found = index.find(name.text);
  if (found == index.end()) {
    std::vector<std::string> known;
    for (const auto &[job, entry] : index)
      known.push_back(job);
    std::string meant = nearestShown(diags, name.text, known);
    auto error = diags.error(Code::UnknownName, name.range, fmt::format("no job '{}' in this block", name.text));
    error.suggest(meant);
    if (!meant.empty())
      error.note(entries[index[meant]].at, "declared here");
    return std::nullopt;
  }
  const JobEntry &entry = entries[found->second];
  int64_t members = std::max<int64_t>(entry.members, 1);
  if (!name.index)
    return Members{found->second, 0, members, &name};
  if (entry.members == 0) {
    diags.error(Code::WrongJobsBlock, name.range, fmt::format("job '{}' is no array", name.text))
        .note(entry.at, "declared here");
    return std::nullopt;
  }
  if (*name.index < 0 || *name.index >= members) {
    diags
        .error(Code::IndexOutOfRange, name.range,
               fmt::format("array '{}' has jobs 0 to {}, and this is {}", name.text, members - 1, *name.index))
        .note(entry.at, "declared here");
    return std::nullopt;
  }
  return Members{found->second, *name.index, *name.index + 1, &name};
}

bool JobDependences::resolve(const std::string &name, SourceRange at) {
  size_t before = diags.errors();
  for (size_t i = 0; i < entries.size(); ++i)
    for (const JobName &one : entries[i].after)
      if (auto members = membersOf(one))
        after[i].push_back(*members);
  findCycles();
  return fits(name, at) && diags.errors() == before;
}

bool JobDependences::fits(const std::string &name, SourceRange at) {
  __int128 jobs = 0, parts = 0;
  for (size_t i = 0; i < entries.size(); ++i) {
    const JobEntry &entry = entries[i];
    __int128 own = entry.job.profiled.size() + entry.job.deviceTypes.size() + entry.job.phases.size() +
                   entry.job.batches.noise.size() + entry.job.batches.of.size() + entry.job.choices.size();
    for (const Members &members : after[i])
      own += members.end - members.begin;
    int64_t members = std::max<int64_t>(entry.members, 1);
    jobs += members, parts += own * members;
  }
  if (jobs > kMaxJobs)
    diags.error(
        Code::WrongJobsBlock, at,
        fmt::format("'{}' has {} jobs, and at most {} are possible", name, static_cast<int64_t>(jobs), kMaxJobs));
  else if (parts > kMaxJobParts)
    diags.error(Code::WrongJobsBlock, at,
                fmt::format("the jobs of '{}' have {} dependences, configurations, device types and phases together, "
                            "and at most {} are possible",
                            name, static_cast<int64_t>(parts), kMaxJobParts));
  return jobs <= kMaxJobs && parts <= kMaxJobParts;
}

/// Of entries: all members of an array are after the same jobs, so there is a cycle of jobs where there is one of
/// entries.
void JobDependences::findCycles() {
  enum class State : uint8_t { Unseen, Open, Done };
  std::vector<State> state(entries.size(), State::Unseen);
  std::vector<bool> reported(entries.size());
  std::vector<std::pair<size_t, size_t>> path; // entries, and which of their `after` is looked at next
  for (size_t root = 0; root < entries.size(); ++root) {
    if (state[root] == State::Unseen)
      path.push_back({root, 0}), state[root] = State::Open;
    while (!path.empty()) {
      auto &[entry, next] = path.back();
      if (next == after[entry].size()) {
        state[entry] = State::Done;
        path.pop_back();
        continue;
      }
      size_t other = after[entry][next++].entry;
      if (state[other] == State::Unseen) {
        state[other] = State::Open;
        path.push_back({other, 0});
      } else if (state[other] == State::Open) {
        size_t first = path.size();
        std::vector<const Members *> cycle;
        bool known = false;
        do {
          --first;
          known |= reported[path[first].first];
          cycle.push_back(&after[path[first].first][path[first].second - 1]);
        } while (path[first].first != other);
        for (size_t i = first; i < path.size(); ++i)
          reported[path[i].first] = true;
        if (!known)
          report({cycle.rbegin(), cycle.rend()});
      }
    }
  }
}

/// Each of them leads to the entry of the next, and the last to that of the first.
void JobDependences::report(const std::vector<const Members *> &cycle) {
  const JobName &last = *cycle.back()->written;
  if (cycle.size() == 1) {
    diags.error(Code::WrongJobsBlock, last.range, fmt::format("job '{}' is after itself", last.print()));
    return;
  }
  std::string text = "'" + last.print() + "'";
  for (size_t i = 0; i < std::min(cycle.size(), kShown); ++i)
    text += fmt::format(" after '{}'", cycle[i]->written->print());
  if (cycle.size() > kShown)
    text += fmt::format(" after … ({} jobs)", cycle.size());
  auto error =
      diags.error(Code::WrongJobsBlock, cycle.front()->written->range, "jobs wait for each other in a cycle: " + text);
  for (size_t i = 1; i < std::min(cycle.size(), kShown); ++i)
    error.note(cycle[i]->written->range,
               fmt::format("'{}' is after '{}'", cycle[i - 1]->written->print(), cycle[i]->written->print()));
}

std::vector<std::string> JobDependences::namesOf(size_t entry) const {
  std::vector<std::string> names;
  std::set<std::string> seen;
  for (const Members &members : after[entry])
    for (int64_t member = members.begin; member < members.end; ++member) {
      const JobEntry &other = entries[members.entry];
      std::string name = other.members == 0 ? other.job.name : fmt::format("{}[{}]", other.job.name, member);
      if (seen.insert(name).second)
        names.push_back(std::move(name));
    }
  return names;
}

} // namespace accord
