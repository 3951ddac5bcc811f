#include "lib/microarchitecture/solve/CycleStack.h"

namespace accord::microarchitecture {
namespace {

constexpr size_t kKinds = size_t(Wait::WritePorts) + 1;

bool hasParts(Wait wait) { return wait > Wait::FetchLatency && wait != Wait::Window; }

} // namespace

size_t partsOf(Wait wait, const Microarchitecture &machine) {
  switch (wait) {
  case Wait::FetchWidth:
  case Wait::FetchBuffer:
  case Wait::Redirect:
  case Wait::Fence:
  case Wait::FetchLatency:
  case Wait::Window:
    return 1;
  case Wait::StageWidth:
  case Wait::StageFull:
  case Wait::StageLatency:
  case Wait::StageOrder:
    return machine.stages.size();
  case Wait::UnitFull:
  case Wait::UnitBusy:
  case Wait::Operand:
  case Wait::Execution:
    return machine.units.size();
  case Wait::OutputOrder:
  case Wait::AntiOrder:
  case Wait::ReadPorts:
  case Wait::WritePorts:
    return machine.registers.size();
  case Wait::Memory:
    return machine.storages.size();
  }
  return 1;
}

CycleStack::CycleStack(const Microarchitecture &machine) {
  first.push_back(0);
  for (size_t kind = 0; kind < kKinds; ++kind)
    first.push_back(first.back() + std::max<size_t>(partsOf(Wait(kind), machine), 1));
  cycles.resize(2 * first.back());
}

std::vector<WaitedFor> CycleStack::waits(std::vector<__int128> counts, Cycles end) const {
  const size_t half = first.back();
  if (waited > 0)
    counts[half + place(next)] -= waited;
  counts[half + first[size_t(Wait::Fence)]] -= fenced;
  __int128 beyond = std::max<Cycles>(frontier - end, 0);
  for (Wait wait : {Wait::Redirect, Wait::FetchBuffer, Wait::FetchWidth}) {
    __int128 &count = counts[first[size_t(wait)]];
    const __int128 taken = std::min(beyond, count);
    count -= taken, beyond -= taken;
  }
  std::vector<WaitedFor> all;
  for (size_t kind = 0; kind < kKinds; ++kind)
    for (size_t at = first[kind]; at < first[kind + 1]; ++at)
      if (counts[at] != 0 || counts[half + at] != 0)
        all.push_back(
            {Wait(kind), hasParts(Wait(kind)) ? Index(at - first[kind]) : kNone, counts[at], counts[half + at]});
  return all;
}

} // namespace accord::microarchitecture
