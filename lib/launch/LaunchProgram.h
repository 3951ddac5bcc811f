// Launchers of programs that build and train a transformer by themselves: what they have in common.
#pragma once
#include "lib/launch/Launch.h"

namespace accord {

/// A program that trains by a plan, and what it is given.
struct LaunchProgram {
  struct Variable {
    std::string name, what;
  };
  struct File {
    std::string name, text; ///< `${NAME}` stands for a needed variable; else no "$", "`" or backslash
  };
  std::string usage;                  ///< variables of the example in the script's head, "TITAN=/path "
  std::vector<Variable> needed;       ///< what the plan does not say, and has to be set
  std::vector<File> files;            ///< written into "$folder"
  bool meets = true;                  ///< the script asks for NODE_RANK and MASTER_ADDR
  std::vector<std::string> exports;   ///< lines of the script before the program starts
  std::vector<std::string> start;     ///< words of the command, a line each
  std::vector<std::string> arguments; ///< of the program, one for each element with its value
  std::vector<std::string> remarks;   ///< differences to the plan, with what they take

  /// "${NAME}", after it is noted that it has to be set. `what` is of the model that `plan` is for.
  std::string ask(const PlacementPlan &plan, const std::string &name, const std::string &what);
};

/// Programs by launcher; the same errors as `launchText`. Facts of each are in its file.
/// - `accelerateProgram`: Accelerate 1.3 or newer, Transformers 4.51 or newer. One stage, no tensor parallel degree;
/// DDP
///   for ZeRO 0, FSDP2 for ZeRO 2 and 3.
/// - `deepSpeedProgram`: DeepSpeed 0.15 or newer, of the same. One stage, no tensor parallel degree, any ZeRO.
/// - `titanProgram`: torchtitan 0.2.
/// - `maxTextProgram`: MaxText of 2026.
Result<LaunchProgram> accelerateProgram(const PlacementPlan &plan, const LaunchLayout &shape);
Result<LaunchProgram> deepSpeedProgram(const PlacementPlan &plan, const LaunchLayout &shape);
Result<LaunchProgram> titanProgram(const PlacementPlan &plan, const LaunchLayout &shape);
Result<LaunchProgram> maxTextProgram(const PlacementPlan &plan, const LaunchLayout &shape);

/// The script that writes the files and starts the program.
std::string programText(const LaunchLayout &shape, const LaunchProgram &program);

/// Lines of a script that set NODE_RANK, MASTER_ADDR and MASTER_PORT.
std::string rendezvousText(const LaunchLayout &shape);
/// The words of torchrun with which a script starts its program, on two lines.
std::string torchrunText(const LaunchLayout &shape);

/// How a plan computes its blocks again (`blocksOf`). Their number is that of the plan's layers, which may have several
/// blocks of the model each.
struct BlockRecompute {
  int64_t blocks = 0, none = 0, selective = 0, full = 0;
  bool onHost = false; ///< the host has activations of some layer
  struct Stage {
    int64_t blocks = 0, recomputed = 0; ///< selectively or in full
  };
  std::vector<Stage> stages; ///< by devices: all virtual stages of the same ones together
  int64_t untilFull = 0; ///< picoseconds by which a step is longer at most if all of them were computed again in full
};
BlockRecompute blockRecompute(const PlacementPlan &plan);

/// Layers of each stage by their place (`blocksOf`).
struct StageBlocks {
  struct Stage {
    PlacementProblem::Id first = 0, end = 0; ///< blocks, counted from 0; none: both are equal
    bool front = false, back = false;        ///< has layers before the blocks, behind them
  };
  std::vector<Stage> stages;
  std::string refusal; ///< why stages are not runs of blocks with all else at the ends; empty: they are
};
StageBlocks stageBlocks(const PlacementPlan &plan);

/// Where a program exchanges gradients after each micro-batch and the plan does after the last one: by how much a step
/// is longer at most. Nothing where there is one micro-batch, or nothing to exchange.
void remarkExchanges(LaunchProgram &program, const PlacementPlan &plan);
/// That memory was planned with another framework.
void remarkFramework(LaunchProgram &program, const PlacementPlan &plan, const char *framework);
/// That experts take all tokens that are sent to them, where the plan gives them places for so many.
void remarkCapacity(LaunchProgram &program, const ModelArchitecture &model, const char *launcher);
/// That the head is computed of all tokens of a sample, where the plan has some of them.
void remarkPredictions(LaunchProgram &program, const PlacementPlan &plan);
/// The type of products of a plan, and whether weights are kept in fp32 beside them.
struct PlannedPrecision {
  std::string type; ///< "bf16", "fp16", "fp8", "tf32", "fp32", or what else the plan says
  bool isMixed = false;
};
PlannedPrecision precisionOf(const PlacementPlan &plan);
/// The parameter of a model with this name, or 0.
int64_t sizeOf(const PlacementPlan &plan, const char *name);
/// Tokens of a sample, of the architecture or of the plan; 0: not known.
int64_t sequenceOf(const PlacementPlan &plan);

} // namespace accord
