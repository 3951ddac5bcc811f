// What libFuzzer feeds: one function for each reader of files, in a file of its own.
#pragma once
#include "lib/support/Diagnostics.h"
#include "lib/support/Result.h"
#include "test/fuzz/readers/Mutation.h"
#include <string>
#include <string_view>
#include <vector>

namespace accord::fuzz {

/// Reads one input, right or wrong. Ends the program with `broken` where a promise does not hold.
using ReadInput = void (*)(std::string_view input);

struct Reader {
  const char *name;  ///< on the command line, and of its folder in corpus/
  const char *files; ///< pattern of lib/ whose coverage is reported
  ReadInput read;
  Mutate mutate; ///< beside libFuzzer's change of bytes; none where an input has no structure
};

/// The table of all readers.
extern const std::vector<Reader> kReaders;

/// Says which promise is broken and ends the program, as a crash does.
[[noreturn]] void broken(const std::string &promise);
/// Every diagnostic has a message and a place within a file; there is one if `refused`.
void expectPlaces(const Diagnostics &diags, bool refused);
/// The same of errors that travel as data.
void expectPlaces(const Errors &errors);
/// A message of a document names the file "fuzz", a line and a column: "fuzz:3:7: …".
void expectPlace(const std::string &message);

void readAccel(std::string_view input);
void readDnn(std::string_view input);
void readPlan(std::string_view input);
void readPlacement(std::string_view input);
void readMining(std::string_view input);
void readPrune(std::string_view input);
void readVote(std::string_view input);
void readHuggingFace(std::string_view input);
void readAlpa(std::string_view input);
void readLayers(std::string_view input);
void readPartitioning(std::string_view input);
void readPipedream(std::string_view input);
void readOnnx(std::string_view input);
void readMlir(std::string_view input);
void readTables(std::string_view input);
void readScaleSim(std::string_view input);
void readPsplib(std::string_view input);
void readCalibration(std::string_view input);
void readRankMessage(std::string_view input);

} // namespace accord::fuzz
