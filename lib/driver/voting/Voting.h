// accord member, answer, ask: an ensemble that runs, after the command line is read.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace accord {

struct MemberCommandOptions {
  std::string name;                           ///< of the member
  std::string ensemble;                       ///< ensemble.json
  std::string listen;                         ///< ADDRESS:PORT; empty: as its URL says
  std::string votes;                          ///< of a stub: a table
  std::vector<std::string> engine;            ///< a program and its arguments; empty: a stub
  double constant = 0, median = 0, sigma = 0; ///< milliseconds of a stub
  int64_t parallel = 1, seed = 1;
  double lost = 0, changed = 0;
  bool checks = false; ///< looks at the files, and ends
};
/// Runs until SIGTERM or SIGINT. The exit status.
int serveMember(const MemberCommandOptions &options);

struct AnswerCommandOptions {
  std::string ensemble;                  ///< ensemble.json
  std::string listen = "127.0.0.1:8500"; ///< port 0 is any that is free
  int64_t open = 4096, connections = 512;
  bool checks = false; ///< looks at the file, and ends
};
/// Runs until SIGTERM or SIGINT. The exit status.
int serveAnswers(const AnswerCommandOptions &options);

struct AskCommandOptions {
  std::string server = "http://127.0.0.1:8500";
  std::string votes, inputs; ///< where inputs come from: one of them
  int64_t requests = 1000, connections = 16, seed = 1;
  double rate = 0;
  bool json = false;
};
/// The exit status: 1 where a request was not answered, too.
int ask(const AskCommandOptions &options);

} // namespace accord
