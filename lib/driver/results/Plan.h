// The document of `accord compile --json, plan.json`: The whole plan: what accord verify, explain and diff read. Times
// in _s are seconds, in _ps whole picoseconds. Written by scripts/results.py from docs/schema/plan.schema.json. Units
// are in the names.
#pragma once
#include "lib/driver/results/Read.h"

namespace accord::results {

struct Plan {
  struct NamedLoop {
    std::string kind;
    int64_t extent = 0;

    static NamedLoop of(const Document &from) {
      NamedLoop out;
      read(from, "kind", out.kind, "extent", out.extent);
      return out;
    }
  };

  struct NamedLoopTensor {
    std::vector<std::vector<std::optional<Document>>> at;
    int64_t bits = 0;
    std::vector<int64_t> sizes; ///< elements of each dimension, where the loops of a padded window reach more
    bool written = false;

    static NamedLoopTensor of(const Document &from) {
      NamedLoopTensor out;
      read(from, "at", out.at, "bits", out.bits, "?sizes", out.sizes, "?written", out.written);
      return out;
    }
  };

  struct NamedOperationCost {
    struct Part {
      int64_t core = 0;
      double compute_s = 0;
      std::string type;

      static Part of(const Document &from) {
        Part out;
        read(from, "core", out.core, "compute_s", out.compute_s, "type", out.type);
        return out;
      }
    };

    struct Tile {
      int64_t memory = 0;
      std::vector<int64_t> extents;
      std::vector<std::vector<int64_t>> groups;
      std::vector<int64_t> order;

      static Tile of(const Document &from) {
        Tile out;
        read(from, "memory", out.memory, "extents", out.extents, "groups", out.groups, "order", out.order);
        return out;
      }
    };

    int64_t core = 0;
    std::string bound;
    std::optional<double> gap; ///< no tiles take less than 1 - gap of the time; 0 where they are proven best
    double cycles = 0;
    double time_s = 0;
    double energy_J = 0;
    std::vector<double> bytes;
    double compute_s = 0;
    std::string formula;
    std::optional<int64_t> instances;
    std::optional<double> kernel_launch_overhead_s;
    std::string model;
    std::vector<Part> parts;
    std::vector<Tile> tiles;
    std::vector<double> transfer_s;
    std::string type;

    static NamedOperationCost of(const Document &from) {
      NamedOperationCost out;
      read(from, "core", out.core, "bound", out.bound, "?gap", out.gap, "cycles", out.cycles, "time_s", out.time_s,
           "energy_J", out.energy_J, "bytes", out.bytes, "compute_s", out.compute_s, "formula", out.formula,
           "?instances", out.instances, "?kernel_launch_overhead_s", out.kernel_launch_overhead_s, "model", out.model,
           "?parts", out.parts, "?tiles", out.tiles, "transfer_s", out.transfer_s, "type", out.type);
      return out;
    }
  };

  struct NamedOrigin {
    std::optional<std::string> file;
    std::optional<int64_t> line;
    std::optional<int64_t> column;
    std::optional<std::string> source; ///< who says so
    std::string text;                  ///< as written: '312 TFLOP/s'

    static NamedOrigin of(const Document &from) {
      NamedOrigin out;
      read(from, "?file", out.file, "?line", out.line, "?column", out.column, "?source", out.source, "text", out.text);
      return out;
    }
  };

  struct NamedRunInput {
    double value = 0; ///< median
    double high = 0;  ///< 95 % quantile
    double low = 0;   ///< 5 % quantile

    static NamedRunInput of(const Document &from) {
      NamedRunInput out;
      read(from, "value", out.value, "high", out.high, "low", out.low);
      return out;
    }
  };

  struct NamedRunValue {
    double value = 0; ///< mean
    double high = 0;  ///< 95 % quantile, or the mean where that is above it
    double low = 0;   ///< 5 % quantile, or the mean where that is below it

    static NamedRunValue of(const Document &from) {
      NamedRunValue out;
      read(from, "value", out.value, "high", out.high, "low", out.low);
      return out;
    }
  };

