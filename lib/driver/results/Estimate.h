// The document of `accord estimate --json`: Work, time, energy and bytes of a training step. flops, time_s, cycles,
// energy_J and bytes of an operation are of ONE execution; count is how often it runs in one step (micro-batches times
// the repeats around it). totals.flops is the sum of flops * count, and so are time_s (one after the other) and
// energy_J. Written by scripts/results.py from docs/schema/estimate.schema.json. Units are in the names.
#pragma once
#include "lib/driver/results/Read.h"

namespace accord::results {

struct Estimate {
  struct Operation {
    struct Communication {
      std::string kind;
      std::string algorithm;
      std::string axis;
      int64_t devices = 0;
      std::string formula;
      int64_t payload = 0; ///< bytes of the whole tensor
      bool ring = false;   ///< its time is what the attention beside it does not hide

      static Communication of(const Document &from) {
        Communication out;
        read(from, "kind", out.kind, "algorithm", out.algorithm, "axis", out.axis, "devices", out.devices, "formula",
             out.formula, "payload", out.payload, "?ring", out.ring);
        return out;
      }
    };

    std::string name;
    std::string kind;
    std::string phase;
    std::optional<std::string> core; ///< null: a view that needs none, or an exchange with other devices
    double count = 0;                ///< executions per step
    std::string bound;
    double cycles = 0;
    double time_s = 0;
    double energy_J = 0;
    int64_t flops = 0;
    std::map<std::string, double> bytes;        ///< by memory level
    std::optional<Communication> communication; ///< of an exchange of data with other devices of a cluster

    static Operation of(const Document &from) {
      Operation out;
      read(from, "name", out.name, "kind", out.kind, "phase", out.phase, "core", out.core, "count", out.count, "bound",
           out.bound, "cycles", out.cycles, "time_s", out.time_s, "energy_J", out.energy_J, "flops", out.flops, "bytes",
           out.bytes, "?communication", out.communication);
      return out;
    }
  };

  struct Total {
    struct Instruction {
      /// Of these, those that go on as what was evaluated of them; then `time_s` is an estimate
      int64_t estimated = 0;
      int64_t evaluated = 0; ///< of these, those whose times were computed: the others follow from them exactly
      double executed = 0;
      int64_t programs = 0; ///< that operations are mapped to; operations of one shape share theirs
      double time_high_s = 0;
      double time_low_s = 0; ///< between these `time_s` is proven to be

      static Instruction of(const Document &from) {
        Instruction out;
        read(from, "estimated", out.estimated, "evaluated", out.evaluated, "executed", out.executed, "programs",
             out.programs, "time_high_s", out.time_high_s, "time_low_s", out.time_low_s);
        return out;
      }
    };

    struct Loading {
      struct Depth {
        int64_t prefetch = 0;
        double queue_bytes = 0;
        double step_s = 0;

        static Depth of(const Document &from) {
          Depth out;
          read(from, "prefetch", out.prefetch, "queue_bytes", out.queue_bytes, "step_s", out.step_s);
          return out;
        }
      };

      std::string bound;
      double batch_bytes = 0;
      double compute_s = 0;
      double copy_s = 0;
      std::vector<Depth> depths;   ///< the step at other depths, and the host memory that their batches take
      std::optional<double> error; ///< of step_s, relative, where times of loading vary: two standard errors
      double gain = 0;             ///< load_s + copy_s + compute_s over step_s
      bool hidden = false;         ///< loading adds nothing to the step, or at most 1 % where its times vary
      double load_s = 0;
      int64_t prefetch = 0; ///< batches loaded ahead
      double step_s = 0;    ///< in steady state, loading included
      int64_t workers = 0;

      static Loading of(const Document &from) {
        Loading out;
        read(from, "bound", out.bound, "batch_bytes", out.batch_bytes, "compute_s", out.compute_s, "copy_s", out.copy_s,
             "depths", out.depths, "?error", out.error, "gain", out.gain, "hidden", out.hidden, "load_s", out.load_s,
             "prefetch", out.prefetch, "step_s", out.step_s, "workers", out.workers);
        return out;
      }
    };

    struct StepEnergy {
      /// Where the machine states its design power and no energy of its parts: all above idle
      double arithmetic_J = 0;
      double average_power_W = 0;
      std::optional<double> design_power_W; ///< of the device, where the machine states it
      std::optional<double> high_power_W;
      double idle_J = 0;                        ///< idle power over step_s
      std::optional<double> low_power_W;        ///< of 100 such boards 90 draw between these
      std::map<std::string, double> memories_J; ///< by memory level
      double step_s = 0;
      double total_J = 0;

      static StepEnergy of(const Document &from) {
        StepEnergy out;
        read(from, "arithmetic_J", out.arithmetic_J, "average_power_W", out.average_power_W, "?design_power_W",
             out.design_power_W, "?high_power_W", out.high_power_W, "idle_J", out.idle_J, "?low_power_W",
             out.low_power_W, "memories_J", out.memories_J, "step_s", out.step_s, "total_J", out.total_J);
        return out;
      }
    };

