// The driver: one command per question a user asks. Each registers itself in a file of its own.
#include "lib/driver/CommandLine.h"
#include "lib/driver/exploration/Ranks.h"
#include "tools/accord/Process.h"
#include "llvm/ADT/StringRef.h"
#include <algorithm>

int main(int argc, char **argv) {
  accord::prepareProcess();
  bool silenced = argc > 1 && llvm::StringRef(argv[1]) == "mine" && accord::silenceOtherRanks();
  int status = accord::closeOutput(accord::runCommandLine({argv + 1, argv + std::max(argc, 1)}));
  return silenced ? 0 : status; // mpirun would end the rank that says why
}
