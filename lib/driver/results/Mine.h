// The document of `accord mine --json, mine.json`: The best accelerator of a design space for training jobs.
// Written by scripts/results.py from docs/schema/mine.schema.json. Units are in the names.
#pragma once
#include "lib/driver/results/Read.h"

namespace accord::results {

struct Mine {
  struct Placement {
    int64_t tensor_parallel = 0;
    int64_t pipeline_parallel = 0; ///< device groups in a row
    int64_t data_parallel = 0;
    int64_t microbatch = 0;
    int64_t microbatches = 0;
    int64_t devices = 0;
    std::map<std::string, int64_t> recompute; ///< layers by policy
    std::string schedule;
    bool sequence_parallel = false;
    int64_t virtual_stages = 0; ///< virtual pipeline stages of a device
    int64_t zero = 0;

    static Placement of(const Document &from) {
      Placement out;
      read(from, "tensor_parallel", out.tensor_parallel, "pipeline_parallel", out.pipeline_parallel, "data_parallel",
           out.data_parallel, "microbatch", out.microbatch, "microbatches", out.microbatches, "devices", out.devices,
           "recompute", out.recompute, "schedule", out.schedule, "sequence_parallel", out.sequence_parallel,
           "virtual_stages", out.virtual_stages, "zero", out.zero);
      return out;
    }
  };

  struct Sparsity {
    std::string layer;
    int64_t m = 0;
    int64_t n = 0;
    bool transposable = false; ///< along the outputs, too

    static Sparsity of(const Document &from) {
      Sparsity out;
      read(from, "layer", out.layer, "m", out.m, "n", out.n, "?transposable", out.transposable);
      return out;
    }
  };

  struct Step {
    std::string job;
    std::optional<double> value; ///< of the metric
    double step_time_s = 0;
    double throughput = 0; ///< samples a second
    int64_t batch = 0;
    double energy_J = 0;
    std::string alternative;               ///< micro-batch and recomputation, and degrees on a cluster
    std::optional<double> individual_best; ///< value of the job's own best design
    double memory_bytes = 0;
    /// On a cluster: degrees, micro-batches, and layers by what is computed again
    std::optional<Placement> placement;
    std::vector<Sparsity> sparsity; ///< layers whose weights have zeros: n of every m along the reduction are kept
    std::optional<double> weight;   ///< what it counts in the sum, where that is not 1

    static Step of(const Document &from) {
      Step out;
      read(from, "job", out.job, "value", out.value, "step_time_s", out.step_time_s, "throughput", out.throughput,
           "batch", out.batch, "energy_J", out.energy_J, "alternative", out.alternative, "?individual_best",
           out.individual_best, "memory_bytes", out.memory_bytes, "?placement", out.placement, "?sparsity",
           out.sparsity, "?weight", out.weight);
      return out;
    }
  };

  struct Design {
    std::string name; ///< common, the job that it is for, the strategy that found it, or its number on the front
    std::optional<double> area_mm2;
    std::map<std::string, std::string> chosen; ///< value by parameter, as written
    std::vector<Step> steps;
    std::optional<double> tdp_W;

    static Design of(const Document &from) {
      Design out;
      read(from, "name", out.name, "?area_mm2", out.area_mm2, "chosen", out.chosen, "steps", out.steps, "?tdp_W",
           out.tdp_W);
      return out;
    }
  };

  struct Convergence {
    std::optional<double> bound;
    int64_t bounds = 0;
    int64_t evaluations = 0;
    std::optional<double> incumbent;
    std::optional<double> processor_s; ///< compared by time: since the search began; depends on the machine

    static Convergence of(const Document &from) {
      Convergence out;
      read(from, "bound", out.bound, "bounds", out.bounds, "evaluations", out.evaluations, "incumbent", out.incumbent,
           "?processor_s", out.processor_s);
      return out;
    }
  };

  struct Search {
    std::optional<double> value; ///< null: no design
    std::optional<double> bound; ///< no design of the space has a smaller value; 0: not known
    std::string proof;           ///< what the bound follows from
    std::optional<double> gap;
    int64_t bounds = 0;                   ///< bounds of sets of designs that were computed
    std::vector<Convergence> convergence; ///< whenever incumbent or bound changed
    int64_t evaluations = 0;              ///< designs evaluated
    /// No design has a smaller value as designs are evaluated; the bound may be below, for another schedule
    bool is_optimal = false;
    std::optional<double> processor_s; ///< compared by time; depends on the machine
    std::string strategy;

    static Search of(const Document &from) {
      Search out;
      read(from, "value", out.value, "bound", out.bound, "proof", out.proof, "gap", out.gap, "bounds", out.bounds,
           "convergence", out.convergence, "evaluations", out.evaluations, "is_optimal", out.is_optimal, "?processor_s",
           out.processor_s, "strategy", out.strategy);
      return out;
    }
  };