    struct StepTimeEstimate {
      double high_s = 0;
      double ideal_s = 0;
      double low_s = 0;
      std::string source; ///< the calibration

      static StepTimeEstimate of(const Document &from) {
        StepTimeEstimate out;
        read(from, "high_s", out.high_s, "ideal_s", out.ideal_s, "low_s", out.low_s, "source", out.source);
        return out;
      }
    };

    std::optional<double> step_time_s; ///< as scheduled: operations on several cores overlap
    double time_s = 0;
    double energy_J = 0;
    double flops = 0;
    std::optional<double> area_mm2;          ///< of the chip, where the machine states it or its parts
    std::optional<Instruction> instructions; ///< of a step on cores at the level of instructions
    /// Input data of one step beside its computation, where the training says how it is loaded
    std::optional<Loading> loading;
    double memory_bytes = 0;
    std::optional<double> memory_capacity_bytes; ///< of the device memory
    int64_t parameters = 0;
    /// Of one step as scheduled, by what uses it; where the machine states energy or power, or a technology
    std::optional<StepEnergy> step_energy;
    /// 90 of 100 measured steps lie between `low_s` and `high_s`; `ideal_s`: at the rates of the data sheet
    std::optional<StepTimeEstimate> step_time_estimate;

    static Total of(const Document &from) {
      Total out;
      read(from, "?step_time_s", out.step_time_s, "time_s", out.time_s, "energy_J", out.energy_J, "flops", out.flops,
           "?area_mm2", out.area_mm2, "?instructions", out.instructions, "?loading", out.loading, "memory_bytes",
           out.memory_bytes, "?memory_capacity_bytes", out.memory_capacity_bytes, "parameters", out.parameters,
           "?step_energy", out.step_energy, "?step_time_estimate", out.step_time_estimate);
      return out;
    }
  };

  struct Bottleneck {
    double fraction = 0; ///< of the time: where it binds
    std::string resource;
    double speedup_if_twice = 0;
    std::optional<double> speedup_if_unlimited; ///< absent when nothing else takes time

    static Bottleneck of(const Document &from) {
      Bottleneck out;
      read(from, "fraction", out.fraction, "resource", out.resource, "speedup_if_twice", out.speedup_if_twice,
           "?speedup_if_unlimited", out.speedup_if_unlimited);
      return out;
    }
  };

  struct Cluster {
    std::string name;
    int64_t tensor_parallel = 0;
    int64_t data_parallel = 0;
    std::optional<int64_t> context_parallel; ///< devices that share each sample along its sequence; 1 unless stated
    int64_t devices = 0;
    int64_t expert_parallel = 0;
    int64_t sequence_parallel = 0;

    static Cluster of(const Document &from) {
      Cluster out;
      read(from, "name", out.name, "tensor_parallel", out.tensor_parallel, "data_parallel", out.data_parallel,
           "?context_parallel", out.context_parallel, "devices", out.devices, "expert_parallel", out.expert_parallel,
           "sequence_parallel", out.sequence_parallel);
      return out;
    }
  };

  struct Kind {
    std::string kind;
    std::string phase;
    double time_s = 0;   ///< of all their executions in a step, one after the other
    double energy_J = 0; ///< with the idle power while they run; the device's alone, without its host
    double flops = 0;
    double bytes = 0; ///< of the device memory
    int64_t operations = 0;
    double power_W = 0;

    static Kind of(const Document &from) {
      Kind out;
      read(from, "kind", out.kind, "phase", out.phase, "time_s", out.time_s, "energy_J", out.energy_J, "flops",
           out.flops, "bytes", out.bytes, "operations", out.operations, "power_W", out.power_W);
      return out;
    }
  };

  std::string command;
  std::string version; ///< version of accord that wrote this
  std::string status;
  int64_t microbatch = 0;
  int64_t microbatches = 0;
  std::vector<std::string> assumptions;
  std::vector<Operation> operations;
  Total totals;
  /// Resources that bind somewhere, the one with the most to gain first; of all operations one after the other
  std::vector<Bottleneck> bottlenecks;
  std::optional<Cluster> cluster; ///< where the target is a cluster: all numbers are of one of its devices
  /// Where time, bandwidth and energy go: operations of one kind and phase, the one with the most time first
  std::vector<Kind> kinds;
  std::string machine;
  std::string model;
  std::string optimizer;
  std::string precision;

  /// Throws NoSuchValue where the document is another one.
  static Estimate of(const Document &from) {
    Estimate out;
    read(from, "command", out.command, "version", out.version, "status", out.status, "microbatch", out.microbatch,
         "microbatches", out.microbatches, "assumptions", out.assumptions, "operations", out.operations, "totals",
         out.totals, "bottlenecks", out.bottlenecks, "?cluster", out.cluster, "kinds", out.kinds, "machine",
         out.machine, "model", out.model, "optimizer", out.optimizer, "precision", out.precision);
    return out;
  }
};

} // namespace accord::results
