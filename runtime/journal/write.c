/* SPDX-License-Identifier: MIT */

/*
 * The writes of a run's owner, on the loop's side: limits are checked, what is
 * given is copied, the job is posted. What the thread does with it is in
 * step.c.
 */

#include "base/mem.h"
#include "base/utf8.h"
#include "journal/journal_private.h"

#include <string.h>

typedef ebb_journal_write write_job;

typedef int run_fn(ebb_journal *journal, ebb_journal_job *job);

/* A text of a write, to be copied; bytes NULL: NUL-terminated. */
typedef struct text_slot {
    const char **text;
    const size_t *bytes;
} text_slot;

#define SLOTS 12

static void list_texts(write_job *w, text_slot slots[SLOTS])
{
    const text_slot all[SLOTS] = {
        { &w->step.path, NULL },
        { &w->step.name, NULL },
        { &w->step.step_class, NULL },
        { &w->step.digest, NULL },
        { &w->step.input, &w->step.input_bytes },
        { &w->step.attempt_error, &w->step.attempt_error_bytes },
        { &w->step.outcome, &w->step.outcome_bytes },
        { &w->line.path, NULL },
        { &w->line.message, NULL },
        { &w->line.fields, &w->line.fields_bytes },
        { &w->backend, NULL },
        { &w->paths, &w->paths_bytes },
    };

    memcpy(slots, all, sizeof all);
}

static size_t length(const text_slot *slot)
{
    if (*slot->text == NULL)
        return 0;
    return slot->bytes != NULL ? *slot->bytes : strlen(*slot->text);
}

/* A write with texts of its own, in one block. */
static write_job *copy_write(const write_job *like)
{
    write_job draft = *like, *w;
    text_slot slots[SLOTS];
    size_t bytes = sizeof *w, n;
    char *place;

    list_texts(&draft, slots);
    for (int i = 0; i < SLOTS; i++)
        bytes += length(&slots[i]) + 1;
    w = ebb_mem_alloc(bytes);
    if (w == NULL)
        return NULL;
    *w = draft;
    w->base.bytes = bytes;
    place = (char *)(w + 1);
    list_texts(w, slots);
    for (int i = 0; i < SLOTS; i++) {
        if (*slots[i].text == NULL)
            continue;
        n = length(&slots[i]);
        memcpy(place, *slots[i].text, n);
        place[n] = '\0';
        *slots[i].text = place;
        place += n + 1;
    }
    return w;
}

static void answer(ebb_journal_job *job)
{
    write_job *w = (write_job *)job;

    if (w->done.fn != NULL)
        w->done.fn(w->done.context, job->err.code == EBB_OK ? NULL : &job->err);
    ebb_mem_free(w);
}

static write_job draft(ebb_journal *journal, const ebb_journal_claim *claim,
                       run_fn *run, ebb_journal_done done)
{
    return (
        write_job){ .base = { .run = run, .answer = answer, .writes = true },
                    .journal = journal,
                    .claim = *claim,
                    .done = done,
                    .now_ms = ebb_clock_wall_ms(journal->clock) };
}

static int post(const write_job *like, ebb_err *err)
{
    write_job *w = copy_write(like);

    if (w == NULL)
        return ebb_err_set(err, EBB_NO_MEMORY, "journal");
    if (ebb_journal_post(w->journal, &w->base, err) == 0)
        return 0;
    ebb_mem_free(w);
    return -1;
}

/* ---- limits ---- */

static int check_word(const char *text, const char *what, size_t bytes_max,
                      ebb_err *err)
{
    size_t n = text != NULL ? strlen(text) : 0;

    if (n == 0)
        return ebb_err_set(err, EBB_INVALID_INPUT, "a step has no %s", what);
    if (n > bytes_max)
        return ebb_err_set(err, EBB_LIMIT_EXCEEDED,
                           "the %s of a step has %zu bytes, at most %zu are "
                           "possible: %.64s…",
                           what, n, bytes_max, text);
    if (!ebb_utf8_valid(text, n))
        return ebb_err_set(err, EBB_NOT_UTF8, "the %s of a step is not UTF-8",
                           what);
    return 0;
}

