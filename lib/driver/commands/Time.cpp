// accord time: how long a program of instructions takes on a machine.
#include "lib/driver/CommandLine.h"
#include "lib/driver/instructions/TimeProgramFile.h"

namespace accord {

static const CommandEntry kEntry(
    "time", "How long a program of instructions takes on a core, and what its cycles wait for", [](Command &command) {
      auto options = Command::values<TimeOptions>();
      command.option("program", options->file, "A program as text, which begins with the word `program`, or assembly")
          .required();
      command
          .option("--on", options->machine,
                  "The machine: FILE.accel, FILE.accel:NAME, or a microarchitecture or accelerator of the catalogue")
          .required();
      command.option("--microarchitecture", options->microarchitecture,
                     "Which one of the machine, whatever the program says: a declaration, or the name of a core");
      command
          .option("--register", options->registers,
                  "Of assembly: what a register holds first, as in r1=0x1000 (may be repeated)")
          .oneWord();
      command.option("--zero", options->zero, "Of assembly: a register that is always 0, as in x0 (may be repeated)")
          .oneWord();
      command.option("--max-evaluated", options->maxEvaluated, "Instructions that may be evaluated before loops recur")
          .range(1, 1'000'000'000)
          .showDefault();
      command.flag("--full", options->full, "Evaluate every instruction, as if no loop recurred");
      OptionEntry trace =
          command.option("--trace", options->trace, "File for a trace of the first instructions, for ui.perfetto.dev");
      command.option("--trace-instructions", options->traced, "How many instructions the trace has")
          .range(1, 1'000'000)
          .showDefault();
      command
          .option(
              "-o,--output", options->output,
              "Folder for time.json, microarchitecture.html, program.txt, trace.json and what `accord verify` needs")
          .excludes(trace);
      addJson(command, options->json);
      command.example("accord time gemm.txt --on oma\n"
                      "         accord time loop.s --on chip.accel --microarchitecture core -o out/\n"
                      "A cycle is what the oldest instruction under way waits for, or is in: the table adds up "
                      "to all cycles.");
      command.action([options] { return timeProgramFile(*options); });
    });

} // namespace accord