  struct NamedSlice {
    int64_t inside = 0;
    int64_t stacked = 0;

    static NamedSlice of(const Document &from) {
      NamedSlice out;
      read(from, "inside", out.inside, "stacked", out.stacked);
      return out;
    }
  };

  struct Objective {
    std::string name;
    double value = 0;
    std::string unit;

    static Objective of(const Document &from) {
      Objective out;
      read(from, "name", out.name, "value", out.value, "unit", out.unit);
      return out;
    }
  };

  struct Bound {
    double value = 0;
    std::string unit;
    std::string proof;

    static Bound of(const Document &from) {
      Bound out;
      read(from, "value", out.value, "unit", out.unit, "proof", out.proof);
      return out;
    }
  };

  struct Stage {
    std::string name;
    double time_s = 0;
    int64_t devices = 0;
    std::vector<std::string> layers;
    int64_t memory_bytes = 0;

    static Stage of(const Document &from) {
      Stage out;
      read(from, "name", out.name, "time_s", out.time_s, "devices", out.devices, "layers", out.layers, "memory_bytes",
           out.memory_bytes);
      return out;
    }
  };

  struct Memory {
    struct AtPeak {
      int64_t activations = 0;
      int64_t buffers = 0;
      int64_t gradients = 0;
      int64_t inputs = 0;
      int64_t optimizer_states = 0;
      int64_t temporaries = 0;
      int64_t weights = 0;

      static AtPeak of(const Document &from) {
        AtPeak out;
        read(from, "activations", out.activations, "buffers", out.buffers, "gradients", out.gradients, "inputs",
             out.inputs, "optimizer_states", out.optimizer_states, "temporaries", out.temporaries, "weights",
             out.weights);
        return out;
      }
    };

    struct Timeline {
      std::vector<int64_t> bytes;
      int64_t time_ps = 0;

      static Timeline of(const Document &from) {
        Timeline out;
        read(from, "bytes", out.bytes, "time_ps", out.time_ps);
        return out;
      }
    };

    AtPeak at_peak;
    int64_t capacity_bytes = 0;
    int64_t peak_bytes = 0;
    std::vector<Timeline> timeline;
    int64_t when_ps = 0;

    static Memory of(const Document &from) {
      Memory out;
      read(from, "at_peak", out.at_peak, "capacity_bytes", out.capacity_bytes, "peak_bytes", out.peak_bytes, "timeline",
           out.timeline, "when_ps", out.when_ps);
      return out;
    }
  };

  struct Conflict {
    std::string constraint; ///< as the user wrote it, or 'device memory'
    std::string file;
    int64_t line = 0;
    std::string detail; ///< what is needed against what there is

    static Conflict of(const Document &from) {
      Conflict out;
      read(from, "constraint", out.constraint, "file", out.file, "line", out.line, "detail", out.detail);
      return out;
    }
  };