  struct Objective {
    /// Step_time, tdp_time, energy, area_time, an expression that is minimized, or minimax_regret of one of them
    std::string name;
    std::optional<double> value; ///< null: no design
    std::string unit;

    static Objective of(const Document &from) {
      Objective out;
      read(from, "name", out.name, "value", out.value, "unit", out.unit);
      return out;
    }
  };

  struct Bound {
    std::optional<double> value;
    std::string unit;
    std::string proof;

    static Bound of(const Document &from) {
      Bound out;
      read(from, "value", out.value, "unit", out.unit, "proof", out.proof);
      return out;
    }
  };

  struct Stage {
    struct StageEntry {
      double backward_s = 0; ///< with gradients of weights and what is computed again
      std::string design;    ///< name of one of the designs
      int64_t devices = 0;
      std::string first_layer;
      double forward_s = 0; ///< of a micro-batch
      std::string last_layer;
      int64_t layers = 0;
      double memory_bytes = 0;
      double step_tail_s = 0; ///< after the last micro-batch: exchange of gradients, update

      static StageEntry of(const Document &from) {
        StageEntry out;
        read(from, "backward_s", out.backward_s, "design", out.design, "devices", out.devices, "first_layer",
             out.first_layer, "forward_s", out.forward_s, "last_layer", out.last_layer, "layers", out.layers,
             "memory_bytes", out.memory_bytes, "step_tail_s", out.step_tail_s);
        return out;
      }
    };

    double value = 0;  ///< of the metric; area_time with the mean area of the devices
    double bound = 0;  ///< no stages on any designs of the space have a smaller value; 0: not known
    std::string proof; ///< what the bound follows from
    std::optional<double> gap;
    std::vector<StageEntry> stages;
    std::optional<std::string> best_accel_sha256; ///< of best.accel, where it describes these designs
    int64_t bounds = 0;                           ///< bounds of sets of designs that were computed for them
    int64_t candidates = 0;                       ///< designs for stages, of each tensor degree and micro-batch
    double common = 0;                            ///< the same of the best common design: not less
    std::vector<Design> designs;
    int64_t evaluations = 0; ///< designs evaluated for classes and mixes of layers
    Step step;

    static Stage of(const Document &from) {
      Stage out;
      read(from, "value", out.value, "bound", out.bound, "proof", out.proof, "gap", out.gap, "stages", out.stages,
           "?best_accel_sha256", out.best_accel_sha256, "bounds", out.bounds, "candidates", out.candidates, "common",
           out.common, "designs", out.designs, "evaluations", out.evaluations, "step", out.step);
      return out;
    }
  };

  struct Conflict {
    std::string constraint;
    std::string file;
    int64_t line = 0;

    static Conflict of(const Document &from) {
      Conflict out;
      read(from, "constraint", out.constraint, "file", out.file, "line", out.line);
      return out;
    }
  };

  struct Certificate {
    std::string name;
    std::string sha256;

    static Certificate of(const Document &from) {
      Certificate out;
      read(from, "name", out.name, "sha256", out.sha256);
      return out;
    }
  };

  struct Compared {
    std::optional<Design> design; ///< one design and what the jobs take on it
    Search search;                ///< how a design was searched for

    static Compared of(const Document &from) {
      Compared out;
      read(from, "?design", out.design, "search", out.search);
      return out;
    }
  };

  struct Dense {
    std::optional<Design> design; ///< one design and what the jobs take on it
    Search search;                ///< how a design was searched for

    static Dense of(const Document &from) {
      Dense out;
      read(from, "?design", out.design, "search", out.search);
      return out;
    }
  };

  struct Evaluated {
    struct DesignEntry {
      struct StepEntry {
        double step_time_s = 0;
        std::optional<double> energy_J;

        static StepEntry of(const Document &from) {
          StepEntry out;
          read(from, "step_time_s", out.step_time_s, "?energy_J", out.energy_J);
          return out;
        }
      };

      double value = 0;
      std::optional<double> area_mm2;
      std::map<std::string, std::string> chosen; ///< value by parameter, as written
      bool non_dominated = false;                ///< no other evaluated design is as good in value, area and tdp
      std::vector<StepEntry> steps;              ///< by job, in the order of the best design's
      std::optional<double> tdp_W;

      static DesignEntry of(const Document &from) {
        DesignEntry out;
        read(from, "value", out.value, "?area_mm2", out.area_mm2, "chosen", out.chosen, "non_dominated",
             out.non_dominated, "?steps", out.steps, "?tdp_W", out.tdp_W);
        return out;
      }
    };

