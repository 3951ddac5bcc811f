// The document of `accord jobs FILE --json`: When each job of a `jobs` block runs, on which servers, in which
// configuration: objectives with their bounds, use of resources, why jobs wait, conflict and repairs. Written by
// scripts/results.py from docs/schema/job_schedule.schema.json. Units are in the names.
#pragma once
#include "lib/driver/results/Read.h"

namespace accord::results {

struct JobSchedule {
  struct Carbon {
    int64_t from_s = 0;
    double g_per_kWh = 0;

    static Carbon of(const Document &from) {
      Carbon out;
      read(from, "from_s", out.from_s, "g_per_kWh", out.g_per_kWh);
      return out;
    }
  };

  struct Job {
    struct Pending {
      std::string cause;
      int64_t from_s = 0;
      std::string reason;
      int64_t until_s = 0;

      static Pending of(const Document &from) {
        Pending out;
        read(from, "cause", out.cause, "from_s", out.from_s, "reason", out.reason, "until_s", out.until_s);
        return out;
      }
    };

    struct Run {
      struct Server {
        int64_t devices = 0;
        int64_t server = 0;

        static Server of(const Document &from) {
          Server out;
          read(from, "devices", out.devices, "server", out.server);
          return out;
        }
      };

      std::optional<double> step_time_s;
      /// Samples of a step, where the training has another batch; so are the next four
      std::optional<int64_t> batch;
      std::optional<int64_t> accumulation; ///< micro-batches whose gradients a step adds up
      int64_t begin_s = 0;
      std::optional<std::string> choice; ///< the train block that it runs instead of the job's own
      std::string configuration;
      std::optional<int64_t> devices;
      std::optional<double> efficiency; ///< samples at the batch of the training that one at this batch replaces
      int64_t end_s = 0;
      std::optional<double> learning_rate_factor; ///< that of the training is multiplied by it
      std::optional<int64_t> memory_bytes;        ///< of the device that needs the most
      std::optional<std::string> not_started;     ///< why launch/ has nothing that starts it
      std::optional<std::string> plan;            ///< the parallel plan; absent where the configuration was profiled
      std::optional<int64_t> power_W;
      std::optional<std::string> power_level; ///< of the devices' power; absent: the full one
      std::optional<double> price_per_hour;
      std::vector<Server> servers; ///< devices of each server, from the start of the run to its end
      std::optional<std::string> type;
      std::optional<double> warmup_factor;         ///< that of the training is multiplied by it
      std::optional<std::string> without_megatron; ///< why Megatron-LM cannot run its plan

      static Run of(const Document &from) {
        Run out;
        read(from, "?step_time_s", out.step_time_s, "?batch", out.batch, "?accumulation", out.accumulation, "begin_s",
             out.begin_s, "?choice", out.choice, "configuration", out.configuration, "?devices", out.devices,
             "?efficiency", out.efficiency, "end_s", out.end_s, "?learning_rate_factor", out.learning_rate_factor,
             "?memory_bytes", out.memory_bytes, "?not_started", out.not_started, "?plan", out.plan, "?power_W",
             out.power_W, "?power_level", out.power_level, "?price_per_hour", out.price_per_hour, "?servers",
             out.servers, "?type", out.type, "?warmup_factor", out.warmup_factor, "?without_megatron",
             out.without_megatron);
        return out;
      }
    };

    std::string name;
    double energy_J = 0;
    std::vector<std::string> after;
    int64_t arrival_s = 0;
    std::optional<double> carbon_g;
    std::optional<int64_t> completion_s;
    bool continues = false; ///< whether work is left at the end of the schedule, and how much of it is done then
    double cost = 0;        ///< dollars
    std::optional<int64_t> deadline_s;
    std::optional<int64_t> due_s;
    std::string elasticity;
    std::vector<Pending> pending; ///< why it does not run between its arrival and its completion
    bool rejected = false;        ///< whether the schedule leaves it out
    std::vector<Run> runs;
    std::optional<double> share_done;
    std::optional<int64_t> start_s;
    std::optional<std::string> tenant;
    std::optional<std::string> train; ///< the train block that it runs; absent where it is profiled
    int64_t weight = 0;

    static Job of(const Document &from) {
      Job out;
      read(from, "name", out.name, "energy_J", out.energy_J, "?after", out.after, "arrival_s", out.arrival_s,
           "?carbon_g", out.carbon_g, "?completion_s", out.completion_s, "?continues", out.continues, "cost", out.cost,
           "?deadline_s", out.deadline_s, "?due_s", out.due_s, "elasticity", out.elasticity, "?pending", out.pending,
           "?rejected", out.rejected, "runs", out.runs, "?share_done", out.share_done, "?start_s", out.start_s,
           "?tenant", out.tenant, "?train", out.train, "weight", out.weight);
      return out;
    }
  };