  struct Architecture {
    std::string activation;
    bool attention_bias = false;             ///< of queries, keys and values
    std::optional<double> attention_dropout; ///< of the softmax
    bool causal = false;                     ///< attention looks back alone
    std::optional<int64_t> class_tokens;     ///< trained tokens before the patches
    std::optional<int64_t> classes;
    std::optional<double> dropout; ///< share, of what blocks add to their input
    bool embedding_norm = false;   ///< a norm stands behind the embedding
    std::optional<double> embedding_scale;
    std::optional<int64_t> encoder_layers;
    std::optional<int64_t> encoder_sequence;
    std::optional<double> expert_capacity; ///< slots of an expert over its even share of the tokens
    std::optional<int64_t> expert_layers;
    std::optional<int64_t> expert_parameters;
    std::optional<int64_t> experts;
    bool experts_normalized = false; ///< the weights of the experts of a token add up to 1
    std::optional<int64_t> experts_per_token;
    std::string family;           ///< other: no transformer, or one that is not understood
    bool final_norm = false;      ///< a norm stands before the head
    bool fused_attention = false; ///< attention is one operation that keeps no scores
    bool head_bias = false;
    std::optional<int64_t> head_size;
    bool head_transform = false; ///< a product, an activation and a norm stand before the head
    std::optional<int64_t> heads;
    std::optional<int64_t> hidden;
    std::optional<int64_t> image_size;
    std::optional<int64_t> inner;           ///< width of feed-forward networks; with experts, of one of them
    std::optional<double> inner_dropout;    ///< between the products of a feed-forward network
    bool irregular = false;                 ///< blocks differ in sizes, which are left out
    std::optional<int64_t> key_value_heads; ///< fewer than heads: grouped queries
    std::optional<int64_t> layers;          ///< blocks; of an encoder with a decoder, those of the decoder
    bool linear_bias = false;               ///< of products, but those of queries, keys and values
    std::optional<double> logit_scale;
    std::optional<int64_t> max_positions; ///< rows of the table of learned positions
    std::string norm;
    bool norm_after = false; ///< norms stand behind blocks
    bool norm_bias = false;  ///< norms have an offset
    std::optional<double> norm_epsilon;
    std::optional<std::string> not_understood; ///< of family other: why
    bool pair_head = false;                    ///< a second head tells whether two sentences follow each other
    int64_t parameters = 0;                    ///< trained scalars
    std::optional<int64_t> patch_size;
    std::string positions;
    /// Positions of a sample of which the head predicts tokens, where these are not all
    std::optional<int64_t> predicted_positions;
    std::optional<int64_t> relative_buckets; ///< rows of a table of relative positions
    std::optional<int64_t> relative_distance;
    std::optional<double> rotary_base;
    std::optional<int64_t> segments; ///< rows of the table of kinds of tokens
    std::optional<int64_t> sequence; ///< tokens of a sample
    bool tied_embeddings = false;    ///< the weights of the head are those of the embedding
    bool unscaled_attention = false; ///< scores are not divided by the root of the head's size
    std::optional<int64_t> vocabulary;

    static Architecture of(const Document &from) {
      Architecture out;
      read(from, "activation", out.activation, "?attention_bias", out.attention_bias, "?attention_dropout",
           out.attention_dropout, "?causal", out.causal, "?class_tokens", out.class_tokens, "?classes", out.classes,
           "?dropout", out.dropout, "?embedding_norm", out.embedding_norm, "?embedding_scale", out.embedding_scale,
           "?encoder_layers", out.encoder_layers, "?encoder_sequence", out.encoder_sequence, "?expert_capacity",
           out.expert_capacity, "?expert_layers", out.expert_layers, "?expert_parameters", out.expert_parameters,
           "?experts", out.experts, "?experts_normalized", out.experts_normalized, "?experts_per_token",
           out.experts_per_token, "family", out.family, "?final_norm", out.final_norm, "?fused_attention",
           out.fused_attention, "?head_bias", out.head_bias, "?head_size", out.head_size, "?head_transform",
           out.head_transform, "?heads", out.heads, "?hidden", out.hidden, "?image_size", out.image_size, "?inner",
           out.inner, "?inner_dropout", out.inner_dropout, "?irregular", out.irregular, "?key_value_heads",
           out.key_value_heads, "?layers", out.layers, "?linear_bias", out.linear_bias, "?logit_scale", out.logit_scale,
           "?max_positions", out.max_positions, "norm", out.norm, "?norm_after", out.norm_after, "?norm_bias",
           out.norm_bias, "?norm_epsilon", out.norm_epsilon, "?not_understood", out.not_understood, "?pair_head",
           out.pair_head, "parameters", out.parameters, "?patch_size", out.patch_size, "positions", out.positions,
           "?predicted_positions", out.predicted_positions, "?relative_buckets", out.relative_buckets,
           "?relative_distance", out.relative_distance, "?rotary_base", out.rotary_base, "?segments", out.segments,
           "?sequence", out.sequence, "?tied_embeddings", out.tied_embeddings, "?unscaled_attention",
           out.unscaled_attention, "?vocabulary", out.vocabulary);
      return out;
    }
  };

  struct Cost {
    struct Alternative {
      int64_t operation = 0;
      std::vector<NamedOperationCost> costs;

