#include "lib/jobs/simulate/Tiresias.h"
#include <algorithm>

namespace accord::jobs {

JobPlacement placeOnEmptiest(std::vector<unsigned> &free, unsigned devices) {
  JobPlacement placement;
  while (devices > 0) {
    const auto emptiest = std::ranges::max_element(free); // the first of equals
    if (emptiest == free.end() || *emptiest == 0)
      return placement;
    const unsigned taken = std::min(*emptiest, devices);
    placement.push_back({static_cast<unsigned>(emptiest - free.begin()), taken});
    *emptiest -= taken;
    devices -= taken;
  }
  return placement;
}

std::vector<unsigned> freeDevices(const Cluster &cluster, const std::vector<JobPlacement> &placements) {
  std::vector<unsigned> free;
  for (const Server &server : cluster.servers)
    free.push_back(server.devices);
  for (const JobPlacement &placement : placements)
    for (const ServerShare &share : placement)
      free[share.server] -= share.devices;
  return free;
}

void Tiresias::updateQueues(double now, const std::vector<JobView> &jobs) {
  std::map<size_t, State> kept;
  for (const JobView &view : jobs) {
    auto [found, isNew] = states.try_emplace(view.job);
    State &state = found->second;
    if (isNew)
      queues[0].push_back(view.job);
    if (state.running) {
      state.executed += now - state.lastRound;
      const auto at = std::ranges::find(queues[0], view.job);
      if (at != queues[0].end() && state.executed * view.description->devices >= threshold) {
        queues[0].erase(at);
        queues[1].push_back(view.job);
      }
    }
    state.lastRound = now;
    kept.emplace(view.job, state);
  }
  states = std::move(kept);
  for (std::vector<size_t> &queue : queues)
    std::erase_if(queue, [&](size_t job) { return !states.contains(job); });
}

std::vector<JobPlacement> Tiresias::decide(double now, const Cluster &cluster, const std::vector<JobView> &jobs) {
  updateQueues(now, jobs);
  std::map<size_t, size_t> views; // of each job, its index in `jobs`
  for (size_t i = 0; i < jobs.size(); ++i)
    views[jobs[i].job] = i;
  int64_t left = cluster.devices();

  std::vector<JobPlacement> placements(jobs.size());
  std::vector<size_t> starting; // indices in `jobs`, in the order of the queues
  for (const std::vector<size_t> &queue : queues)
    for (size_t job : queue) {
      const size_t index = views[job];
      const unsigned devices = jobs[index].description->devices;
      states[job].running = devices <= left;
      if (devices > left)
        continue;
      left -= devices;
      placements[index] = jobs[index].placement;
      if (placements[index].empty())
        starting.push_back(index);
    }
  std::vector<unsigned> free = freeDevices(cluster, placements);
  for (size_t index : starting)
    placements[index] = placeOnEmptiest(free, jobs[index].description->devices);
  return placements;
}

} // namespace accord::jobs
