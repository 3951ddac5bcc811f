// A machine with one multiply-accumulate unit, after the OMA of ACADL (arXiv 2409.08595), with the integer instructions
// that an assembly of loops needs. All latencies are 1.
#pragma once
#include "test/lib/microarchitecture/MachineCases.h"

namespace accord::microarchitecture {

inline Microarchitecture omaMachine() {
  Microarchitecture oma;
  oma.name = "oma", oma.window = 1;
  oma.fetch = {"ifs", 1, 1, 1, 0, {}};
  // name, reads, writes, immediates, loads, stores, redirects
  oma.opcodes = {
      {"mac", 3, 1, 0, 0, 0, false, {}},   {"load", 1, 1, 0, 1, 0, false, {}}, {"store", 2, 0, 0, 0, 1, false, {}},
      {"li", 0, 1, 1, 0, 0, false, {}},    {"addi", 1, 1, 1, 0, 0, false, {}}, {"bne", 2, 0, 0, 0, 0, true, {}},
      {"copy", 0, 0, 0, 1, 1, false, {}},  {"nop", 0, 0, 0, 0, 0, false, {}},  {"beq", 2, 0, 0, 0, 0, true, {}},
      {"blt", 2, 0, 0, 0, 0, true, {}},    {"add", 2, 1, 0, 0, 0, false, {}},  {"slli", 1, 1, 1, 0, 0, false, {}},
      {"fetch", 0, 1, 0, 1, 0, false, {}}, {"j", 0, 0, 1, 0, 0, true, {}}};
  oma.stages = {{"decode", 1, 1, cycles(1), {1}, {}, {}}, {"execute", 1, 1, cycles(1), {}, {0, 1}, {}}};
  Unit fu, mau;
  fu.name = "fu", mau.name = "mau";
  for (Index opcode : {0, 3, 4, 5, 7, 8, 9, 10, 11, 13})
    fu.operations.push_back({opcode, cycles(1), cycles(1), {}});
  for (Index opcode : {1, 2, 6, 12})
    mau.operations.push_back({opcode, cycles(1), cycles(1), {}});
  fu.reads = fu.writes = mau.reads = mau.writes = {0, 1};
  mau.loadsFrom = mau.storesTo = {0};
  oma.units = {fu, mau};
  oma.registers = {{"r", 16, 32, 0, 0, false, {}}, {"sp", 1, 32, 0, 0, false, {}}};
  Storage dmem;
  dmem.name = "dmem", dmem.begin = 0x1000, dmem.end = 0x10000;
  oma.storages = {dmem};
  return oma;
}

} // namespace accord::microarchitecture