      static Alternative of(const Document &from) {
        Alternative out;
        read(from, "operation", out.operation, "costs", out.costs);
        return out;
      }
    };

    std::vector<std::string> assumptions;
    std::vector<NamedOperationCost> operations;
    /// Of operations that could run on another number of instances of their core: what that would cost
    std::vector<Alternative> alternatives;

    static Cost of(const Document &from) {
      Cost out;
      read(from, "assumptions", out.assumptions, "operations", out.operations, "?alternatives", out.alternatives);
      return out;
    }
  };

  struct Graph {
    struct Operation {
      struct Access {
        std::string map;    ///< from the iterators of the domain: (d0, d1, d2) -> (d0, d2)
        std::string shape;  ///< 4x1024x1600xbf16
        std::string tensor; ///< a parameter or the operation that made it; empty for a result
        bool written = false;

        static Access of(const Document &from) {
          Access out;
          read(from, "map", out.map, "shape", out.shape, "tensor", out.tensor, "written", out.written);
          return out;
        }
      };

      struct Part {
        std::string name;
        std::string kind;
        std::string core;
        int64_t flops = 0;
        bool contraction = false;
        std::vector<NamedLoop> domain;
        std::vector<NamedLoopTensor> tensors;
        std::string type;

        static Part of(const Document &from) {
          Part out;
          read(from, "name", out.name, "kind", out.kind, "core", out.core, "flops", out.flops, "contraction",
               out.contraction, "domain", out.domain, "?tensors", out.tensors, "type", out.type);
          return out;
        }
      };

      std::string name;
      std::string kind;
      std::string phase;
      std::string core;
      int64_t flops = 0; ///< of one execution; a multiply-accumulate is 2
      std::optional<std::string> file;
      std::optional<int64_t> line;
      std::optional<int64_t> column;
      std::vector<Access> accesses;
      std::optional<int64_t> body;
      int64_t bytes_read = 0;
      int64_t bytes_written = 0;
      bool causal = false;      ///< attention in one kernel, which leaves out the tiles that a causal mask hides
      bool contraction = false; ///< counts towards model FLOPs
      std::vector<NamedLoop> domain;
      /// Seconds of one execution on any machine; there only if they were measured elsewhere
      std::optional<double> given_s;
      std::vector<int64_t> operands;
      std::vector<Part> parts; ///< of a fused operation: what runs inside of it, in order; its flops are their sum
      int64_t region = 0;
      std::vector<int64_t> results;
      /// Operands, then results; `at` has a list of [loop, stride] for each dimension, whose sum is the position
      std::vector<NamedLoopTensor> tensors;
      std::string type; ///< arithmetic: bf16, fp32, ...

      static Operation of(const Document &from) {
        Operation out;
        read(from, "name", out.name, "kind", out.kind, "phase", out.phase, "core", out.core, "flops", out.flops,
             "?file", out.file, "?line", out.line, "?column", out.column, "?accesses", out.accesses, "?body", out.body,
             "bytes_read", out.bytes_read, "bytes_written", out.bytes_written, "?causal", out.causal, "contraction",
             out.contraction, "?domain", out.domain, "?given_s", out.given_s, "operands", out.operands, "?parts",
             out.parts, "region", out.region, "results", out.results, "?tensors", out.tensors, "type", out.type);
        return out;
      }
    };

    struct Region {
      struct Carried {
        int64_t argument = 0;
        int64_t initial = 0;
        int64_t result = 0;
        int64_t yielded = 0;

        static Carried of(const Document &from) {
          Carried out;
          read(from, "argument", out.argument, "initial", out.initial, "result", out.result, "yielded", out.yielded);
          return out;
        }
      };

      std::string name;
      int64_t count = 0; ///< iterations each time it is entered
      std::vector<int64_t> operations;
      std::vector<Carried> carried;
      std::optional<int64_t> owner;
      std::optional<int64_t> parent;
      bool reverse = false;
      std::vector<NamedSlice> stashed;
      std::vector<NamedSlice> unstashed;

