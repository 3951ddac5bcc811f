#!/usr/bin/env bash
# A new pass from a template.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
usage() {
  cat <<'END'
usage: scripts/new-pass.sh NAME PHASE [--on OPERATION]

Writes a pass that compiles, is tested and does nothing yet:
  passes/PHASE/Passes.td            its entry, with a description and a before/after example to fill in
  passes/PHASE/Name.cpp             the pass: glue over a class in lib/, at most 150 lines
  test/passes/PHASE/NAME.mlir       what it does
  test/passes/PHASE/NAME-errors.mlir  what it refuses
Then `scripts/test.sh passes/PHASE/NAME` builds and runs its tests.

  NAME             in words, as on the command line: count-parameters
  PHASE            a folder of passes/: analyze, schedule, simplify, train, ...
  --on OPERATION   what it runs on: module (the default) or training_graph
  --help           this text
END
}
fail() {
  echo "error: $1" >&2
  exit 1
}
name=
phase=
on=module
while [ $# -gt 0 ]; do
  case $1 in
    --help | -h) usage && exit 0 ;;
    --on) on=${2:-}; shift ;;
    -*) fail "unknown option '$1' (scripts/new-pass.sh --help lists the options)" ;;
    *) if [ -z "$name" ]; then name=$1; elif [ -z "$phase" ]; then phase=$1; else fail "NAME and PHASE are wanted, found '$1' besides"; fi ;;
  esac
  shift
done
[ -n "$phase" ] || fail "NAME and PHASE are wanted (scripts/new-pass.sh --help)"
[[ $name =~ ^[a-z][a-z0-9]*(-[a-z0-9]+)*$ ]] || fail "a pass is named in small words with '-' between them, found '$name'"
cd "$root"
table=passes/$phase/Passes.td
[ -f "$table" ] || fail "there is no phase '$phase': $(cd passes && echo */ | tr -d /)"
class=$(sed -E 's/(^|-)([a-z0-9])/\U\2/g' <<<"$name")
source=passes/$phase/$class.cpp
test=test/passes/$phase/$name
for file in "$source" "$test.mlir" "$test-errors.mlir"; do
  [ ! -e "$file" ] || fail "'$file' is there already"
done
! grep -rqF "\"$name\"" passes --include=Passes.td || fail "a pass is named '$name' already"
case $on in
  module) type=::mlir::ModuleOp pipeline="builtin.module($name)" ;;
  training_graph) type=::accord::dnn::TrainingGraphOp pipeline="builtin.module(dnn.training_graph($name))" ;;
  *) fail "'--on' wants module or training_graph, found '$on'" ;;
esac

entry=$(cat <<END

def $class : Pass<"$name", "$type"> {
  let summary = "what it does, in one line";
  let description = [{
    What it does, for whom, and after which source. What it refuses, with the error's words.

    Before:
    \`\`\`mlir
    %0 = dnn.gelu %x : (tensor<?x8xf32>) -> tensor<?x8xf32>
    \`\`\`
    After:
    \`\`\`mlir
    %0 = dnn.gelu %x : (tensor<?x8xf32>) -> tensor<?x8xf32>
    \`\`\`
  }];
}
END
)
# Behind the last entry, before the guard ends.
text=$(cat "$table")
if [[ $text == *$'\n'#endif* ]]; then
  printf '%s\n%s\n#endif%s\n' "${text%$'\n'#endif*}" "$entry" "${text##*#endif}" >"$table"
else
  printf '%s\n%s\n' "$text" "$entry" >"$table"
fi

cat >"$source" <<END
// The pass \`$name\`: glue over a class in lib/.
#include "passes/$phase/Passes.h"
#include "dialects/dnn/Dnn.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;

namespace accord {
#define GEN_PASS_DEF_${class^^}
#include "passes/$phase/Passes.h.inc"

namespace {

struct $class : impl::${class}Base<$class> {
  void runOnOperation() override {
    getOperation().walk([&](dnn::DropoutOp op) {
      op.emitError() << "'$name' does not know '" << op->getName().getStringRef() << "' yet";
      signalPassFailure();
    });
  }
};

} // namespace
} // namespace accord
END

if [ "$on" = module ]; then
  before='func.func @net(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {'
  inside='  '
  after=$'  return %0 : tensor<?x8xf32>\n}'
else
  before=$'dnn.training_graph @net attributes {optimizer = #dnn.optimizer<sgd>, precision = #dnn.precision<f32>} {\n  dnn.microbatch (%x: tensor<?x8xf32>) {'
  inside='    '
  after=$'    %l = dnn.mse %0, %x : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<f32>\n    dnn.loss %l : tensor<f32>\n  }\n  dnn.optimizer_step {\n  }\n}'
fi
cat >"$test.mlir" <<END
// RUN: accord-opt %s --pass-pipeline="$pipeline" | FileCheck %s

// CHECK-LABEL: @net
$before
$inside// CHECK: dnn.gelu
$inside%0 = dnn.gelu %x : (tensor<?x8xf32>) -> tensor<?x8xf32>
$after
END
cat >"$test-errors.mlir" <<END
// RUN: accord-opt %s -verify-diagnostics --pass-pipeline="$pipeline"

$before
$inside// expected-error@below {{'$name' does not know 'dnn.dropout' yet}}
$inside%0, %mask = dnn.dropout %x {rate = 0.5 : f64} : (tensor<?x8xf32>) -> (tensor<?x8xf32>, tensor<?x8xi8>)
$after
END
echo "$table, $source, $test.mlir and $test-errors.mlir are written; next:"
echo "  scripts/test.sh passes/$phase/$name"
