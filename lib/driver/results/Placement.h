// The document of `accord compile --json of a cluster, plan.json`: Stages on groups of devices: what accord verify,
// explain, diff and emit read, with certificate/placement.json, from which it follows. Times in _s are seconds. Written
// by scripts/results.py from docs/schema/placement.schema.json. Units are in the names.
#pragma once
#include "lib/driver/results/Read.h"

namespace accord::results {

struct Placement {
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
    struct Memory {
      int64_t activations_bytes = 0;
      /// With buckets of gradients, as the allocator of the framework counts at its peak; where one is stated
      std::optional<int64_t> allocated_bytes;
      int64_t capacity_bytes = 0;                   ///< what a plan may use of the device
      std::optional<int64_t> device_capacity_bytes; ///< of the device
      int64_t gradients_bytes = 0;
      std::optional<int64_t> host_bytes; ///< of the host's memory, for one device; none unless stated
      /// With contexts and communication buffers, as a tool of the driver shows
      std::optional<int64_t> on_device_bytes;
      int64_t optimizer_states_bytes = 0;
      int64_t peak_bytes = 0;                ///< their sum
      std::optional<int64_t> reserved_bytes; ///< what the allocator has then
      int64_t weights_bytes = 0;
      int64_t workspace_bytes = 0;

      static Memory of(const Document &from) {
        Memory out;
        read(from, "activations_bytes", out.activations_bytes, "?allocated_bytes", out.allocated_bytes,
             "capacity_bytes", out.capacity_bytes, "?device_capacity_bytes", out.device_capacity_bytes,
             "gradients_bytes", out.gradients_bytes, "?host_bytes", out.host_bytes, "?on_device_bytes",
             out.on_device_bytes, "optimizer_states_bytes", out.optimizer_states_bytes, "peak_bytes", out.peak_bytes,
             "?reserved_bytes", out.reserved_bytes, "weights_bytes", out.weights_bytes, "workspace_bytes",
             out.workspace_bytes);
        return out;
      }
    };

    struct Device {
      int64_t count = 0;
      std::string device_type;
      int64_t first = 0; ///< rank within the device type
      int64_t first_node = 0;
      int64_t nodes = 0;

      static Device of(const Document &from) {
        Device out;
        read(from, "count", out.count, "device_type", out.device_type, "first", out.first, "first_node", out.first_node,
             "nodes", out.nodes);
        return out;
      }
    };

    struct ParallelConfig {
      int64_t microbatch = 0;
      /// Devices that share each sample along its sequence, beside data; 1 unless stated
      std::optional<int64_t> context;
      std::optional<std::string> context_exchange; ///< how keys and values of other parts of a sequence come
      int64_t data = 0;
      std::optional<int64_t> expert; ///< replicas that divide the experts; 1 unless stated
      /// Tensor parallel devices that divide each expert's matrices; 1 unless stated
      std::optional<int64_t> expert_tensor;
      bool optimizer_on_host = false;
      std::optional<std::string> rank_order; ///< tensor_data_pipeline unless stated
      bool ring_overlap = false;             ///< products in pieces, beside the exchange of others
      bool sequence = false;
      std::optional<std::string> tables; ///< of embedding tables that replicas divide
      int64_t tensor = 0;
      bool weights_on_host = false;
      int64_t zero = 0; ///< ZeRO stage

      static ParallelConfig of(const Document &from) {
        ParallelConfig out;
        read(from, "microbatch", out.microbatch, "?context", out.context, "?context_exchange", out.context_exchange,
             "data", out.data, "?expert", out.expert, "?expert_tensor", out.expert_tensor, "?optimizer_on_host",
             out.optimizer_on_host, "?rank_order", out.rank_order, "?ring_overlap", out.ring_overlap, "sequence",
             out.sequence, "?tables", out.tables, "tensor", out.tensor, "?weights_on_host", out.weights_on_host, "zero",
             out.zero);
        return out;
      }
    };

    struct Recompute {
      int64_t count = 0;
      std::vector<std::string> layers;
      std::string policy;

      static Recompute of(const Document &from) {
        Recompute out;
        read(from, "count", out.count, "layers", out.layers, "policy", out.policy);
        return out;
      }
    };

    struct Step {
      double backward_s = 0;
      double bubble_s = 0;
      double forward_s = 0;
      double gradient_sync_s = 0;
      double host_s = 0;
      double recompute_s = 0;
      double transfer_s = 0;
      double update_s = 0;

