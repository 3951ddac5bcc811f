// Commands within this process, held against the program `accord`: the same bytes, whoever runs them, how often, and in
// which thread; a process that goes on whatever they answer.
//
//   accord-embedded PROGRAM COMMANDS OUT     every line of COMMANDS by both
//   accord-embedded misuse SEARCH OUT        what is wrong, and stops
//   accord-embedded builders EXAMPLES        descriptions that are built (Builders.cpp)
//   accord-embedded session                  commands from standard input, as Inputs/examples.py asks for them
#include "Builders.h"
#include "lib/driver/Accord.h"
#include "lib/driver/results/Estimate.h"
#include "lib/driver/results/Plan.h"
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <sys/resource.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

// Weak: there only where AddressSanitizer is linked in, whichever files have it.
// NOLINTNEXTLINE(bugprone-reserved-identifier): a name of the sanitizer.
extern "C" __attribute__((weak)) void __asan_init();

namespace fs = std::filesystem;

namespace {

int failures = 0;

void expect(bool holds, const std::string &what) {
  if (!holds)
    ++failures, std::printf("WRONG: %s\n", what.c_str());
}

std::string textOf(const fs::path &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// ------------------------------------------------------------- the same bytes

struct Line {
  std::string words;
  std::vector<std::string> arguments;
  bool writes = false;
  accord::Answer answer; ///< of the program
};

std::vector<Line> linesOf(const fs::path &path, const fs::path &out) {
  std::vector<Line> lines;
  std::ifstream file(path);
  for (std::string text; std::getline(file, text);) {
    if (text.empty() || text[0] == '#')
      continue;
    Line &line = lines.emplace_back();
    line.words = text;
    line.writes = text.find("{out}") != std::string::npos;
    std::istringstream words(text);
    for (std::string word; words >> word; line.arguments.push_back(word))
      for (const auto &[name, folder] : {std::pair("{out}", out), {"{here}", path.parent_path()}})
        if (size_t at = word.find(name); at != std::string::npos)
          word.replace(at, std::string(name).size(), folder.string());
  }
  return lines;
}

accord::Answer runProgram(const std::string &program, const std::vector<std::string> &arguments, const fs::path &out) {
  std::string command = "'" + program + "'";
  for (const std::string &argument : arguments)
    command += " '" + argument + "'";
  const std::string said = out.string() + ".said", told = out.string() + ".told";
  int status = std::system((command + " > '" + said + "' 2> '" + told + "' < /dev/null").c_str());
  accord::Answer answer;
  answer.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  answer.output = textOf(said), answer.messages = textOf(told);
  return answer;
}

void expectSame(const Line &line, const accord::Answer &answer, const char *when) {
  expect(answer.status == line.answer.status, line.words + " (" + when + "): status " + std::to_string(answer.status) +
                                                  ", the program ends with " + std::to_string(line.answer.status));
  expect(answer.output == line.answer.output, line.words + " (" + when + "): another output");
  expect(answer.messages == line.answer.messages, line.words + " (" + when + "): other messages\n" + answer.messages +
                                                      "--- the program:\n" + line.answer.messages);
  size_t told = 0, at = 0;
  for (const char *kind : {"error[A", "warning[A"})
    for (at = 0; (at = answer.messages.find(kind, at)) != std::string::npos; ++at)
      ++told;
  expect(answer.diagnostics.size() == told, line.words + ": " + std::to_string(answer.diagnostics.size()) +
                                                " diagnostics, and " + std::to_string(told) + " in the messages");
}

size_t expectSameFiles(const fs::path &a, const fs::path &b) {
  size_t files = 0;
  for (const auto &entry : fs::recursive_directory_iterator(a)) {
    if (!entry.is_regular_file())
      continue;
    ++files;
    const fs::path other = b / fs::relative(entry.path(), a);
    expect(fs::exists(other) && textOf(entry.path()) == textOf(other), "another file " + other.string());
  }
  return files;
}

int compare(const std::string &program, const fs::path &commands, const fs::path &out) {
  const fs::path byProgram = out.string() + ".program";
  for (const fs::path &folder : {out, byProgram})
    fs::remove_all(folder), fs::create_directories(folder);
  std::vector<Line> lines = linesOf(commands, out);
  for (Line &line : lines)
    line.answer = runProgram(program, line.arguments, out);
  fs::remove_all(byProgram), fs::rename(out, byProgram), fs::create_directories(out);
  for (const Line &line : lines)
    expectSame(line, accord::run(line.arguments), "in this process");
  const size_t files = expectSameFiles(byProgram, out);
  expect(files == expectSameFiles(out, byProgram), "other files");
  // What writes nothing, again, by two threads at once.
  auto again = [&](size_t first, std::vector<accord::Answer> &answers) {
    for (size_t i = first; i < lines.size(); i += 2)
      if (!lines[i].writes)
        answers[i] = accord::run(lines[i].arguments);
  };
  std::vector<accord::Answer> answers(lines.size());
  std::thread even(again, 0, std::ref(answers)), odd(again, 1, std::ref(answers));
  even.join(), odd.join();
  for (size_t i = 0; i < lines.size(); ++i)
    if (!lines[i].writes)
      expectSame(lines[i], answers[i], "in two threads");
  std::printf("%zu commands and %zu files are the same\n", lines.size(), files);
  return failures > 0;
}

// ------------------------------------------------------------------ session

/// Memory of this process, in KiB.
long residentKib() {
  std::ifstream file("/proc/self/statm");
  long all = 0, resident = 0;
  file >> all >> resident;
  return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

/// Each line of standard input is a folder and the words of a command, between them the separator of units. Answers
/// "STATUS BYTES BYTES KIB", then standard output and standard error.
int session() {
  for (std::string line; std::getline(std::cin, line);) {
    std::vector<std::string> words;
    std::istringstream parts(line);
    for (std::string word; std::getline(parts, word, '\x1f');)
      words.push_back(word);
    fs::current_path(words.front());
    const accord::Answer answer = accord::run({words.begin() + 1, words.end()});
    std::printf("%d %zu %zu %ld\n", answer.status, answer.output.size(), answer.messages.size(), residentKib());
    for (const std::string *text : {&answer.output, &answer.messages})
      std::fwrite(text->data(), 1, text->size(), stdout);
    std::fflush(stdout);
  }
  return 0;
}

// ------------------------------------------------------------------- misuse

const std::map<std::string, std::string> kFiles = {
    {"chip.accel",
     "accelerator chip {\n  memory hbm : dram { capacity = 32 GiB, bandwidth = 1 TB/s }\n"
     "  core tc : tensor { peak = {bf16: 100 TFLOP/s} }\n  core vu : vector { peak = {fp32: 10 TFLOP/s} }\n}\n"},
    {"parts/mlp.dnn", "import \"../chip.accel\"\nmodel mlp(width = 512) {\n  input x : float[width]\n"
                      "  input y : int32\n  loss cross_entropy(linear(x, out = 10), y)\n}\n"
                      "train t = mlp() on chip { batch = 64 }\n"}};

/// Commands that are wrong; each has to say so, and to leave the process as it was.
void tryWrong() {
  std::map<std::string, std::string> files = kFiles;
  files["empty.dnn"] = "";
  files["binary.dnn"] = std::string("\0\xff\xfe model", 9);
  files["deep.dnn"] = "let x = " + std::string(100000, '(');
  files["itself.dnn"] = "import \"itself.dnn\"\n";
  files["away.dnn"] = "import \"nothing/there.dnn\"\nlet a = 1\n";
  files["text.json"] = "{\"a\": [1, 2";
  const std::vector<std::vector<std::string>> wrong = {{"compile"},
                                                       {""},
                                                       {"", ""},

                                                       {"-x"},
                                                       {"compile", "empty.dnn"},
                                                       {"compile", "binary.dnn"},
                                                       {"compile", "deep.dnn"},
                                                       {"estimate", "itself.dnn"},
                                                       {"estimate", "away.dnn"},
                                                       {"estimate", "/"},
                                                       {"estimate", "no.dnn"},
                                                       {"estimate", "parts/mlp.dnn", "--target", "nobody"},
                                                       {"estimate", "parts/mlp.dnn", "--batch"},
                                                       {"estimate", "parts/mlp.dnn", "--batch", "-3"},
                                                       {"estimate", "parts/mlp.dnn", "--threads", "9999"},
                                                       {"compile", "parts/mlp.dnn", "--gap", "7"},
                                                       {"compile", "parts/mlp.dnn", "--time-limit", "soon"},
                                                       {"compile", "parts/mlp.dnn", "-o", "/proc/none"},
                                                       {"compile", "parts/mlp.dnn", "--until=never", "-o", "/tmp/x"},
                                                       {"compile", "parts/mlp.dnn", "--load-pass-plugin", "chip.accel"},
                                                       {"verify", "/nowhere"},
                                                       {"verify", "text.json"},
                                                       {"explain", "A9999"},
                                                       {"diff", "a", "b"},
                                                       {"import", "onnx", "chip.accel"},
                                                       {"import", "nothing"},
                                                       {"partition", "text.json"},
                                                       {"schema", "none"},
                                                       {"serve"},
                                                       {"watch", "3"},
                                                       {"top"},
                                                       {"run", "--wait", "x.py"},
                                                       {"mine", "parts/mlp.dnn", "--space", "no.accel"},
                                                       {std::string(100000, 'a')},
                                                       {"estimate", std::string("a\0b", 3)}};
  for (const std::vector<std::string> &arguments : wrong) {
    accord::Answer answer = accord::run(arguments, {files});
    std::string words;
    for (const std::string &argument : arguments)
      words += argument.substr(0, 40) + " ";
    expect(answer.status == 1, words + ": status " + std::to_string(answer.status));
    expect(!answer.diagnostics.empty() && answer.diagnostics.front().isError, words + ": no error is told");
    expect(!answer.messages.empty() && !answer, words + ": no message");
  }
  std::printf("%zu wrong commands are refused\n", wrong.size());
}

/// Texts stand for files, hide those on disk, and name one another.
void tryTexts(const fs::path &out) {
  accord::Answer answer = accord::run({"estimate", "./parts/../parts/mlp.dnn", "--json"}, {kFiles});
  expect(answer.status == 0, "texts: " + answer.messages);
  const accord::Document document = answer.document();
  expect(document.integer("microbatch") > 0 && document.number("operations[0].time_s") > 0, "numbers of a document");
  expect(document.text("command") == "estimate" && document.has("totals") && !document.has("total"),
         "texts of a document");
  expect(document.size("operations") == document.at("operations").size(), "lists of a document");
  for (const char *path : {"total", "operations[99999]", "operations[x]", "operations.time_s", "command.a", "[0]", "."})
    try {
      (void)document.number(path);
      expect(false, std::string("a document has no ") + path);
    } catch (const accord::NoSuchValue &error) {
      std::printf("%s\n", error.what());
    }
  const auto estimate = accord::results::Estimate::of(document);
  expect(estimate.operations.size() == document.size("operations"), "operations of a struct");
  expect(estimate.operations[0].time_s == document.number("operations[0].time_s"), "a time of a struct");
  const auto plan = accord::run({"compile", "parts/mlp.dnn", "-o", out.string(), "--json"}, {kFiles}).document();
  expect(accord::results::Plan::of(plan).step_time_s == plan.number("step_time_s"), "a plan as a struct");
  try {
    (void)accord::results::Plan::of(document);
    expect(false, "an estimate is no plan");
  } catch (const accord::NoSuchValue &) {
  }
  std::map<std::string, std::string> files = kFiles;
  files["chip.accel"].replace(files["chip.accel"].find("100 TFLOP"), 3, "200");
  const accord::Document faster = accord::run({"estimate", "parts/mlp.dnn", "--json"}, {files}).document();
  expect(faster.number("totals.flops") == document.number("totals.flops"), "another chip");
  expect(accord::run({"estimate", "parts/mlp.dnn"}).status == 1, "texts of another run");
  files["parts/mlp.dnn"] = "train t = mlp() on chip { batch = 64 }\n";
  answer = accord::run({"estimate", "parts/mlp.dnn"}, {files});
  expect(answer.diagnostics.size() == 2 && answer.diagnostics[0].place.file == "parts/mlp.dnn" &&
             answer.diagnostics[0].place.line == 1 && answer.diagnostics[0].place.column == 11,
         "the place of an error: " + answer.messages);
}

/// A search that is long stops when it is asked to, and the next command is not stopped.
void tryStops(const std::string &search, const fs::path &out) {
  for (int wait : {0, 100, 700}) {
    const auto begin = std::chrono::steady_clock::now();
    accord::RunOptions options;
    options.stop = [&] { return std::chrono::steady_clock::now() - begin >= std::chrono::milliseconds(wait); };
    accord::Answer answer = accord::run({"compile", search, "-o", out.string(), "--json"}, options);
    expect(answer.stopped, "a search that was stopped");
    expect(answer.status == 0 || answer.status == 2 || answer.status == 4, "status " + std::to_string(answer.status));
    if (answer.status == 0)
      expect(accord::run({"verify", out.string()}).status == 0, "the best so far holds");
  }
  accord::RunOptions limited;
  accord::Answer answer = accord::run({"compile", search, "-o", out.string(), "--time-limit", "0.1 s"}, limited);
  expect(answer.stopped && (answer.status == 0 || answer.status == 4), "a limit of time");
  expect(!accord::run({"estimate", "parts/mlp.dnn"}, {kFiles}).stopped, "a command after one that was stopped");
  std::printf("searches stop\n");
}

/// What a host throws comes back to it, and the next command knows nothing of it.
void tryThrows(const std::string &search, const fs::path &out) {
  accord::RunOptions options;
  options.stop = []() -> bool { throw std::domain_error("of the host"); };
  try {
    (void)accord::run({"compile", search, "-o", out.string(), "--json"}, options);
    expect(false, "a host that throws");
  } catch (const std::domain_error &error) {
    std::printf("thrown again: %s\n", error.what());
  }
  expect(accord::run({"estimate", "parts/mlp.dnn"}, {kFiles}).status == 0, "a command after one that threw");
}

/// With little memory a command ends with status 3 and says so, and with more it is done; the process lives. It
/// begins with these: later ones find memory that is still there.
void tryMemory(const std::string &small, const fs::path &out) {
  if (__asan_init != nullptr)
    return; // it reserves more memory than any limit
  int done = 0, refused = 0;
  for (long mebibytes : {4, 16, 24, 32, 1024}) {
    const pid_t child = fork();
    if (child == 0) {
      std::ifstream file("/proc/self/statm");
      rlim_t pages = 0;
      file >> pages;
      const rlim_t limit = pages * sysconf(_SC_PAGESIZE) + (static_cast<rlim_t>(mebibytes) << 20);
      const rlimit bounds{limit, limit};
      setrlimit(RLIMIT_AS, &bounds);
      accord::Answer answer = accord::run({"compile", small, "-o", out.string(), "--threads", "2"});
      const bool isSaid = answer.status == 0 || answer.messages.starts_with("accord: error: ");
      _exit(isSaid ? answer.status : 9);
    }
    int status = 0;
    waitpid(child, &status, 0);
    const int exit = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    done += exit == 0, refused += exit == 3;
    // Where LLVM itself gets no memory, it aborts.
    expect(exit == 0 || exit == 3 || exit == -SIGABRT, std::to_string(mebibytes) + " MiB: " + std::to_string(exit));
  }
  expect(done > 0 && refused > 0, "limits of memory");
}

int misuse(const std::string &search, const fs::path &out) {
  struct sigaction interrupt{}, terminate{};
  sigset_t before, after;
  std::signal(SIGINT, [](int) {});
  pthread_sigmask(SIG_SETMASK, nullptr, &before);
  const fs::path folder = fs::current_path();
  tryMemory(fs::path(search).parent_path() / "../01-first-plan/gpt2_xl.dnn", out);
  tryTexts(out);
  tryWrong();
  tryStops(search, out);
  tryThrows(search, out);
  pthread_sigmask(SIG_SETMASK, nullptr, &after);
  sigaction(SIGINT, nullptr, &interrupt), sigaction(SIGTERM, nullptr, &terminate);
  bool isSame = true;
  for (int signal = 1; signal < 32; ++signal)
    isSame &= sigismember(&before, signal) == sigismember(&after, signal);
  expect(isSame, "signals are blocked");
  expect(interrupt.sa_handler != SIG_DFL && terminate.sa_handler == SIG_DFL, "handlers of signals");
  expect(fs::current_path() == folder, "another folder");
  std::printf("the process is as it was\n");
  return failures > 0;
}

} // namespace

int main(int argc, char **argv) {
  if (argc == 4 && std::string(argv[1]) == "misuse")
    return misuse(argv[2], argv[3]);
  if (argc == 3 && std::string(argv[1]) == "builders")
    return tryBuilders(argv[2]);
  if (argc == 2 && std::string(argv[1]) == "session")
    return session();
  if (argc == 4)
    return compare(argv[1], fs::absolute(argv[2]), fs::absolute(argv[3]));
  std::fputs("usage: accord-embedded PROGRAM COMMANDS OUT | accord-embedded misuse SEARCH.dnn OUT | accord-embedded "
             "builders EXAMPLES"
             " | accord-embedded session\n",
             stderr);
  return 2;
}