    int64_t count = 0; ///< evaluated designs that satisfy the requirements and have room for the jobs
    /// By value: non-dominated ones, the best with each choice of each parameter, and others drawn evenly
    std::vector<DesignEntry> designs;
    bool is_truncated = false; ///< there were more of them at a time than the search keeps
    /// Of these, designs that no other one of them is as good as in value, area and tdp; of the designs that were not
    /// evaluated nothing is said
    int64_t non_dominated = 0;

    static Evaluated of(const Document &from) {
      Evaluated out;
      read(from, "count", out.count, "designs", out.designs, "is_truncated", out.is_truncated, "non_dominated",
           out.non_dominated);
      return out;
    }
  };

  struct Individual {
    std::optional<Design> design; ///< one design and what the jobs take on it
    Search search;                ///< how a design was searched for

    static Individual of(const Document &from) {
      Individual out;
      read(from, "?design", out.design, "search", out.search);
      return out;
    }
  };

  struct Limit {
    struct Delay {
      std::string core;
      int64_t operations = 0; ///< each counted once, however often it runs
      double seconds = 0;     ///< that they begin later for it, in a step

      static Delay of(const Document &from) {
        Delay out;
        read(from, "core", out.core, "operations", out.operations, "seconds", out.seconds);
        return out;
      }
    };

    struct Fraction {
      double fraction = 0;
      std::string resource; ///< a core, the bandwidth of a memory, the launch of kernels or the host, by its name

      static Fraction of(const Document &from) {
        Fraction out;
        read(from, "fraction", out.fraction, "resource", out.resource);
        return out;
      }
    };

    std::string job;
    std::vector<Delay> delays; ///< cores that keep operations waiting which have no slack where cores are unlimited
    std::vector<Fraction> fractions;

    static Limit of(const Document &from) {
      Limit out;
      read(from, "job", out.job, "?delays", out.delays, "fractions", out.fractions);
      return out;
    }
  };

  struct ParetoFront {
    struct DesignEntry {
      std::string name; ///< common, the job that it is for, the strategy that found it, or its number on the front
      std::optional<double> value;
      std::optional<double> area_mm2;
      std::map<std::string, std::string> chosen; ///< value by parameter, as written
      std::vector<Step> steps;
      std::optional<double> tdp_W;

      static DesignEntry of(const Document &from) {
        DesignEntry out;
        read(from, "name", out.name, "value", out.value, "?area_mm2", out.area_mm2, "chosen", out.chosen, "steps",
             out.steps, "?tdp_W", out.tdp_W);
        return out;
      }
    };

    std::string proof;
    int64_t bounds = 0;
    std::vector<DesignEntry> designs; ///< by value
    /// Every design of the space is in everything within this share of one of them, as designs are evaluated; 0: the
    /// whole front; null: not known
    std::optional<double> epsilon;
    /// The same whatever schedules there are of the designs that are not listed
    std::optional<double> epsilon_upper_bound;
    int64_t evaluations = 0;
    std::vector<std::string> objectives; ///< value, area, tdp

    static ParetoFront of(const Document &from) {
      ParetoFront out;
      read(from, "proof", out.proof, "bounds", out.bounds, "designs", out.designs, "epsilon", out.epsilon,
           "epsilon_upper_bound", out.epsilon_upper_bound, "evaluations", out.evaluations, "objectives",
           out.objectives);
      return out;
    }
  };

  struct Reference {
    std::string name; ///< common, the job that it is for, the strategy that found it, or its number on the front
    std::optional<double> area_mm2;
    std::map<std::string, std::string> chosen; ///< value by parameter, as written
    std::vector<Step> steps;
    std::optional<double> tdp_W;

    static Reference of(const Document &from) {
      Reference out;
      read(from, "name", out.name, "?area_mm2", out.area_mm2, "chosen", out.chosen, "steps", out.steps, "?tdp_W",
           out.tdp_W);
      return out;
    }
  };

  struct Requirement {
    struct Relaxed {
      std::optional<double> value;
      std::optional<double> bound; ///< no design has a smaller value then, by any schedule
      std::map<std::string, std::string> chosen;
      double factor = 0;
      bool is_optimal = false; ///< value is the minimum as designs are evaluated

      static Relaxed of(const Document &from) {
        Relaxed out;
        read(from, "value", out.value, "bound", out.bound, "chosen", out.chosen, "factor", out.factor, "is_optimal",
             out.is_optimal);
        return out;
      }
    };