      static Step of(const Document &from) {
        Step out;
        read(from, "backward_s", out.backward_s, "bubble_s", out.bubble_s, "forward_s", out.forward_s,
             "gradient_sync_s", out.gradient_sync_s, "host_s", out.host_s, "recompute_s", out.recompute_s, "transfer_s",
             out.transfer_s, "update_s", out.update_s);
        return out;
      }
    };

    std::optional<Memory> memory; ///< of one device
    double backward_s = 0;        ///< of one micro-batch, with both gradients and what is computed again
    std::optional<double> bubble; ///< of the step
    std::optional<Device> devices;
    double forward_s = 0; ///< of one micro-batch, with what is received
    int64_t group = 0;
    /// Micro-batches whose activations it holds when the memory use of its devices is highest
    int64_t in_flight = 0;
    int64_t layer_count = 0;
    std::vector<std::string> layers; ///< names; runs as block[0..11]
    ParallelConfig parallel_config;
    std::vector<Recompute> recompute;
    std::optional<Step> step; ///< where the time of a device goes in one step
    int64_t virtual_stage = 0;

    static Stage of(const Document &from) {
      Stage out;
      read(from, "?memory", out.memory, "backward_s", out.backward_s, "?bubble", out.bubble, "?devices", out.devices,
           "forward_s", out.forward_s, "group", out.group, "in_flight", out.in_flight, "layer_count", out.layer_count,
           "layers", out.layers, "parallel_config", out.parallel_config, "recompute", out.recompute, "?step", out.step,
           "virtual_stage", out.virtual_stage);
      return out;
    }
  };

  struct Memory {
    int64_t activations_bytes = 0;
    /// With buckets of gradients, as the allocator of the framework counts at its peak; where one is stated
    std::optional<int64_t> allocated_bytes;
    int64_t capacity_bytes = 0;                   ///< what a plan may use of the device
    std::optional<int64_t> device_capacity_bytes; ///< of the device
    int64_t gradients_bytes = 0;
    std::optional<int64_t> host_bytes; ///< of the host's memory, for one device; none unless stated
    /// With contexts and communication buffers, as a tool of the driver shows
    std::optional<int64_t> on_device_bytes;
    int64_t optimizer_states_bytes = 0;
    int64_t peak_bytes = 0;                ///< their sum
    std::optional<int64_t> reserved_bytes; ///< what the allocator has then
    int64_t stage = 0;
    int64_t weights_bytes = 0;
    int64_t workspace_bytes = 0;

    static Memory of(const Document &from) {
      Memory out;
      read(from, "activations_bytes", out.activations_bytes, "?allocated_bytes", out.allocated_bytes, "capacity_bytes",
           out.capacity_bytes, "?device_capacity_bytes", out.device_capacity_bytes, "gradients_bytes",
           out.gradients_bytes, "?host_bytes", out.host_bytes, "?on_device_bytes", out.on_device_bytes,
           "optimizer_states_bytes", out.optimizer_states_bytes, "peak_bytes", out.peak_bytes, "?reserved_bytes",
           out.reserved_bytes, "stage", out.stage, "weights_bytes", out.weights_bytes, "workspace_bytes",
           out.workspace_bytes);
      return out;
    }
  };

  struct Conflict {
    std::string constraint;
    std::string file;
    int64_t line = 0;
    std::optional<std::string> detail;

