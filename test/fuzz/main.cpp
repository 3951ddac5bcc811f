// accord-fuzz: random sentences of the grammars, random models and mutated real programs, all in
// one process; see README.md.
#include "test/fuzz/Crash.h"
#include "test/fuzz/Grammar.h"
#include "test/fuzz/ModelWriter.h"
#include "test/fuzz/Mutator.h"
#include "test/fuzz/Properties.h"
#include "test/support/SourcePath.h"
#include <CLI/CLI.hpp>
#include <chrono>
#include <fmt/format.h>
#include <fstream>
#include <sstream>
#include <unistd.h>

using namespace accord::fuzz;

namespace {

const std::string kSource = accord::sourcePath("");

struct Options {
  uint64_t seed = 1;
  double seconds = 0;
  uint64_t iterations = 0;
  bool plans = false;
  unsigned hang = 20;
  size_t keepGoing = 1;
  std::string crashes = "fuzz-crashes";
  std::string print;
  std::vector<std::string> corpus = {kSource + "/lib/catalog", kSource + "/examples", kSource + "/docs"};
  std::vector<std::string> replay;
};

Grammar grammar(const char *which) {
  Grammar result;
  for (const char *name : {which, "Common"}) {
    std::ifstream in(kSource + "/grammar/" + name + ".g4");
    std::ostringstream text;
    text << in.rdbuf();
    result.read(text.str());
  }
  return result;
}

/// Everything that decides on iteration `i` of a seed is here: any one can be made again alone.
Program make(const Options &options, uint64_t i, const Corpus &corpus, const Grammar &accel, const Grammar &dnn) {
  uint64_t seed = options.seed;
  Random random(seed * 0x9e3779b97f4a7c15ull + i);
  Program result;
  const Grammar *from = nullptr;
  if (random.percent(options.plans ? 0 : 20)) {
    result.kind = Kind::Dnn;
    result.text = writeModel(random);
    if (random.percent(10))
      result.text = mutate(random, corpus, result.text);
    result.name = fmt::format("crash-{}-{}{}", seed, i, extension(result.kind));
    return result;
  }
  if (random.percent(options.plans ? 0 : 30)) {
    result.kind = random.percent(50) ? Kind::Dnn : Kind::Accel;
    from = result.kind == Kind::Dnn ? &dnn : &accel;
  }
  if (from) {
    result.text = from->sentence(random, corpus.words, 1 + random.below(random.percent(90) ? 60 : 4000));
    if (random.percent(30))
      result.text = mutate(random, corpus, result.text);
  } else {
    const Program &original = random.pick(corpus.programs);
    result.kind = original.kind;
    if (random.percent(3) && result.kind != Kind::Plan) // one language taken for the other
      result.kind = result.kind == Kind::Dnn ? Kind::Accel : Kind::Dnn;
    result.text = mutate(random, corpus, original.text);
  }
  result.name = fmt::format("crash-{}-{}{}", seed, i, extension(result.kind));
  return result;
}

int replay(const Options &options) {
  int status = 0;
  for (const std::string &path : options.replay) {
    std::ifstream in(path, std::ios::binary);
    std::ostringstream text;
    text << in.rdbuf();
    std::optional<Kind> kind = kindOf(path);
    if (!in || !kind) {
      fmt::print(stderr, "accord-fuzz: error: '{}' is no readable .accel, .dnn or .json file\n", path);
      return 1;
    }
    Program program{path, *kind, text.str()};
    Verdict verdict = check(program);
    fmt::print("{}: {}\n", path,
               !verdict.broken.empty() ? verdict.broken
               : verdict.planned       ? "planned"
               : verdict.accepted      ? "accepted"
                                       : "refused");
    status |= !verdict.broken.empty();
  }
  return status;
}

int fuzz(const Options &options) {
  Corpus corpus;
  for (const std::string &path : options.corpus)
    corpus.add(path);
  std::erase_if(corpus.programs, [&](const Program &p) { return (p.kind == Kind::Plan) != options.plans; });
  corpus.finish();
  Grammar accel = grammar("Accel"), dnn = grammar("Dnn");
  if (corpus.empty()) {
    fmt::print(stderr, "accord-fuzz: error: nothing to start from below the corpus folders\n");
    return 1;
  }
  if (accel.empty() || dnn.empty()) {
    fmt::print(stderr, "accord-fuzz: error: no grammar in '{}/grammar'\n", kSource);
    return 1;
  }
  if (!options.print.empty()) {
    fmt::print("{}", make(options, std::stoull(options.print), corpus, accel, dnn).text);
    return 0;
  }
  guard(options.crashes, options.hang);
  using Clock = std::chrono::steady_clock;
  auto begin = Clock::now(), shown = begin;
  size_t broken = 0, accepted = 0, planned = 0;
  uint64_t i = 0;
  auto seconds = [&] { return std::chrono::duration<double>(Clock::now() - begin).count(); };
  while ((!options.iterations || i < options.iterations) && (options.iterations || seconds() < options.seconds)) {
    Program program = make(options, i, corpus, accel, dnn);
    underTest(program.text, program.name);
    Verdict verdict = check(program);
    accepted += verdict.accepted;
    planned += verdict.planned;
    ++i;
    if (!verdict.broken.empty()) {
      fmt::print("seed {}, iteration {}: {}\n", options.seed, i - 1, verdict.broken);
      keep();
      if (++broken == options.keepGoing)
        break;
    }
    if (isatty(1) && Clock::now() - shown > std::chrono::milliseconds(500)) {
      shown = Clock::now();
      fmt::print("\r\033[K{} inputs, {} accepted, {} planned, {:.0f} s", i, accepted, planned, seconds());
      std::fflush(stdout);
    }
  }
  fmt::print("{}{} inputs, {} accepted, {} planned, {} broken promises\n", isatty(1) ? "\r\033[K" : "", i, accepted,
             planned, broken);
  rmdir(options.crashes.c_str()); // only if nothing is in it
  return broken != 0;
}

} // namespace

int main(int argc, char **argv) {
  Options options;
  CLI::App app{"Feeds random and mutated programs to Accord's front end; exit status 1 if one "
               "crashes it or breaks a promise"};
  app.add_option("--seconds", options.seconds, "run this long (default 20, unless --iterations is given)");
  app.add_option("--iterations", options.iterations, "run this many inputs");
  app.add_option("--seed", options.seed, "the same seed makes the same inputs")->capture_default_str();
  app.add_option("--crashes", options.crashes, "folder for inputs that fail")->capture_default_str();
  app.add_option("--corpus", options.corpus, "files and folders to start from (default: catalogue, examples, docs)");
  app.add_flag("--plans", options.plans,
               "feed plan.json files to what reads, verifies and explains plans; needs --corpus");
  app.add_option("--hang", options.hang, "an input that takes more seconds than this fails")->capture_default_str();
  app.add_option("--keep-going", options.keepGoing, "end after this many broken promises")->capture_default_str();
  app.add_option("--print", options.print, "write input N of the seed to standard output and end");
  app.add_option("files", options.replay, "check these files instead, one line each");
  CLI11_PARSE(app, argc, argv);
  if (!options.iterations && options.seconds <= 0)
    options.seconds = 20;
  return options.replay.empty() ? fuzz(options) : replay(options);
}