      static Region of(const Document &from) {
        Region out;
        read(from, "name", out.name, "count", out.count, "operations", out.operations, "carried", out.carried, "?owner",
             out.owner, "?parent", out.parent, "?reverse", out.reverse, "stashed", out.stashed, "unstashed",
             out.unstashed);
        return out;
      }
    };

    struct StaticTensor {
      std::string name;
      int64_t bytes = 0;
      std::string category;
      bool quantized = false;

      static StaticTensor of(const Document &from) {
        StaticTensor out;
        read(from, "name", out.name, "bytes", out.bytes, "category", out.category, "?quantized", out.quantized);
        return out;
      }
    };

    struct Value {
      std::string name;
      int64_t bytes = 0; ///< of one instance; of a stack: the whole
      std::optional<int64_t> alias;
      std::string category;
      std::optional<int64_t> region;
      std::optional<int64_t> slices; ///< iterations of a stack

      static Value of(const Document &from) {
        Value out;
        read(from, "name", out.name, "bytes", out.bytes, "?alias", out.alias, "category", out.category, "?region",
             out.region, "?slices", out.slices);
        return out;
      }
    };

    int64_t microbatch = 0;
    int64_t microbatches = 0;
    std::vector<Operation> operations;
    std::string model;
    std::string optimizer;
    int64_t parameters = 0;
    std::string precision;
    std::string recompute;
    std::vector<Region> regions; ///< [0] one micro-batch, [1] the update, then bodies of repeats
    std::vector<StaticTensor> static_tensors;
    std::vector<Value> values;

    static Graph of(const Document &from) {
      Graph out;
      read(from, "microbatch", out.microbatch, "microbatches", out.microbatches, "operations", out.operations, "model",
           out.model, "optimizer", out.optimizer, "parameters", out.parameters, "precision", out.precision, "recompute",
           out.recompute, "regions", out.regions, "static_tensors", out.static_tensors, "values", out.values);
      return out;
    }
  };

  struct Machine {
    struct Calibration {
      std::map<std::string, double> parameters; ///< in base units, by name: `accord calibrate` writes the same names
      std::string source;                       ///< the file, or whose defaults these are

      static Calibration of(const Document &from) {
        Calibration out;
        read(from, "parameters", out.parameters, "source", out.source);
        return out;
      }
    };

    struct Core {
      std::string name;
      std::string kind;
      int64_t count = 0;
      std::map<std::string, double> cycles;
      int64_t cols = 0;
      std::string dataflow;
      double efficiency = 0;
      double half_performance_work_flops = 0;
      int64_t lanes = 0;
      std::string mapping;
      std::map<std::string, NamedOrigin> origins;
      bool overlap_drain = false;
      bool overlap_fill = false;
      std::map<std::string, double> peak_flops_per_s;
      int64_t reads = 0;
      int64_t rows = 0;

      static Core of(const Document &from) {
        Core out;
        read(from, "name", out.name, "kind", out.kind, "count", out.count, "cycles", out.cycles, "cols", out.cols,
             "dataflow", out.dataflow, "efficiency", out.efficiency, "half_performance_work_flops",
             out.half_performance_work_flops, "lanes", out.lanes, "mapping", out.mapping, "origins", out.origins,
             "overlap_drain", out.overlap_drain, "overlap_fill", out.overlap_fill, "peak_flops_per_s",
             out.peak_flops_per_s, "reads", out.reads, "rows", out.rows);
        return out;
      }
    };

    struct Memory {
      std::string name;
      std::string kind;
      double bandwidth_bytes_per_s = 0;
      double capacity_bytes = 0;
      bool double_buffered = false;
      double efficiency = 0;
      double energy_per_byte_J = 0;
      double latency_s = 0;
      std::map<std::string, NamedOrigin> origins;
      std::optional<double> sector_bytes;

      static Memory of(const Document &from) {
        Memory out;
        read(from, "name", out.name, "kind", out.kind, "bandwidth_bytes_per_s", out.bandwidth_bytes_per_s,
             "capacity_bytes", out.capacity_bytes, "double_buffered", out.double_buffered, "efficiency", out.efficiency,
             "energy_per_byte_J", out.energy_per_byte_J, "latency_s", out.latency_s, "origins", out.origins,
             "?sector_bytes", out.sector_bytes);
        return out;
      }
    };