static int check_json(const write_job *w, const char *what, size_t n,
                      ebb_err *err)
{
    if (n <= EBB_JOURNAL_JSON_BYTES_MAX)
        return 0;
    return ebb_err_set(err, EBB_LIMIT_EXCEEDED,
                       "the %s of step %s has %zu bytes as JSON, at most %d "
                       "can be recorded",
                       what, w->step.path != NULL ? w->step.path : "?", n,
                       EBB_JOURNAL_JSON_BYTES_MAX);
}

static int check_step(const write_job *w, ebb_err *err)
{
    const ebb_journal_step *step = &w->step;

    if (check_word(step->path, "path", EBB_JOURNAL_PATH_BYTES_MAX, err) ||
        check_word(step->name, "name", EBB_JOURNAL_NAME_BYTES_MAX, err) ||
        check_word(step->step_class, "class", EBB_JOURNAL_NAME_BYTES_MAX, err))
        return -1;
    if (step->digest != NULL &&
        strlen(step->digest) > EBB_JOURNAL_NAME_BYTES_MAX)
        return ebb_err_set(err, EBB_LIMIT_EXCEEDED,
                           "the digest of step %s is too long", step->path);
    return check_json(w, "input", step->input_bytes, err);
}

/* ---- the writes ---- */

int ebb_journal_add_intent(ebb_journal *journal, const ebb_journal_claim *claim,
                           const ebb_journal_step *step, ebb_journal_done done,
                           ebb_err *err)
{
    write_job w = draft(journal, claim, ebb_journal_run_intent, done);

    w.base.patient = done.fn == NULL;
    w.step = *step;
    w.step.attempt_error = NULL;
    w.step.outcome = NULL;
    w.step.outcome_bytes = 0;
    if (w.step.began_ms == 0)
        w.step.began_ms = w.now_ms;
    return check_step(&w, err) != 0 ? -1 : post(&w, err);
}

int ebb_journal_add_attempt(ebb_journal *journal,
                            const ebb_journal_claim *claim,
                            const ebb_journal_step *step, ebb_journal_done done,
                            ebb_err *err)
{
    write_job w = draft(journal, claim, ebb_journal_run_attempt, done);

    w.step = (ebb_journal_step){
        .path = step->path,
        .attempts = step->attempts,
        .next_attempt_ms = step->next_attempt_ms,
        .attempt_error = step->attempt_error,
        .attempt_error_bytes = step->attempt_error_bytes,
    };
    if (check_word(step->path, "path", EBB_JOURNAL_PATH_BYTES_MAX, err) != 0)
        return -1;
    if (step->attempts < 1)
        return ebb_err_set(err, EBB_INVALID_INPUT,
                           "attempt %d of step %s: they count from 1",
                           step->attempts, step->path);
    if (check_json(&w, "error", step->attempt_error_bytes, err) != 0)
        return -1;
    return post(&w, err);
}

int ebb_journal_add_outcome(ebb_journal *journal,
                            const ebb_journal_claim *claim,
                            const ebb_journal_step *step, ebb_journal_done done,
                            ebb_err *err)
{
    write_job w = draft(journal, claim, ebb_journal_run_outcome, done);

    w.step = *step;
    w.step.attempt_error = NULL;
    if (w.step.ended_ms == 0)
        w.step.ended_ms = w.now_ms;
    if (w.step.began_ms == 0)
        w.step.began_ms = w.step.ended_ms;
    if (check_step(&w, err) != 0)
        return -1;
    if (step->outcome == NULL)
        return ebb_err_set(err, EBB_INVALID_INPUT, "step %s has no outcome",
                           step->path);
    if (check_json(&w, "outcome", step->outcome_bytes, err) != 0)
        return -1;
    return post(&w, err);
}

int ebb_journal_del_outcomes(ebb_journal *journal,
                             const ebb_journal_claim *claim,
                             const char *const *paths, size_t n,
                             ebb_journal_done done, ebb_err *err)
{
    write_job w = draft(journal, claim, ebb_journal_run_del, done);
    char *all, *place;
    int result;

    for (size_t i = 0; i < n; i++)
        w.paths_bytes += strlen(paths[i]) + 1;
    all = place = ebb_mem_alloc(w.paths_bytes);
    if (all == NULL)
        return ebb_err_set(err, EBB_NO_MEMORY, "journal");
    for (size_t i = 0; i < n; i++)
        place = stpcpy(place, paths[i]) + 1;
    w.paths = all;
    result = post(&w, err);
    ebb_mem_free(all);
    return result;
}

