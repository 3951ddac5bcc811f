// How long a program of instructions takes on a machine.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace accord {

struct TimeOptions {
  std::string file;                         ///< a program as text, or assembly
  std::string machine;                      ///< FILE.accel, FILE.accel:NAME, or a name of the catalogue
  std::string microarchitecture;            ///< which one of it; or ""
  std::vector<std::string> registers, zero; ///< of assembly: "r1=4096", what they hold first; those that are 0 always
  int64_t maxEvaluated = 200'000'000;
  bool full = false; ///< every instruction is evaluated
  std::string trace; ///< file, or ""
  int64_t traced = 1000;
  std::string output; ///< folder, or ""
  bool json = false;
};

/// Times the program and prints the answer. Exit status: 0, or 1 where the input is wrong.
int timeProgramFile(const TimeOptions &options);

} // namespace accord