    std::string name;
    std::optional<std::string> file;
    std::optional<int64_t> line;
    std::optional<int64_t> column;
    std::optional<double> area_m2;
    /// The efficiency that measured steps, or those of other machines, give it
    std::optional<Calibration> calibration;
    double clock_hz = 0;
    std::vector<Core> cores;
    std::string cost_model;
    double energy_per_flop_J = 0;
    std::map<std::string, double> energy_per_flop_by_type_J;
    std::optional<double> host_bandwidth_bytes_per_s;
    double host_overhead_per_microbatch_s = 0;
    double host_overhead_per_step_s = 0;
    double idle_W = 0;
    double kernel_launch_overhead_s = 0;
    std::vector<Memory> memories;
    std::map<std::string, NamedOrigin> origins;
    double tdp_W = 0;

    static Machine of(const Document &from) {
      Machine out;
      read(from, "name", out.name, "?file", out.file, "?line", out.line, "?column", out.column, "?area_m2", out.area_m2,
           "?calibration", out.calibration, "clock_hz", out.clock_hz, "cores", out.cores, "cost_model", out.cost_model,
           "energy_per_flop_J", out.energy_per_flop_J, "?energy_per_flop_by_type_J", out.energy_per_flop_by_type_J,
           "?host_bandwidth_bytes_per_s", out.host_bandwidth_bytes_per_s, "host_overhead_per_microbatch_s",
           out.host_overhead_per_microbatch_s, "host_overhead_per_step_s", out.host_overhead_per_step_s, "idle_W",
           out.idle_W, "kernel_launch_overhead_s", out.kernel_launch_overhead_s, "memories", out.memories, "origins",
           out.origins, "tdp_W", out.tdp_W);
      return out;
    }
  };

  struct Run {
    struct Estimate {
      NamedRunValue time_s; ///< calendar time
      NamedRunValue energy_J;
      NamedRunValue carbon_g;
      double checkpoint_interval_s = 0; ///< of training between two checkpoints
      double checkpoint_s = 0;          ///< of writing one
      double checkpoints_s = 0;
      NamedRunValue device_hours;
      NamedRunValue goodput;       ///< effective training time ratio
      NamedRunValue interruptions; ///< failures, those during outages among them
      double lost_work_s = 0;
      double outages_s = 0;
      NamedRunValue price;
      /// Minimum of spare servers with which at most 0.1 % of the time is spent waiting for repair
      int64_t spare_servers_needed = 0;
      double step_s = 0; ///< means of what the calendar time consists of: this one and the next five
      double stragglers_s = 0;
      double waiting_for_repair_s = 0;

      static Estimate of(const Document &from) {
        Estimate out;
        read(from, "time_s", out.time_s, "energy_J", out.energy_J, "carbon_g", out.carbon_g, "checkpoint_interval_s",
             out.checkpoint_interval_s, "checkpoint_s", out.checkpoint_s, "checkpoints_s", out.checkpoints_s,
             "device_hours", out.device_hours, "goodput", out.goodput, "interruptions", out.interruptions,
             "lost_work_s", out.lost_work_s, "outages_s", out.outages_s, "price", out.price, "spare_servers_needed",
             out.spare_servers_needed, "step_s", out.step_s, "stragglers_s", out.stragglers_s, "waiting_for_repair_s",
             out.waiting_for_repair_s);
        return out;
      }
    };