/* The longest beginning of whole characters that fits. */
static size_t fitting(const char *text, size_t n)
{
    if (n <= EBB_JOURNAL_LOG_BYTES_MAX)
        return n;
    n = EBB_JOURNAL_LOG_BYTES_MAX;
    while (n > 0 && ((unsigned char)text[n] & 0xc0) == 0x80)
        n--;
    return n;
}

int ebb_journal_add_line(ebb_journal *journal, const ebb_journal_claim *claim,
                         const ebb_journal_line *line, ebb_journal_done done,
                         ebb_err *err)
{
    write_job w = draft(journal, claim, ebb_journal_run_line, done);
    size_t n = strlen(line->message), fits = fitting(line->message, n);
    char *cut;
    int result;

    w.line = *line;
    if (w.line.at_ms == 0)
        w.line.at_ms = w.now_ms;
    if (!ebb_utf8_valid(line->message, n))
        return ebb_err_set(err, EBB_NOT_UTF8,
                           "a message for the log is not UTF-8");
    if (line->path != NULL &&
        check_word(line->path, "path", EBB_JOURNAL_PATH_BYTES_MAX, err) != 0)
        return -1;
    if (line->fields_bytes > EBB_JOURNAL_LOG_BYTES_MAX)
        return ebb_err_set(err, EBB_LIMIT_EXCEEDED,
                           "the fields of a message have %zu bytes as JSON, "
                           "at most %d can be recorded",
                           line->fields_bytes, EBB_JOURNAL_LOG_BYTES_MAX);
    cut = ebb_mem_dup_n(line->message, fits);
    if (cut == NULL)
        return ebb_err_set(err, EBB_NO_MEMORY, "journal");
    w.line.message = cut;
    result = post(&w, err);
    ebb_mem_free(cut);
    return result;
}

int ebb_journal_set_raw_order(ebb_journal *journal,
                              const ebb_journal_claim *claim,
                              ebb_journal_done done, ebb_err *err)
{
    write_job w = draft(journal, claim, ebb_journal_run_raw_order, done);

    return post(&w, err);
}

int ebb_journal_set_backend(ebb_journal *journal,
                            const ebb_journal_claim *claim, const char *backend,
                            ebb_journal_done done, ebb_err *err)
{
    write_job w = draft(journal, claim, ebb_journal_run_backend, done);

    w.backend = backend;
    if (strlen(backend) > EBB_JOURNAL_PATH_BYTES_MAX ||
        !ebb_utf8_valid(backend, strlen(backend)))
        return ebb_err_set(err, EBB_INVALID_INPUT,
                           "the name of a back end is at most %d bytes of "
                           "UTF-8",
                           EBB_JOURNAL_PATH_BYTES_MAX);
    return post(&w, err);
}

int ebb_journal_end(ebb_journal *journal, const ebb_journal_claim *claim,
                    ebb_journal_state state, const char *outcome,
                    ebb_journal_done done, ebb_err *err)
{
    write_job w = draft(journal, claim, ebb_journal_run_end, done);

    if (state <= EBB_JOURNAL_ACTIVE || state >= EBB_JOURNAL_STATES_COUNT)
        return ebb_err_set(err, EBB_INVALID_INPUT, "a run does not end as %d",
                           (int)state);
    w.state = state;
    w.step.path = "(end)";
    w.step.outcome = outcome;
    w.step.outcome_bytes = outcome != NULL ? strlen(outcome) : 0;
    if (check_json(&w, "outcome", w.step.outcome_bytes, err) != 0)
        return -1;
    return post(&w, err);
}

int ebb_journal_release(ebb_journal *journal, const ebb_journal_claim *claim,
                        ebb_journal_done done, ebb_err *err)
{
    write_job w = draft(journal, claim, ebb_journal_run_release, done);

    return post(&w, err);
}

int ebb_journal_poll(ebb_journal *journal, const ebb_journal_claim *claim,
                     ebb_journal_done done, ebb_err *err)
{
    write_job w = draft(journal, claim, ebb_journal_run_poll, done);

    w.base.writes = false;
    return post(&w, err);
}