    static Conflict of(const Document &from) {
      Conflict out;
      read(from, "constraint", out.constraint, "file", out.file, "line", out.line, "?detail", out.detail);
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

  struct Communication {
    double time_s = 0;               ///< each time
    double bytes = 0;                ///< each time
    std::optional<double> exposed_s; ///< not hidden behind the backward pass
    std::optional<int64_t> from_stage;
    bool intra_node = false;
    int64_t per_step = 0; ///< how often
    std::optional<int64_t> stage;
    std::optional<int64_t> to_stage;
    std::string what;

    static Communication of(const Document &from) {
      Communication out;
      read(from, "time_s", out.time_s, "bytes", out.bytes, "?exposed_s", out.exposed_s, "?from_stage", out.from_stage,
           "intra_node", out.intra_node, "per_step", out.per_step, "?stage", out.stage, "?to_stage", out.to_stage,
           "what", out.what);
      return out;
    }
  };

  struct Framework {
    std::string name;
    int64_t communication_bytes = 0; ///< outside of the allocator
    double confidence = 0;           ///< of the margin
    int64_t context_bytes = 0;       ///< outside of the allocator
    double margin = 0;               ///< share that the prediction may be too low
    double reserved_ratio = 0;       ///< reserved over allocated bytes

    static Framework of(const Document &from) {
      Framework out;
      read(from, "name", out.name, "communication_bytes", out.communication_bytes, "confidence", out.confidence,
           "context_bytes", out.context_bytes, "margin", out.margin, "reserved_ratio", out.reserved_ratio);
      return out;
    }
  };

  struct Group {
    struct Stage {
      struct Data {
        int64_t count = 0;
        int64_t first = 0;
        int64_t stride = 0;

        static Data of(const Document &from) {
          Data out;
          read(from, "count", out.count, "first", out.first, "stride", out.stride);
          return out;
        }
      };

      struct Tensor {
        int64_t count = 0;
        int64_t first = 0;
        int64_t stride = 0;

        static Tensor of(const Document &from) {
          Tensor out;
          read(from, "count", out.count, "first", out.first, "stride", out.stride);
          return out;
        }
      };

      Data data;
      int64_t data_groups = 0;
      std::string device_type;
      Tensor tensor;
      int64_t tensor_groups = 0; ///< such groups in the stage

      static Stage of(const Document &from) {
        Stage out;
        read(from, "data", out.data, "data_groups", out.data_groups, "device_type", out.device_type, "tensor",
             out.tensor, "tensor_groups", out.tensor_groups);
        return out;
      }
    };

    std::vector<Stage> stages;           ///< the first tensor and data group of each device group
    std::vector<int64_t> first_pipeline; ///< ranks of the first pipeline group, each within its device type
    std::string rule;

    static Group of(const Document &from) {
      Group out;
      read(from, "stages", out.stages, "first_pipeline", out.first_pipeline, "rule", out.rule);
      return out;
    }
  };

  struct ParetoFront {
    double step_time_s = 0;
    double throughput = 0; ///< samples per second
    double energy_J = 0;   ///< of one step
    int64_t devices = 0;
    int64_t memory_bytes = 0; ///< of the device whose memory use is highest
    std::string parallel_degrees;
    double price = 0; ///< of one step
    std::string what;

    static ParetoFront of(const Document &from) {
      ParetoFront out;
      read(from, "step_time_s", out.step_time_s, "throughput", out.throughput, "energy_J", out.energy_J, "devices",
           out.devices, "memory_bytes", out.memory_bytes, "parallel_degrees", out.parallel_degrees, "price", out.price,
           "what", out.what);
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

  struct RunnersUp {
    double value = 0; ///< of the objective
    double gap = 0;   ///< share of the objective by which another plan of these degrees may be better
    double step_time_s = 0;
    int64_t tensor_parallel = 0;
    int64_t pipeline_parallel = 0;
    int64_t data_parallel = 0;
    int64_t microbatch = 0;
    int64_t microbatches = 0;
    double bubble = 0; ///< of the devices' time
    std::optional<int64_t> context_parallel;
    int64_t devices = 0;
    bool fits = false;
    int64_t memory_bytes = 0; ///< of its device whose memory use is highest
    double relative_loss = 0; ///< share that the objective is worse
    std::string schedule;
    bool sequence_parallel = false;
    bool uniform_config = false;
    int64_t virtual_stages = 0;
    int64_t zero = 0; ///< ZeRO stage

    static RunnersUp of(const Document &from) {
      RunnersUp out;
      read(from, "value", out.value, "gap", out.gap, "step_time_s", out.step_time_s, "tensor_parallel",
           out.tensor_parallel, "pipeline_parallel", out.pipeline_parallel, "data_parallel", out.data_parallel,
           "microbatch", out.microbatch, "microbatches", out.microbatches, "bubble", out.bubble, "?context_parallel",
           out.context_parallel, "devices", out.devices, "fits", out.fits, "memory_bytes", out.memory_bytes,
           "relative_loss", out.relative_loss, "schedule", out.schedule, "sequence_parallel", out.sequence_parallel,
           "uniform_config", out.uniform_config, "virtual_stages", out.virtual_stages, "zero", out.zero);
      return out;
    }
  };

  struct Sparsity {
    struct Accuracy {
      std::vector<std::string> assumptions;
      std::string basis;
      std::string confidence;
      bool guaranteed = false;
      std::vector<std::string> inputs;
      std::string metric;
      std::string min_accuracy; ///< an exact fraction
      double min_accuracy_fraction = 0;
      std::optional<std::string> required;

      static Accuracy of(const Document &from) {
        Accuracy out;
        read(from, "assumptions", out.assumptions, "basis", out.basis, "confidence", out.confidence, "guaranteed",
             out.guaranteed, "inputs", out.inputs, "metric", out.metric, "min_accuracy", out.min_accuracy,
             "min_accuracy_fraction", out.min_accuracy_fraction, "?required", out.required);
        return out;
      }
    };

    struct Budget {
      int64_t max = 0;
      int64_t used = 0;
      std::string what;

      static Budget of(const Document &from) {
        Budget out;
        read(from, "max", out.max, "used", out.used, "what", out.what);
        return out;
      }
    };

    struct Decision {
      std::vector<std::string> layers;
      std::string option;
      int64_t options = 0; ///< to choose from

      static Decision of(const Document &from) {
        Decision out;
        read(from, "layers", out.layers, "option", out.option, "options", out.options);
        return out;
      }
    };

    std::optional<Accuracy> accuracy;
    std::vector<Budget> budgets;
    std::vector<Decision> decisions;   ///< layers that are decided together
    std::optional<double> dense_value; ///< of the objective, of the best dense plan that was found
    int64_t parts = 0;                 ///< parts of the choices of zeros that the search looked at

    static Sparsity of(const Document &from) {
      Sparsity out;
      read(from, "?accuracy", out.accuracy, "budgets", out.budgets, "decisions", out.decisions, "?dense_value",
           out.dense_value, "parts", out.parts);
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

  struct Traffic {
    struct Flow {
      std::string kind;
      double bytes = 0;
      int64_t group = 0;
      int64_t link = 0; ///< position among the links

      static Flow of(const Document &from) {
        Flow out;
        read(from, "kind", out.kind, "bytes", out.bytes, "group", out.group, "link", out.link);
        return out;
      }
    };

    struct Link {
      struct BytesByKind {
        std::optional<double> context;
        std::optional<double> data;
        std::optional<double> expert;
        std::optional<double> host;
        std::optional<double> pipeline;
        std::optional<double> tables;
        std::optional<double> tensor;

        static BytesByKind of(const Document &from) {
          BytesByKind out;
          read(from, "?context", out.context, "?data", out.data, "?expert", out.expert, "?host", out.host, "?pipeline",
               out.pipeline, "?tables", out.tables, "?tensor", out.tensor);
          return out;
        }
      };

      std::string name;
      double bytes = 0;                    ///< sent by all devices
      double bandwidth = 0;                ///< of one link in one direction, bytes/s
      std::optional<double> busiest_bytes; ///< that these devices send
      std::optional<int64_t> busiest_rank; ///< first rank of the devices whose link carries more than any other one
      BytesByKind bytes_by_kind;           ///< of these, by what they are sent for
      std::string device_type;
      int64_t devices = 0;    ///< that share one link
      int64_t used = 0;       ///< links that carry any
      double utilization = 0; ///< share of the step for which that link carries them at its bandwidth

      static Link of(const Document &from) {
        Link out;
        read(from, "name", out.name, "bytes", out.bytes, "bandwidth", out.bandwidth, "?busiest_bytes",
             out.busiest_bytes, "?busiest_rank", out.busiest_rank, "bytes_by_kind", out.bytes_by_kind, "device_type",
             out.device_type, "devices", out.devices, "used", out.used, "utilization", out.utilization);
        return out;
      }
    };

    std::optional<int64_t> busiest_link; ///< of the links, the position of that with the highest utilization
    std::vector<Flow> flows;             ///< of each device of a stage's group, the mean over them
    /// Each a kind of equal links: a level of a network, or what joins devices to their hosts
    std::vector<Link> links;

    static Traffic of(const Document &from) {
      Traffic out;
      read(from, "?busiest_link", out.busiest_link, "flows", out.flows, "links", out.links);
      return out;
    }
  };

  struct Training {
    double time_s = 0;
    double energy_J = 0;
    double price = 0;
    double samples = 0;
    double steps = 0;
    std::optional<double> tokens;

    static Training of(const Document &from) {
      Training out;
      read(from, "time_s", out.time_s, "energy_J", out.energy_J, "price", out.price, "samples", out.samples, "steps",
           out.steps, "?tokens", out.tokens);
      return out;
    }
  };

  struct WhatIf {
    double value = 0; ///< of the objective then
    std::string what;

    static WhatIf of(const Document &from) {
      WhatIf out;
      read(from, "value", out.value, "what", out.what);
      return out;
    }
  };

  int64_t schema = 0;
  std::string command;
  std::string version; ///< version of accord that wrote this
  std::string status;  ///< unknown: the search ended before it found a plan or proved that none fits
  std::string job;
  std::string kind;
  std::optional<Objective> objective;
  std::optional<Bound> bound; ///< no plan of this space is better
  std::optional<double> gap;  ///< distance to the bound as a share
  std::optional<double> step_time_s;
  std::optional<double> throughput;         ///< samples per second
  int64_t batch = 0;                        ///< samples per step
  std::optional<int64_t> tensor_parallel;   ///< of the first stage
  std::optional<int64_t> pipeline_parallel; ///< device groups in a row
  std::optional<int64_t> data_parallel;     ///< of the first stage
  std::optional<int64_t> microbatch;
  std::optional<int64_t> microbatches;
  std::optional<double> energy_J; ///< of one step, of devices and hosts
  /// In their order; stage s is on device group s modulo pipeline_parallel, and what belongs to the group stands at its
  /// first stage
  std::vector<Stage> stages;
  std::optional<Memory> memory; ///< of the device whose memory use is highest
  std::vector<Conflict> conflict;
  std::vector<std::string> assumptions;
  std::optional<Architecture> architecture; ///< what frameworks call the model, where it was looked for
  std::optional<double> bubble;             ///< of the devices' time
  std::string certificate_sha256;           ///< of certificate/placement.json, from which this follows
  std::string cluster;
  std::vector<Communication> communication; ///< of one device
  /// Of the first stage, where devices share samples along their sequences; beside data_parallel
  std::optional<int64_t> context_parallel;
  std::optional<int64_t> devices;     ///< used
  std::optional<Framework> framework; ///< what a framework makes of memory; where one is stated
  std::optional<Group> groups;
  std::optional<double> host_power_W; ///< of the hosts alone, in W
  int64_t layers = 0;
  /// Model FLOPs utilization of the devices used, a share; only where their peak is known
  std::optional<double> mfu;
  std::string model;
  double model_flops = 0; ///< of one step
  std::string optimizer;
  int64_t parameters = 0;
  /// This plan and those with fewer devices or less memory, none of which beats another in everything
  std::vector<ParetoFront> pareto_front;
  std::string precision;
  std::optional<double> price;          ///< of one step
  std::vector<std::string> relaxations; ///< what would make it feasible
  std::optional<Run> run;               ///< all steps, with failures, where the job states how long to train
  std::vector<RunnersUp> runners_up;    ///< best first
  std::optional<std::string> schedule;
  bool sequence_parallel = false;
  std::map<std::string, int64_t> sizes; ///< integer parameters of the model, by name
  std::optional<Sparsity> sparsity;     ///< zeros of layers, chosen together with the placement
  /// 90 of 100 measured steps lie between `low_s` and `high_s`; `ideal_s`: these degrees at the rates of the data sheet
  std::optional<StepTimeEstimate> step_time_estimate;
  std::optional<Traffic> traffic;        ///< what devices send over which links in one step, inside of layers, too
  std::optional<Training> training;      ///< all steps, where the job states samples or tokens to train on
  bool uniform_config = false;           ///< all stages have the degrees of the first
  std::optional<int64_t> virtual_stages; ///< stages of each device group
  std::vector<WhatIf> what_if;
  std::optional<int64_t> zero; ///< ZeRO stage

  /// Throws NoSuchValue where the document is another one.
  static Placement of(const Document &from) {
    Placement out;
    read(from, "schema", out.schema, "command", out.command, "version", out.version, "status", out.status, "job",
         out.job, "kind", out.kind, "?objective", out.objective, "?bound", out.bound, "?gap", out.gap, "?step_time_s",
         out.step_time_s, "?throughput", out.throughput, "batch", out.batch, "?tensor_parallel", out.tensor_parallel,
         "?pipeline_parallel", out.pipeline_parallel, "?data_parallel", out.data_parallel, "?microbatch",
         out.microbatch, "?microbatches", out.microbatches, "?energy_J", out.energy_J, "?stages", out.stages, "?memory",
         out.memory, "conflict", out.conflict, "assumptions", out.assumptions, "?architecture", out.architecture,
         "?bubble", out.bubble, "certificate_sha256", out.certificate_sha256, "cluster", out.cluster, "?communication",
         out.communication, "?context_parallel", out.context_parallel, "?devices", out.devices, "?framework",
         out.framework, "?groups", out.groups, "?host_power_W", out.host_power_W, "layers", out.layers, "?mfu", out.mfu,
         "model", out.model, "model_flops", out.model_flops, "optimizer", out.optimizer, "parameters", out.parameters,
         "pareto_front", out.pareto_front, "precision", out.precision, "?price", out.price, "relaxations",
         out.relaxations, "?run", out.run, "runners_up", out.runners_up, "?schedule", out.schedule,
         "?sequence_parallel", out.sequence_parallel, "sizes", out.sizes, "?sparsity", out.sparsity,
         "?step_time_estimate", out.step_time_estimate, "?traffic", out.traffic, "?training", out.training,
         "?uniform_config", out.uniform_config, "?virtual_stages", out.virtual_stages, "what_if", out.what_if, "?zero",
         out.zero);
    return out;
  }
};

} // namespace accord::results
