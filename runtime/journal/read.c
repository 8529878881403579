/* SPDX-License-Identifier: MIT */

/* Rows as structs: what SQLite gives is borrowed, each checksum is checked. */

#include "journal/journal_private.h"

#include <stdio.h>

/* What is reckoned with these, a bar of `runs show` too, does not overflow. */
#define MS_MAX       (INT64_MAX / 64)
#define ATTEMPTS_MAX 1000000

static const char damaged[] = "its checksum is wrong";

/* A time from a file that anybody may have written; none if it cannot be. */
static int64_t read_ms(sqlite3_stmt *row, int column)
{
    int64_t ms = ebb_sql_int(row, column);

    return ms >= 0 && ms <= MS_MAX ? ms : 0;
}

static int read_attempts(sqlite3_stmt *row, int column)
{
    int64_t n = ebb_sql_int(row, column);

    if (n < 0)
        return 0;
    return n < ATTEMPTS_MAX ? (int)n : ATTEMPTS_MAX;
}

const char *ebb_journal_state_name(ebb_journal_state state)
{
    static const char *const names[] = { "active", "done", "failed",
                                         "cancelled", "stuck" };

    if (state < 0 || state >= EBB_JOURNAL_STATES_COUNT)
        return "unknown";
    return names[state];
}

static void read_owner(ebb_journal *journal, sqlite3_stmt *row,
                       ebb_journal_run *out)
{
    ebb_owner owner = { .pid = ebb_sql_int(row, 5),
                        .start = ebb_sql_int(row, 6) };
    const char *boot = ebb_sql_text(row, 4, NULL);

    out->owner_pid = owner.pid;
    if (boot == NULL || owner.pid == 0)
        return;
    snprintf(owner.boot, sizeof owner.boot, "%s", boot);
    out->owner_alive = ebb_owner_alive(&owner, &journal->self);
}

const char *ebb_journal_read_run(ebb_journal *journal, sqlite3_stmt *row,
                                 bool head, ebb_journal_run *out)
{
    out->claim =
        (ebb_journal_claim){ ebb_sql_int(row, 0), ebb_sql_int(row, 3) };
    out->id = ebb_sql_text(row, 1, NULL);
    out->state = (ebb_journal_state)ebb_sql_int(row, 2);
    read_owner(journal, row, out);
    out->recoveries = (int)ebb_sql_int(row, 7);
    out->steps_count = ebb_sql_int(row, 8);
    out->raw_order = ebb_sql_int(row, 9) != 0;
    out->cancel_asked = ebb_sql_int(row, 10) != 0;
    out->started_ms = read_ms(row, 11);
    out->updated_ms = read_ms(row, 12);
    out->ended_ms = read_ms(row, 13);
    out->seed = (uint64_t)ebb_sql_int(row, 14);
    out->script = ebb_sql_text(row, 17, NULL);
    out->script_sha256 = ebb_sql_text(row, 18, NULL);
    out->forked_from = ebb_sql_text(row, 19, NULL);
    out->backend = ebb_sql_text(row, 20, NULL);
    if (head)
        return NULL;
    out->args = ebb_sql_text(row, 21, NULL);
    out->outcome = ebb_sql_text(row, 22, &out->outcome_bytes);
    if (ebb_journal_run_sum(out) != ebb_sql_int(row, 15) ||
        ebb_journal_end_sum(out->state, out->outcome, out->outcome_bytes) !=
            ebb_sql_int(row, 16))
        return damaged;
    return NULL;
}

/* An outcome that is kept elsewhere is checked where it is read. */
static bool is_elsewhere(const ebb_journal_step *step)
{
    return step->outcome == NULL &&
           step->outcome_bytes > EBB_JOURNAL_SMALL_BYTES;
}

const char *ebb_journal_read_step(sqlite3_stmt *row, bool all,
                                  ebb_journal_step *out)
{
    size_t bytes;

    *out = (ebb_journal_step){
        .path = ebb_sql_text(row, 1, NULL),
        .name = ebb_sql_text(row, 2, NULL),
        .step_class = ebb_sql_text(row, 3, NULL),
        .digest = ebb_sql_text(row, 4, NULL),
        .wake_ms = ebb_sql_int(row, 5),
        .began_ms = read_ms(row, 6),
        .attempts = read_attempts(row, 7),
        .next_attempt_ms = read_ms(row, 8),
        .seq = ebb_sql_int(row, 9),
        .failed = ebb_sql_int(row, 10) != 0,
        .ended_ms = read_ms(row, 11),
        .outcome_bytes = (size_t)ebb_sql_int(row, 14),
        .input_bytes = (size_t)ebb_sql_int(row, 15),
        .outcome = ebb_sql_text(row, 16, &bytes),
    };
    if (out->path == NULL ||
        ebb_journal_intent_sum(out) != ebb_sql_int(row, 12))
        return damaged;
    if (out->outcome != NULL && bytes != out->outcome_bytes)
        return damaged;
    if (out->seq != 0 && (all || !is_elsewhere(out)) &&
        (out->outcome == NULL ||
         ebb_journal_outcome_sum(out) != ebb_sql_int(row, 13)))
        return damaged;
    if (!all)
        return NULL;
    out->input = ebb_sql_text(row, 17, &bytes);
    if (out->input == NULL)
        bytes = 0;
    if (bytes != out->input_bytes ||
        ebb_journal_json_sum(out->input, bytes) != ebb_sql_int(row, 18))
        return damaged;
    return NULL;
}

const char *ebb_journal_read_attempt(sqlite3_stmt *row,
                                     ebb_journal_attempt *out)
{
    *out = (ebb_journal_attempt){
        .number = read_attempts(row, 0),
        .at_ms = read_ms(row, 1),
        .next_ms = read_ms(row, 2),
        .error = ebb_sql_text(row, 4, NULL),
        .error_bytes = (size_t)sqlite3_column_bytes(row, 4),
        .path = ebb_sql_text(row, 5, NULL),
    };
    return ebb_journal_attempt_sum(out) == ebb_sql_int(row, 3) ? NULL : damaged;
}

const char *ebb_journal_read_line(sqlite3_stmt *row, ebb_journal_line *out)
{
    *out = (ebb_journal_line){
        .path = ebb_sql_text(row, 0, NULL),
        .attempt = (int)ebb_sql_int(row, 1),
        .level = (int)ebb_sql_int(row, 2),
        .at_ms = read_ms(row, 3),
        .message = ebb_sql_text(row, 5, NULL),
        .fields = ebb_sql_text(row, 6, NULL),
        .fields_bytes = (size_t)sqlite3_column_bytes(row, 6),
    };
    return ebb_journal_line_sum(out) == ebb_sql_int(row, 4) ? NULL : damaged;
}
