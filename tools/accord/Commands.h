// The sub-commands of `accord`. Each `add…` declares its options and leaves its exit status in
// `status` when chosen.
#pragma once

namespace CLI {
class App;
}

namespace accord {

void addCompile(CLI::App &app, int &status);
void addEstimate(CLI::App &app, int &status);
void addLatency(CLI::App &app, int &status);
void addSchedule(CLI::App &app, int &status);
void addMine(CLI::App &app, int &status);
void addPartition(CLI::App &app, int &status);
void addVerify(CLI::App &app, int &status);
void addExplain(CLI::App &app, int &status);
void addDiff(CLI::App &app, int &status);
void addEmit(CLI::App &app, int &status);
void addFormat(CLI::App &app, int &status);
void addImport(CLI::App &app, int &status);
void addCalibrate(CLI::App &app, int &status);
void addPrune(CLI::App &app, int &status);
void addVote(CLI::App &app, int &status);

} // namespace accord