    struct Problem {
      NamedRunInput step_time_s; ///< without stragglers
      bool asynchronous = false;
      NamedRunInput blocking_s; ///< of an asynchronous checkpoint
      double carbon_g_per_J = 0;
      double checkpoint_bytes = 0;
      NamedRunInput checkpoint_bytes_per_s;
      NamedRunInput detection_s;
      int64_t devices = 0;
      NamedRunInput energy_per_step_J;
      NamedRunInput failures_per_s; ///< of one device in a second
      double idle_W = 0;            ///< of all devices while no step runs
      double interval_s = 0;        ///< as asked for; 0: the best is chosen
      double price_per_s = 0;
      NamedRunInput repair_s;
      double repair_share = 0; ///< of failures
      NamedRunInput restart_s;
      double samples = 0; ///< that all steps see together
      int64_t servers = 0;
      NamedRunInput slowdown;    ///< share by which stragglers lengthen a step
      int64_t spare_servers = 0; ///< -1: always enough
      double steps = 0;

      static Problem of(const Document &from) {
        Problem out;
        read(from, "step_time_s", out.step_time_s, "asynchronous", out.asynchronous, "blocking_s", out.blocking_s,
             "carbon_g_per_J", out.carbon_g_per_J, "checkpoint_bytes", out.checkpoint_bytes, "checkpoint_bytes_per_s",
             out.checkpoint_bytes_per_s, "detection_s", out.detection_s, "devices", out.devices, "energy_per_step_J",
             out.energy_per_step_J, "failures_per_s", out.failures_per_s, "idle_W", out.idle_W, "interval_s",
             out.interval_s, "price_per_s", out.price_per_s, "repair_s", out.repair_s, "repair_share", out.repair_share,
             "restart_s", out.restart_s, "samples", out.samples, "servers", out.servers, "slowdown", out.slowdown,
             "spare_servers", out.spare_servers, "steps", out.steps);
        return out;
      }
    };

    std::vector<std::string> assumptions;
    Estimate estimate;
    Problem problem;

    static Run of(const Document &from) {
      Run out;
      read(from, "assumptions", out.assumptions, "estimate", out.estimate, "problem", out.problem);
      return out;
    }
  };

  struct Schedule {
    struct Region {
      struct Proven {
        struct Step {
          bool early = false;
          int64_t from = 0;
          int64_t other = 0;
          std::string rule;
          int64_t task = 0;
          std::vector<int64_t> tasks;
          int64_t time = 0;
          int64_t to = 0;

          static Step of(const Document &from) {
            Step out;
            read(from, "early", out.early, "from", out.from, "other", out.other, "rule", out.rule, "task", out.task,
                 "?tasks", out.tasks, "time", out.time, "to", out.to);
            return out;
          }
        };

        std::string kind;
        std::string proof;
        int64_t resource = 0;
        std::vector<Step> steps;
        std::vector<int64_t> tasks;
        std::optional<int64_t> unit_ps;
        int64_t value_ps = 0;
        /// Of `tasks`, times `unit_ps`: none that may run at once have more than 1 as the sum of weight / duration
        std::vector<int64_t> weights;

        static Proven of(const Document &from) {
          Proven out;
          read(from, "kind", out.kind, "proof", out.proof, "resource", out.resource, "steps", out.steps, "tasks",
               out.tasks, "?unit_ps", out.unit_ps, "value_ps", out.value_ps, "?weights", out.weights);
          return out;
        }
      };

      struct Slot {
        int64_t core = 0;
        int64_t instance = 0;
        int64_t operation = 0;
        int64_t start_ps = 0;
        int64_t duration_ps = 0;

        static Slot of(const Document &from) {
          Slot out;
          read(from, "core", out.core, "instance", out.instance, "operation", out.operation, "start_ps", out.start_ps,
               "duration_ps", out.duration_ps);
          return out;
        }
      };

      int64_t critical_path_ps = 0;
      int64_t length_ps = 0; ///< from the start of one iteration to that of the next
      /// How long an iteration goes on after the next has started, where iterations overlap
      std::optional<int64_t> overhang_ps;
      std::optional<Proven> proven;
      int64_t resource_bound_ps = 0;
      std::vector<Slot> slots;

      static Region of(const Document &from) {
        Region out;
        read(from, "critical_path_ps", out.critical_path_ps, "length_ps", out.length_ps, "?overhang_ps",
             out.overhang_ps, "?proven", out.proven, "resource_bound_ps", out.resource_bound_ps, "slots", out.slots);
        return out;
      }
    };

