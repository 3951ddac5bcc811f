// accord member, answer, ask: an ensemble that runs.
#include "lib/driver/voting/Voting.h"
#include "lib/driver/CommandLine.h"

namespace accord {
namespace {

const CommandEntry kMember("member", "Vote as one member of an ensemble that runs", [](Command &command) {
  auto options = Command::values<MemberCommandOptions>();
  command.option("name", options->name, "Of the member, as in ensemble.json").required();
  command.option("ensemble", options->ensemble, "ensemble.json, or its folder (accord emit ensemble)").required();
  command.option(
      "engine", options->engine,
      "Behind --: a program and its arguments. It reads lines {\"id\": N, \"input\": …} and writes lines {\"id\": "
      "N, \"label\": K, \"probabilities\": […]}, in any order");
  command.option(
      "--votes", options->votes,
      "Instead of a program: a stub that answers input N as sample N of a table of votes, of its column NAME");
  command.option("--listen", options->listen, "ADDRESS:PORT (default: that of its URL in ensemble.json)");
  command.option("--service-ms", options->constant, "Of a stub: a constant part of the time for an input")
      .showDefault();
  command
      .option("--service-median-ms", options->median, "Of a stub: median of a lognormal part of the time for an input")
      .showDefault();
  command.option("--service-sigma", options->sigma, "Of a stub: standard deviation of its logarithm").showDefault();
  command.option("--parallel", options->parallel, "Of a stub: inputs that are computed at once; 0: any number")
      .range(0, 1 << 20)
      .showDefault();
  command.option("--lost", options->lost, "Of a stub: share of inputs that are never answered").showDefault();
  command.option("--changed", options->changed, "Of a stub: share of votes that are wrong whatever the table says")
      .showDefault();
  command.option("--seed", options->seed, "Of a stub: of times, losses and changes").range(0, INT64_MAX).showDefault();
  command.flag("--check", options->checks, "Looks at the files, and ends");
  command.example(
      "accord member wide run/ensemble.json -- python3 engine.py wide.onnx\n"
      "         accord member wide run/ensemble.json --votes votes.csv --service-ms 2 --service-median-ms 1 "
      "--service-sigma 0.5");
  command.action([options] { return serveMember(*options); });
});

const CommandEntry
    kAnswer("answer", "Answer by the vote of an ensemble's members, with quorum and time-out", [](Command &command) {
      auto options = Command::values<AnswerCommandOptions>();
      command.option("ensemble", options->ensemble, "ensemble.json, or its folder (accord emit ensemble)").required();
      command.option("--listen", options->listen, "ADDRESS:PORT; port 0 is any that is free").showDefault();
      command.option("--max-open", options->open, "Requests that may be open at once; others are answered with 503")
          .range(1, 1 << 20)
          .showDefault();
      command
          .option("--max-connections", options->connections,
                  "To each member at once; above, its vote counts as refused")
          .range(1, 1 << 16)
          .showDefault();
      command.flag("--check", options->checks, "Looks at the file, and ends");
      command.example("accord answer run/ensemble.json --listen 0.0.0.0:8500\n"
                      "         curl -d '{\"id\": 1, \"input\": 17}' localhost:8500/answer");
      command.action([options] { return serveAnswers(*options); });
    });

const CommandEntry
    kAsk("ask", "Ask an ensemble that runs, and measure errors, missing answers and latency", [](Command &command) {
      auto options = Command::values<AskCommandOptions>();
      command.option("--server", options->server, "URL of accord answer").showDefault();
      OptionEntry votes = command.option("--votes", options->votes,
                                         "The table from which stubs answer: samples of it are asked, drawn by --seed");
      command
          .option("--inputs", options->inputs,
                  "A line {\"input\": …, \"truth\": LABEL} for each input, in turn; truth may be left out")
          .excludes(votes);
      command.option("--requests", options->requests, "How many").range(1, 1'000'000'000).showDefault();
      command.option("--connections", options->connections, "Requests at once, each after an answer")
          .range(1, 1 << 13)
          .showDefault();
      command
          .option("--rate", options->rate,
                  "Requests a second at random times (Poisson), whatever the answers; 0: each after "
                  "an answer")
          .showDefault();
      command.option("--seed", options->seed, "Of samples and times").range(0, INT64_MAX).showDefault();
      addJson(command, options->json);
      command.example("accord ask --votes votes.csv --requests 100000 --rate 500 --connections 256");
      command.action([options] { return ask(*options); });
    });

} // namespace
} // namespace accord
