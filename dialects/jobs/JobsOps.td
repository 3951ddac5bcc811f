// Operations of the jobs dialect.
#ifndef ACCORD_JOBS_OPS
#define ACCORD_JOBS_OPS

include "dialects/jobs/JobsDialect.td"
include "mlir/IR/CommonAttrConstraints.td"
include "mlir/IR/SymbolInterfaces.td"

class Jobs_Op<string word, list<Trait> traits = []> : Op<Jobs_Dialect, word, traits> {
  bit plain = 1; // whether its builder takes values
  let skipDefaultBuilders = 1;
  let builders = [Accord_Builder<results, arguments, !size(regions), plain>.builder];
}

/// Seconds, slots or amounts, never negative.
defvar Jobs_Natural = ConfinedAttr<I64Attr, [IntNonNegative]>;
defvar Jobs_Count = ConfinedAttr<I64Attr, [IntPositive]>;

def Jobs_ProblemOp : Jobs_Op<"problem", [Symbol, NoTerminator, SingleBlock, NoRegionArguments, IsolatedFromAbove]> {
  let summary = "jobs, what they share, and what their schedule minimizes";
  let description = [{
    The first objective is minimized, among its best the second, and so on. `carbon` is micrograms for each joule, in
    steps over the slots: `120, 80 from 24`. `tail` jobs are left out of `tail_completion`.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, Jobs_Count:$slots, Jobs_Count:$slot, StrArrayAttr:$objectives,
                       OptionalAttr<Jobs_Natural>:$tail, OptionalAttr<DenseI64ArrayAttr>:$carbon);
  let plain = 0;
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $sym_name `slots` $slots `of` $slot `s` `minimize` $objectives (`tail` $tail^)? (`carbon` custom<Steps>($carbon)^)?
    attr-dict-with-keyword $body
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

class Jobs_ProblemPart<string word, list<Trait> traits = []>
    : Jobs_Op<word, !listconcat([HasParent<"ProblemOp">], traits)>;

def Jobs_ResourceOp : Jobs_ProblemPart<"resource"> {
  let summary = "something of which there is only so much in each slot: devices, watts, a quota";
  let description = "`capacity 16, 8 from 4`: 16 in the slots before 4, then 8.";
  let arguments = (ins StrAttr:$name, DenseI64ArrayAttr:$capacity);
  let plain = 0;
  let assemblyFormat = "$name `capacity` custom<Steps>($capacity) attr-dict";
  let hasVerifier = 1;
}

def Jobs_ServersOp : Jobs_ProblemPart<"servers"> {
  let summary = "servers with devices of one type; all servers of a problem are numbered from 0 in their order";
  let description = "A resource that is named as the type is the devices of these servers.";
  let arguments = (ins Jobs_Count:$count, StrAttr:$type, Jobs_Count:$devices);
  let assemblyFormat = "$count `of` $type `devices` $devices attr-dict";
}

def Jobs_GroupOp : Jobs_ProblemPart<"group"> {
  let summary = "a tenant: its jobs wait as its share says";
  let arguments = (ins StrAttr:$name, Jobs_Count:$share);
  let assemblyFormat = "$name `share` $share attr-dict";
}

def Jobs_LimitOp : Jobs_ProblemPart<"limit"> {
  let summary = "what a measure may be at most";
  let arguments = (ins StrAttr:$measure, Jobs_Natural:$max);
  let assemblyFormat = "$measure `at_most` $max attr-dict";
  let hasVerifier = 1;
}

def Jobs_JobOp : Jobs_ProblemPart<"job", [NoTerminator, SingleBlock, NoRegionArguments]> {
  let summary = "a job with its configurations";
  let description = [{
    A `moldable` job keeps the configuration in which it starts; a `malleable` one may pause and change it. Times are
    seconds from the start of the schedule: it runs after its arrival, is complete at its deadline, and costs
    `late_price` micro-dollars for each second after `due`. `restart` are seconds without progress at each start and
    change. `running` is the configuration in which it runs before slot 0. `isolated` is how long it takes in its share.
    `waited` are seconds since it arrived, where that was before the schedule. A job that `may_continue` may leave work at
    the end of the last slot. Of its runs, at most `max_restarts` do not go on in `running` from slot 0.
  }];
  let arguments = (ins StrAttr:$name, StrAttr:$elasticity, Jobs_Natural:$arrival,
                       OptionalAttr<Jobs_Natural>:$waited, Jobs_Natural:$work,
                       OptionalAttr<Jobs_Natural>:$deadline, OptionalAttr<Jobs_Natural>:$due,
                       OptionalAttr<Jobs_Natural>:$late_price, OptionalAttr<Jobs_Natural>:$weight,
                       OptionalAttr<Jobs_Natural>:$restart, OptionalAttr<Jobs_Count>:$isolated,
                       OptionalAttr<StrAttr>:$running, OptionalAttr<StrArrayAttr>:$after,
                       OptionalAttr<StrArrayAttr>:$groups, UnitAttr:$rejectable, UnitAttr:$continuable,
                       OptionalAttr<Jobs_Natural>:$max_restarts);
  let plain = 0;
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $name custom<Word>($elasticity) `arrival` $arrival (`waited` $waited^)? `work` $work (`deadline` $deadline^)?
    (`due` $due^)? (`late_price` $late_price^)? (`weight` $weight^)? (`restart` $restart^)? (`isolated` $isolated^)?
    (`running` $running^)? (`after` $after^)? (`of` $groups^)? (`may_be_rejected` $rejectable^)?
    (`may_continue` $continuable^)? (`max_restarts` $max_restarts^)?
    attr-dict-with-keyword $body
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

def Jobs_ConfigurationOp : Jobs_Op<"configuration", [HasParent<"JobOp">]> {
  let summary = "how a job can run: its speed, what it uses, and what that costs";
  let description = [{
    `speed` is work in a second, `price` micro-dollars a second; `uses "h100" 8, "power" 5600`. A job runs in
    configurations of one `family` alone.
  }];
  let arguments = (ins StrAttr:$name, Jobs_Count:$speed, OptionalAttr<Jobs_Natural>:$watts,
                       OptionalAttr<Jobs_Natural>:$price, OptionalAttr<Jobs_Count>:$family,
                       OptionalAttr<ArrayAttr>:$uses);
  let plain = 0;
  let assemblyFormat = [{
    $name `speed` $speed (`watts` $watts^)? (`price` $price^)? (`family` $family^)? (`uses` custom<Uses>($uses)^)? attr-dict
  }];
  let hasVerifier = 1;
}

def Jobs_ScheduleOp : Jobs_Op<"schedule", [NoTerminator, SingleBlock, NoRegionArguments]> {
  let summary = "when each job of a problem runs, or that there is no schedule";
  let description = [{
    `optimal`: all objectives are at their bounds; `feasible`, `infeasible` or `unknown`. Every job of a schedule
    completes, continues after the last slot, or is rejected.
  }];
  let arguments = (ins FlatSymbolRefAttr:$problem, StrAttr:$status);
  let plain = 0;
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "`of` $problem custom<Word>($status) attr-dict-with-keyword $body";
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

class Jobs_SchedulePart<string word> : Jobs_Op<word, [HasParent<"ScheduleOp">]>;

def Jobs_ValueOp : Jobs_SchedulePart<"value"> {
  let summary = "an objective of the schedule; no schedule is below `bound` with those before at their values";
  let arguments = (ins StrAttr:$measure, I64Attr:$value, OptionalAttr<I64Attr>:$bound);
  let plain = 0;
  let assemblyFormat = "$measure `is` $value (`bound` $bound^)? attr-dict";
}

def Jobs_RunOp : Jobs_SchedulePart<"run"> {
  let summary = "a job in one configuration from a slot up to another, which it does not use";
  let description = "`on 3:8, 4:2`: 8 devices of server 3 and 2 of server 4, for as long as the run lasts.";
  let arguments = (ins StrAttr:$job, StrAttr:$configuration, Jobs_Natural:$begin, Jobs_Natural:$end,
                       OptionalAttr<DenseI64ArrayAttr>:$servers);
  let plain = 0;
  let assemblyFormat = [{
    $job `in` $configuration `from` $begin `to` $end (`on` custom<Servers>($servers)^)? attr-dict
  }];
  let hasVerifier = 1;
}

def Jobs_CompleteOp : Jobs_SchedulePart<"complete"> {
  let summary = "when a job completes, in seconds";
  let arguments = (ins StrAttr:$job, Jobs_Natural:$time);
  let assemblyFormat = "$job `at` $time attr-dict";
}

def Jobs_ContinueOp : Jobs_SchedulePart<"continue"> {
  let summary = "a job of which work is left at the end of the last slot";
  let arguments = (ins StrAttr:$job);
  let assemblyFormat = "$job attr-dict";
}

def Jobs_RejectOp : Jobs_SchedulePart<"reject"> {
  let summary = "a job that the schedule does not run";
  let arguments = (ins StrAttr:$job);
  let assemblyFormat = "$job attr-dict";
}

#endif