    std::string proof;
    int64_t bound_ps = 0;
    std::vector<Region> regions;
    int64_t step_ps = 0;
    std::optional<std::string> stopped;

    static Schedule of(const Document &from) {
      Schedule out;
      read(from, "proof", out.proof, "bound_ps", out.bound_ps, "regions", out.regions, "step_ps", out.step_ps,
           "?stopped", out.stopped);
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

  struct WhatIf {
    double step_time_s = 0;
    double throughput = 0;
    std::string change;
    bool feasible = false;
    int64_t memory_bytes = 0;
    std::string note; ///< what it gains

    static WhatIf of(const Document &from) {
      WhatIf out;
      read(from, "step_time_s", out.step_time_s, "throughput", out.throughput, "change", out.change, "feasible",
           out.feasible, "memory_bytes", out.memory_bytes, "note", out.note);
      return out;
    }
  };

  int64_t schema = 0;
  std::string command;
  std::string version; ///< version of accord that wrote this
  std::string status;
  std::string job;
  Objective objective;
  Bound bound;    ///< no plan of this space is better
  double gap = 0; ///< distance to the bound as a share
  double step_time_s = 0;
  double throughput = 0; ///< samples per second
  int64_t batch = 0;     ///< samples per step
  int64_t tensor_parallel = 0;
  int64_t pipeline_parallel = 0;
  int64_t data_parallel = 0;
  int64_t microbatch = 0;
  int64_t microbatches = 0;
  double energy_J = 0; ///< of one step
  double flops = 0;    ///< of all operations of one step
  std::vector<Stage> stages;
  Memory memory;
  std::vector<Conflict> conflict;
  std::vector<std::string> assumptions;
  std::optional<Architecture> architecture; ///< what frameworks call the model
  Cost costs;
  std::vector<int64_t> critical_path;
  /// Of an infeasible plan: micro-batch sizes and kinds of recomputation that bounds exclude, all there are
  std::optional<int64_t> excluded_candidates;
  Graph graph;
  Machine machine;
  double mfu = 0;         ///< model FLOPs utilization, a share
  double model_flops = 0; ///< multiply-accumulates of one step, times 2
  std::string recompute;
  std::optional<Run> run; ///< all steps, with failures, where the job states how long to train
  Schedule schedule;
  std::optional<int64_t> sequence; ///< tokens of a sample
  /// 90 of 100 measured steps lie between `low_s` and `high_s`; `ideal_s`: at the rates of the data sheet
  std::optional<StepTimeEstimate> step_time_estimate;
  std::vector<std::vector<int64_t>> timing_ps; ///< earliest and latest start of each operation in its region
  std::vector<WhatIf> what_if;                 ///< the same training with one thing changed, planned anew

  /// Throws NoSuchValue where the document is another one.
  static Plan of(const Document &from) {
    Plan out;
    read(from, "schema", out.schema, "command", out.command, "version", out.version, "status", out.status, "job",
         out.job, "objective", out.objective, "bound", out.bound, "gap", out.gap, "step_time_s", out.step_time_s,
         "throughput", out.throughput, "batch", out.batch, "tensor_parallel", out.tensor_parallel, "pipeline_parallel",
         out.pipeline_parallel, "data_parallel", out.data_parallel, "microbatch", out.microbatch, "microbatches",
         out.microbatches, "energy_J", out.energy_J, "flops", out.flops, "stages", out.stages, "memory", out.memory,
         "conflict", out.conflict, "assumptions", out.assumptions, "?architecture", out.architecture, "costs",
         out.costs, "critical_path", out.critical_path, "?excluded_candidates", out.excluded_candidates, "graph",
         out.graph, "machine", out.machine, "mfu", out.mfu, "model_flops", out.model_flops, "recompute", out.recompute,
         "?run", out.run, "schedule", out.schedule, "?sequence", out.sequence, "?step_time_estimate",
         out.step_time_estimate, "timing_ps", out.timing_ps, "?what_if", out.what_if);
    return out;
  }
};

} // namespace accord::results
