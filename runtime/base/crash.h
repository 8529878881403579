/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The crash switch, for tests: EBB_CRASH=point:n kills this process by SIGKILL
 * when it passes that point for the nth time (":n" left out: the first). It is
 * compiled in always, so that what is tested is what is shipped, and costs a
 * load and a branch while EBB_CRASH is not set.
 */

#define EBB_CRASH_POINTS(X)                        \
    X(EBB_CRASH_RUN_OPEN, "run-open")              \
    X(EBB_CRASH_RUN_OPENED, "run-opened")          \
    X(EBB_CRASH_INTENT, "intent")                  \
    X(EBB_CRASH_INTENT_DONE, "intent-done")        \
    X(EBB_CRASH_CONNECTED, "connected")            \
    X(EBB_CRASH_SENT, "sent")                      \
    X(EBB_CRASH_ANSWERED, "answered")              \
    X(EBB_CRASH_ATTEMPT, "attempt")                \
    X(EBB_CRASH_ATTEMPT_DONE, "attempt-done")      \
    X(EBB_CRASH_OUTCOME, "outcome")                \
    X(EBB_CRASH_OUTCOME_DONE, "outcome-done")      \
    X(EBB_CRASH_DELIVER, "deliver")                \
    X(EBB_CRASH_COMBINATOR, "combinator")          \
    X(EBB_CRASH_COMBINATOR_DONE, "combinator-done") \
    X(EBB_CRASH_RUN_END, "run-end")                \
    X(EBB_CRASH_RUN_ENDED, "run-ended")

typedef enum ebb_crash_point {
#define EBB_CRASH_ENUM(id, name) id,
    EBB_CRASH_POINTS(EBB_CRASH_ENUM)
#undef EBB_CRASH_ENUM
    EBB_CRASH_POINTS_COUNT
} ebb_crash_point;

/* Passes a point; does not return if the process is to die here. */
void ebb_crash_at(ebb_crash_point point);

/* The name of a point in EBB_CRASH. */
const char *ebb_crash_point_name(ebb_crash_point point);
