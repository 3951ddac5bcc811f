#include "lib/microarchitecture/output/WaitText.h"
#include "lib/support/StableSort.h"
#include <fmt/format.h>

namespace accord::microarchitecture {

std::string waitText(Wait wait, Index of, const Microarchitecture &machine) {
  auto name = [&](const auto &parts) -> std::string { return of < 0 ? "another program" : "'" + parts[of].name + "'"; };
  switch (wait) {
  case Wait::FetchWidth:
    return "fetch takes no more in a cycle";
  case Wait::FetchBuffer:
    return "fetch buffer full";
  case Wait::Redirect:
    return "fetch waits for a branch";
  case Wait::Fence:
    return "fetch waits for a fence";
  case Wait::FetchLatency:
    return "in fetch";
  case Wait::StageWidth:
    return fmt::format("stage {} takes no more in a cycle", name(machine.stages));
  case Wait::StageFull:
    return fmt::format("stage {} full", name(machine.stages));
  case Wait::StageLatency:
    return fmt::format("in stage {}", name(machine.stages));
  case Wait::StageOrder:
    return fmt::format("behind an older one in stage {}", name(machine.stages));
  case Wait::UnitFull:
    return fmt::format("unit {} full", name(machine.units));
  case Wait::Window:
    return "window full";
  case Wait::UnitBusy:
    return fmt::format("unit {} busy", name(machine.units));
  case Wait::Operand:
    return fmt::format("operand from unit {}", name(machine.units));
  case Wait::OutputOrder:
    return fmt::format("older write to {}", name(machine.registers));
  case Wait::AntiOrder:
    return fmt::format("older read of {}", name(machine.registers));
  case Wait::ReadPorts:
    return fmt::format("read ports of {}", name(machine.registers));
  case Wait::Execution:
    return fmt::format("in unit {}", name(machine.units));
  case Wait::Memory:
    return fmt::format("data of {}", name(machine.storages));
  case Wait::WritePorts:
    return fmt::format("write ports of {}", name(machine.registers));
  }
  return "";
}

std::string waitTable(const InstructionTiming &timing, const Microarchitecture &machine, const TextStyle &style) {
  if (timing.waits.empty())
    return "";
  std::vector<WaitedFor> waits = timing.waits;
  stableSort(waits, [](const WaitedFor &a, const WaitedFor &b) {
    return std::pair(a.oldest, a.all) > std::pair(b.oldest, b.all);
  });
  TextTable table("lrrr", {"waits for, or is", "cycles of the oldest", "share", "of an instruction"});
  for (const WaitedFor &is : waits)
    table.row({waitText(is.wait, is.of, machine), fmt::format("{}", is.oldest),
               fmt::format("{:.1f} %", 100.0 * double(is.oldest) / double(std::max<Cycles>(timing.counted(), 1))),
               fmt::format("{:.2f}", double(is.all) / double(std::max<__int128>(timing.instructions, 1)))});
  return table.text(style);
}

} // namespace accord::microarchitecture