    std::optional<std::string> figure; ///< what is limited, where that is one of these alone
    bool is_maximum = false;           ///< false: it is a minimum
    std::optional<double> limit;       ///< in mm2 of an area, in W of a tdp
    /// The best design with this limit times factor, searched for with twice the effort of the search
    std::optional<Relaxed> relaxed;
    std::string requirement;
    std::optional<std::string> usage;  ///< the numbers of used, with their units
    std::optional<double> utilization; ///< share of the limit; not there: it is none

    static Requirement of(const Document &from) {
      Requirement out;
      read(from, "?figure", out.figure, "?is_maximum", out.is_maximum, "?limit", out.limit, "?relaxed", out.relaxed,
           "requirement", out.requirement, "?usage", out.usage, "?utilization", out.utilization);
      return out;
    }
  };

  struct Sensitivity {
    struct Choice {
      std::optional<double> value; ///< of the design that differs in this alone; null: it may not be
      /// No design with this choice has a smaller value, by any schedule; null: none may be
      std::optional<double> bound;
      std::optional<double> best; ///< minimum value that was found of all designs with this choice
      std::string choice;
      bool chosen = false;
      bool is_optimal = false;           ///< best is the minimum as designs are evaluated
      std::optional<std::string> reason; ///< it may not be

      static Choice of(const Document &from) {
        Choice out;
        read(from, "value", out.value, "?bound", out.bound, "?best", out.best, "choice", out.choice, "?chosen",
             out.chosen, "?is_optimal", out.is_optimal, "?reason", out.reason);
        return out;
      }
    };

    std::optional<double> bottleneck_gain; ///< by what share a better choice of this alone shortens the step at most
    std::vector<Choice> choices;
    std::string parameter;

    static Sensitivity of(const Document &from) {
      Sensitivity out;
      read(from, "?bottleneck_gain", out.bottleneck_gain, "choices", out.choices, "parameter", out.parameter);
      return out;
    }
  };

  struct Space {
    struct Parameter {
      std::string name;
      std::vector<std::string> values;

      static Parameter of(const Document &from) {
        Parameter out;
        read(from, "name", out.name, "values", out.values);
        return out;
      }
    };

    std::string name;
    std::string designs; ///< their number, exact
    std::vector<Parameter> parameters;
    std::vector<std::string> requirements;

    static Space of(const Document &from) {
      Space out;
      read(from, "name", out.name, "designs", out.designs, "parameters", out.parameters, "requirements",
           out.requirements);
      return out;
    }
  };

  int64_t schema = 0;
  std::string command;
  std::string version; ///< version of accord that wrote this
  std::string status;  ///< unknown: the search ended before it found a design or proved that there is none
  Objective objective;
  Bound bound;
  std::optional<double> gap;      ///< distance to the bound as a share; null: no bound is known
  std::optional<Stage> stages;    ///< a design for each stage of the pipeline (--stages)
  std::vector<Conflict> conflict; ///< a requirement that no design keeps
  std::vector<std::string> assumptions;
  /// What proves the answer: certificate, and the plans by which its designs are evaluated
  std::vector<Certificate> certificate;
  std::vector<Compared> compared;         ///< other strategies on the same problem
  std::optional<std::string> compared_by; ///< what the compared strategies had as much of as the chosen one
  /// With zeros to choose from: the best design where nothing is zero, by the same search
  std::optional<Dense> dense;
  std::optional<Design> design;       ///< one design and what the jobs take on it
  std::optional<Evaluated> evaluated; ///< designs that the search evaluated, as many as a page can show
  std::vector<Individual> individual; ///< several jobs: the best design of each alone
  /// Of the design, by job: shares of the step, by what binds the operations of its longest path
  std::vector<Limit> limits;
  std::optional<ParetoFront> pareto_front; ///< designs of which none is better in everything
  std::optional<Reference> reference;      ///< a machine that the best design is compared with
  std::vector<Requirement> requirements;   ///< what the design takes of each requirement's limit
  Search search;                           ///< how a design was searched for
  std::vector<Sensitivity> sensitivity;    ///< by parameter: the value of each choice
  Space space;

  /// Throws NoSuchValue where the document is another one.
  static Mine of(const Document &from) {
    Mine out;
    read(from, "schema", out.schema, "command", out.command, "version", out.version, "status", out.status, "objective",
         out.objective, "bound", out.bound, "gap", out.gap, "?stages", out.stages, "?conflict", out.conflict,
         "assumptions", out.assumptions, "?certificate", out.certificate, "?compared", out.compared, "?compared_by",
         out.compared_by, "?dense", out.dense, "?design", out.design, "?evaluated", out.evaluated, "?individual",
         out.individual, "?limits", out.limits, "?pareto_front", out.pareto_front, "?reference", out.reference,
         "?requirements", out.requirements, "search", out.search, "?sensitivity", out.sensitivity, "space", out.space);
    return out;
  }
};

} // namespace accord::results