  struct Objective {
    std::string name;
    /// In the unit of the problem: seconds, micro-dollars, joules, micrograms, thousandths, or of goodput millionths
    /// that are left
    std::optional<int64_t> value;
    std::optional<int64_t> bound; ///< no schedule is below, while the objectives before have their values
    std::optional<double> gap;    ///< (value - bound) / value
    std::optional<std::string> bound_text;
    std::optional<std::string> text;
    std::string words;

    static Objective of(const Document &from) {
      Objective out;
      read(from, "name", out.name, "?value", out.value, "?bound", out.bound, "?gap", out.gap, "?bound_text",
           out.bound_text, "?text", out.text, "words", out.words);
      return out;
    }
  };

  struct Replan {
    struct Change {
      std::string job;
      std::string kind;
      std::optional<int64_t> completion_s;
      std::optional<std::string> from;
      std::optional<int64_t> planned_completion_s;
      std::optional<double> restart_device_hours;
      std::optional<std::string> to;
      std::optional<std::string> why; ///< events

      static Change of(const Document &from) {
        Change out;
        read(from, "job", out.job, "kind", out.kind, "?completion_s", out.completion_s, "?from", out.from,
             "?planned_completion_s", out.planned_completion_s, "?restart_device_hours", out.restart_device_hours,
             "?to", out.to, "?why", out.why);
        return out;
      }
    };

    struct Previous {
      std::string name;
      int64_t value = 0;
      std::string text;

      static Previous of(const Document &from) {
        Previous out;
        read(from, "name", out.name, "value", out.value, "text", out.text);
        return out;
      }
    };

    /// When it begins, on the clock of the block: all other times of the document count from there
    int64_t at_s = 0;
    std::vector<Change> changes;     ///< of each job against the plan before; completions are on the clock of the block
    std::vector<Previous> previous;  ///< the objectives, if the plan before were kept
    double restart_device_hours = 0; ///< of all restarts that are paid
    std::optional<std::string> why_not_previous;

    static Replan of(const Document &from) {
      Replan out;
      read(from, "at_s", out.at_s, "changes", out.changes, "?previous", out.previous, "restart_device_hours",
           out.restart_device_hours, "?why_not_previous", out.why_not_previous);
      return out;
    }
  };

  struct Requirement {
    std::string name;
    std::optional<int64_t> value;
    int64_t max = 0;
    std::optional<std::string> text;
    std::string words;

    static Requirement of(const Document &from) {
      Requirement out;
      read(from, "name", out.name, "?value", out.value, "max", out.max, "?text", out.text, "words", out.words);
      return out;
    }
  };

  struct Resource {
    struct Step {
      int64_t capacity = 0;
      int64_t from_s = 0;
      int64_t used = 0;

      static Step of(const Document &from) {
        Step out;
        read(from, "capacity", out.capacity, "from_s", out.from_s, "used", out.used);
        return out;
      }
    };

    std::string name;
    std::string unit;
    std::vector<Step> steps; ///< capacity and amount in use from a time on

    static Resource of(const Document &from) {
      Resource out;
      read(from, "name", out.name, "unit", out.unit, "steps", out.steps);
      return out;
    }
  };

  struct Server {
    int64_t devices = 0;
    std::string type;

    static Server of(const Document &from) {
      Server out;
      read(from, "devices", out.devices, "type", out.type);
      return out;
    }
  };

  std::string command;
  std::string version; ///< version of accord that wrote this
  std::string status;
  std::string name;
  std::vector<std::string> conflict; ///< constraints that exclude each other
  std::vector<std::string> assumptions;
  std::vector<Carbon> carbon; ///< of electricity, from a time on
  std::optional<std::string> cluster;
  std::vector<Job> jobs;
  std::vector<Objective> objectives;
  std::vector<std::string> repairs; ///< changes of which each removes the conflict
  std::optional<Replan> replan;     ///< of a plan that goes on from a moment: what it changes
  std::vector<Requirement> requirements;
  std::vector<Resource> resources;
  std::vector<Server> servers;
  int64_t slot_s = 0;
  int64_t slots = 0;
  std::vector<std::string> types;

  /// Throws NoSuchValue where the document is another one.
  static JobSchedule of(const Document &from) {
    JobSchedule out;
    read(from, "command", out.command, "version", out.version, "status", out.status, "name", out.name, "?conflict",
         out.conflict, "?assumptions", out.assumptions, "?carbon", out.carbon, "?cluster", out.cluster, "jobs",
         out.jobs, "objectives", out.objectives, "?repairs", out.repairs, "?replan", out.replan, "?requirements",
         out.requirements, "resources", out.resources, "servers", out.servers, "slot_s", out.slot_s, "slots", out.slots,
         "types", out.types);
    return out;
  }
};

} // namespace accord::results
