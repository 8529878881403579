-- SPDX-License-Identifier: MIT

-- Mistakes that the simulator must find: { what the core then does, the file,
-- a text in it, what takes its place }. spec/soak/mutants_spec.lua makes them,
-- one after the other, in a copy. A text that is no longer there is to be
-- replaced by one that is.

return {
  { "runs a none step again after a crash",
    "runtime/workflow/step.c",
    [[
step->retry_class == EBB_RETRY_NONE &&
               !flow->force) {]],
    [[
step->retry_class == EBB_RETRY_NONE &&
               flow->stopped) {]] },
  { "sends a none step without its intent",
    "runtime/ebb_step.c",
    [[
    op->proceed = proceed;
    ebb_flow_step_intend(op->step, intended, op);]],
    "    proceed(attempt);" },
  { "forgets the attempts made",
    "runtime/ebb_step.c",
    "op->number = op->step->attempts < most ? op->step->attempts : most;",
    "op->number = 0 * most;" },
  { "tries again at once after a restart",
    "runtime/ebb_step.c",
    "if (op->number > 0 && left > 0)",
    "if (op->number > 4 && left > 0)" },
  { "delivers live outcomes last first",
    "runtime/workflow/gate.c",
    "    ebb_flow_queue_add(&step->flow->ready, step);",
    [[
    step->next_in_queue = step->flow->ready.first;
    if (step->next_in_queue == NULL)
        step->flow->ready.last = step;
    step->flow->ready.first = step;]] },
  { "counts no recoveries",
    "runtime/journal/begin.c",
    "recovered     ? f->fruitless + 1",
    "recovered     ? f->fruitless" },
  { "is stuck one recovery too early",
    "runtime/journal/begin.c",
    "f->fruitless >= EBB_JOURNAL_RECOVERIES_MAX &&",
    "f->fruitless >= EBB_JOURNAL_RECOVERIES_MAX - 1 &&" },
  { "sleeps too long",
    "bindings/lua/lstep.c",
    "int64_t ms = wake_ms - lebb_wall_ms();",
    "int64_t ms = wake_ms - lebb_wall_ms() + 2000;" },
  { "wakes too early",
    "bindings/lua/lstep.c",
    "int64_t ms = wake_ms - lebb_wall_ms();",
    "int64_t ms = (wake_ms - lebb_wall_ms()) / 2;" },
  { "counts a limit anew after a restart",
    "bindings/lua/lstep.c",
    "int64_t ms = wake_ms - lebb_wall_ms();",
    [[
int64_t ms = wake_ms - lebb_wall_ms();
    if (call->kind == LEBB_STEP_TIMEOUT && ms < 0)
        ms = 3000;]] },
  { "syncs nothing",
    "runtime/journal/schema.c",
    "PRAGMA synchronous = FULL",
    "PRAGMA synchronous = OFF" },
  { "syncs checkpoints alone",
    "runtime/journal/schema.c",
    "PRAGMA synchronous = FULL",
    "PRAGMA synchronous = NORMAL" },
  { "does not heed Retry-After",
    "runtime/task/retry.c",
    [[
    if (asked > wait)
        wait = asked;]],
    "    (void)asked;" },
  { "makes a fifth attempt",
    "runtime/task/retry.h",
    "ATTEMPTS_MAX 4",
    "ATTEMPTS_MAX 5" },
  { "gives up after three attempts",
    "runtime/task/retry.h",
    "ATTEMPTS_MAX 4",
    "ATTEMPTS_MAX 3" },
  { "waits as long each time",
    "runtime/task/retry.c",
    "waits->base_ms << (made - 1)",
    "waits->base_ms << 0" },
  { "leaves the losers of a race running",
    "bindings/lua/lgroup.c",
    [[
    cancel_children(group);
    if (group->call && !is_answered]],
    "    if (group->call && !is_answered" },
  { "takes the run of a process that stands still",
    "runtime/journal/owner.c",
    "state != 'X';",
    [[
state != 'X' &&
               state != 'T';]] },
  { "ignores runs cancel",
    "runtime/workflow/flow.c",
    "flow->cancel_requested = true;",
    "flow->cancel_requested = false;" },
  { "lets settle raise",
    "bindings/lua/ebb.lua",
    "    ends[index] = ok and { ok = true, value = value }",
    [[
    finish(ok, value)
    ends[index] = ok and { ok = true, value = value }]] },
  { "interrupts ebb.defer by a cancel",
    "bindings/lua/ebb.lua",
    [[
    local _ <close> = core.shield()
]],
    "" },
  { "does not record a cancel",
    "runtime/workflow/step.c",
    [[
    if (step->recorded)
        return;
    if (step->stage]],
    [[
    if (step->recorded || step->retry_class == EBB_RETRY_READ)
        return;
    if (step->stage]] },
  { "hands out an outcome before it is committed",
    "runtime/workflow/record.c",
    [[
    ebb_crash_at(EBB_CRASH_OUTCOME);
    step->written = done;
]],
    [[
    ebb_crash_at(EBB_CRASH_OUTCOME);
    step->written = NULL;
    done(step, NULL);
]] },
  { "checks no fence at writes",
    "runtime/journal/claim.c",
    '"SELECT steps, bytes, lines, seq FROM run WHERE key = ? AND fence = ?"',
    '"SELECT steps, bytes, lines, seq FROM run WHERE key = ? AND fence >= ?"' },
  { "checks no fence at the end",
    "runtime/journal/claim.c",
    '" WHERE key = ? AND fence = ? RETURNING key";',
    '" WHERE key = ? AND fence >= ? RETURNING key";' },
  { "replays the first step that is asked for",
    "runtime/workflow/gate.c",
    [[
    ebb_flow_step *next = flow->recorded[flow->delivered];
]],
    [[
    ebb_flow_step *next = flow->recorded[flow->delivered];

    for (size_t i = flow->recorded_count - 1; i > flow->delivered; i--)
        if (flow->recorded[i]->stage == EBB_FLOW_HELD) {
            flow->recorded[flow->delivered] = flow->recorded[i];
            flow->recorded[i] = next;
            next = flow->recorded[flow->delivered];
            break;
        }
]] },
  { "runs live steps before the replay is over",
    "runtime/workflow/gate.c",
    [[
        if (!flow->stopped)
            return;
    }
    step = ebb]],
    [[
        if (!flow->stopped && flow->held.first == NULL)
            return;
    }
    step = ebb]] },
  { "forgets everything at a resume",
    "runtime/workflow/load.c",
    [[
    if (is_behind(row->path, failed->path))
        return true;]],
    [[
    if (row->seq > 0)
        return true;]] },
  { "forgets siblings that completed at a resume",
    "runtime/workflow/load.c",
    "return row->seq >= failed->seq && row->failed &&",
    "return row->seq + 3 >= failed->seq &&" },
  { "looks at the last attempt alone for sandboxes",
    "runtime/ebb_runs_sandboxes.c",
    "step->seq == 0 || step->attempts > 0",
    "step->seq == 0" },
  { "records what a second Ctrl-C drops",
    "bindings/lua/lsched.c",
    "        ebb_run_give_up(s->run);",
    "        (void)0;" },
  { "ends a script by Ctrl-C before it begins",
    "bindings/lua/lsched.c",
    [[
        return s->gave_up;
    return branch]],
    [[
        return s->gave_up || branch->cancel != LEBB_CANCEL_NONE;
    return branch]] },
  { "wakes a branch that computes",
    "bindings/lua/lcall.c",
    "if (branch != branch->sched->current)",
    "if (branch->sched)" },
  { "keeps wanting a cancel that was told",
    "bindings/lua/lcall.c",
    [[
        branch->cancel = LEBB_CANCEL_DELIVERED;
    lebb_error_push]],
    [[
        branch->cancel = LEBB_CANCEL_WANTED;
    lebb_error_push]] },
  { "starts all of a map at once",
    "bindings/lua/ebb.lua",
    "while started < count and started < limit do",
    "while started < count do" },
  { "forks with the step itself",
    "runtime/journal/fork.c",
    '" old.run = ?1 AND old.seq < ?2 AND old.path <> ?3"',
    [[" old.run = ?1 AND old.seq <= ?2 AND ?3 <> ''"]] },
}
