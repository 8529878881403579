/* SPDX-License-Identifier: MIT */
#include "e2b/tasks/command.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "e2b/connection.h"
#include "e2b/errors.h"
#include "e2b/tasks/result.h"
#include "task/place.h"

/* The output so far, for details; NULL when there is no memory for it. */
static ebb_value *details_of(ebb_e2b_running *c, bool may_still_run)
{
    ebb_value *details = ebb_value_object();
    ebb_value *texts[2];
    ebb_err ignored = { 0 };

    ebb_bounded_finish(&c->out);
    ebb_bounded_finish(&c->err);
    details = ebb_e2b_result_with(details, "stdout", ebb_e2b_text(&c->out));
    details = ebb_e2b_result_with(details, "stderr", ebb_e2b_text(&c->err));
    if (c->process.ended)
        details = ebb_e2b_result_with(details, "exitCode",
                                      ebb_value_int(c->process.exit_code));
    if (may_still_run)
        details =
            ebb_e2b_result_with(details, "mayStillRun", ebb_value_bool(true));
    if (details == NULL)
        return NULL;
    texts[0] = ebb_value_find(details, "stdout");
    texts[1] = ebb_value_find(details, "stderr");
    ebb_e2b_result_fit(details, texts, 2, &ignored);
    return details;
}

static void fail(ebb_e2b_running *c, const ebb_err *err, bool may_still_run)
{
    ebb_e2b_job_fail(&c->job, err, details_of(c, may_still_run));
}

void ebb_e2b_running_unknown(ebb_e2b_running *c, const char *why)
{
    ebb_err err = { 0 };

    ebb_err_set(&err, EBB_OUTCOME_UNKNOWN,
                "%s: %s; the command may have run, and is not sent again",
                c->job.subject, why);
    fail(c, &err, !c->process.ended && !c->probe.ended);
}

static void probed(ebb_e2b_job *job)
{
    ebb_e2b_running *c = (ebb_e2b_running *)job;

    ebb_e2b_running_unknown(c, c->probe.why);
}

/* Without its end the question is what became of the sandbox. */
static void fail_unknown(ebb_e2b_running *c, const char *why)
{
    if (c->process.ended)
        ebb_e2b_running_unknown(c, why);
    else
        ebb_e2b_probe_start(&c->probe, &c->job, why, probed);
}

/*
 * A lone & leaves a child behind; if that holds stdout open, the call lasts
 * as long as the child, which surprises everyone once.
 */
static bool leaves_a_child(const char *text)
{
    for (const char *p = strchr(text, '&'); p != NULL; p = strchr(p, '&')) {
        bool redirects = p > text && (p[-1] == '>' || p[-1] == '<');
        size_t run = strspn(p, "&");
        if (run == 1 && !redirects && p[1] != '>')
            return true;
        p += run;
    }
    return false;
}

static void fail_timeout(ebb_e2b_running *c, bool may_still_run)
{
    const char *text = ebb_value_find_string(c->job.input, "command");
    ebb_err err = { 0 };

    ebb_err_set(&err, EBB_TIMEOUT,
                "%s: the command was %s after %" PRId64 " ms (timeoutMs)%s",
                c->job.subject,
                may_still_run ? "given up, and may still run," : "killed",
                c->timeout_ms,
                leaves_a_child(text)
                    ? "; a child in the background that keeps stdout open "
                      "holds the call: start it with >/dev/null 2>&1 &"
                    : "");
    fail(c, &err, may_still_run);
}

static void fail_cancelled(ebb_e2b_running *c, bool may_still_run)
{
    ebb_err err = { 0 };

    ebb_err_set(&err, EBB_CANCELLED, "%s: the command was cancelled%s",
                c->job.subject,
                may_still_run ? ", and may still run" : " and killed");
    fail(c, &err, may_still_run);
}

void ebb_e2b_running_end_early(ebb_e2b_running *c)
{
    bool may_still_run =
        !c->process.ended && c->process.code != EBB_CONNECT_DEADLINE_EXCEEDED;

    if (c->ending == EBB_CANCELLED)
        fail_cancelled(c, may_still_run);
    else
        fail_timeout(c, may_still_run);
}

static void finish(ebb_e2b_running *c)
{
    ebb_value *result = ebb_e2b_result_new(&c->job), *texts[2];
    ebb_err err = { 0 };
    char signal[16];

    ebb_bounded_finish(&c->out);
    ebb_bounded_finish(&c->err);
    result = ebb_e2b_result_with(result, "exitCode",
                                 ebb_value_int(c->process.exit_code));
    result = ebb_e2b_result_with(result, "stdout", ebb_e2b_text(&c->out));
    result = ebb_e2b_result_with(result, "stderr", ebb_e2b_text(&c->err));
    if (ebb_e2b_process_signal(&c->process, signal))
        result = ebb_e2b_result_with(result, "signal", ebb_value_text(signal));
    if (result != NULL) {
        texts[0] = ebb_value_find(result, "stdout");
        texts[1] = ebb_value_find(result, "stderr");
        if (ebb_e2b_result_fit(result, texts, 2, &err) != 0) {
            ebb_value_free(result);
            result = NULL; /* only memory can lack here */
        }
    }
    ebb_e2b_job_finish(&c->job, result);
}

/* ---- the end of the stream ---- */

/*
 * Whether envd's words are about the directory: it names the cwd, or what it
 * cannot do with it.
 */
static bool is_about_cwd(const ebb_e2b_running *c)
{
    const char *words = c->process.message;

    return ebb_value_find(c->job.input, "cwd") != NULL &&
           (strstr(words, "cwd") != NULL ||
            strstr(words, "ot a directory") != NULL ||
            strstr(words, "expand path") != NULL);
}

/* An error in place of a start: nothing ran, if the code can say so. */
static void fail_unstarted(ebb_e2b_running *c)
{
    const char *cwd = ebb_value_find_string(c->job.input, "cwd");
    ebb_connect_code code = c->process.code;
    char words[EBB_E2B_WORDS_BYTES], shown[EBB_SHOWN_BYTES];
    ebb_err err = { 0 };

    ebb_e2b_error_quote(&c->job, c->process.message, strlen(c->process.message),
                        words);
    if (code == EBB_CONNECT_INVALID_ARGUMENT && is_about_cwd(c))
        ebb_err_set(&err, EBB_INVALID_INPUT, "%s: cwd \"%s\": %s",
                    c->job.subject, ebb_place_shown(cwd, shown), words);
    else if (code == EBB_CONNECT_UNAUTHENTICATED)
        ebb_err_set(&err, EBB_INVALID_INPUT, "%s: user: %s", c->job.subject,
                    words);
    else if (code == EBB_CONNECT_NOT_FOUND)
        ebb_err_set(&err, EBB_NOT_FOUND, "%s: %s", c->job.subject, words);
    else
        ebb_err_set(&err, ebb_e2b_error_file_code(code), "%s: %s",
                    c->job.subject, words);
    if (err.code == EBB_SERVER)
        fail_unknown(c, words[0] ? words : "the stream failed");
    else
        ebb_e2b_job_fail(&c->job, &err, NULL);
}

static void stream_closed(ebb_e2b_running *c)
{
    const ebb_e2b_process *p = &c->process;
    char words[EBB_E2B_WORDS_BYTES];
    ebb_err err = { 0 };

    if (ebb_connect_finish(&p->reader, &err) != 0 || !p->finished) {
        fail_unknown(c, p->ended ? "the stream was cut after the end event"
                                 : "the stream ended without an end event");
    } else if (p->code == EBB_CONNECT_DEADLINE_EXCEEDED && c->timeout_ms > 0) {
        fail_timeout(c, false);
    } else if (p->code != EBB_CONNECT_OK && !p->started) {
        fail_unstarted(c);
    } else if (p->code != EBB_CONNECT_OK) {
        ebb_e2b_error_quote(&c->job, p->message, strlen(p->message), words);
        fail_unknown(c, words[0] ? words : "the stream failed");
    } else if (!p->ended) {
        fail_unknown(c, "the stream ended without an end event");
    } else if (c->input.failed) {
        fail_unknown(c, "stdin was not delivered whole");
    } else {
        finish(c);
    }
}

void ebb_e2b_running_done(ebb_e2b_running *c, ebb_e2b_transfer *transfer,
                          const ebb_err *failure)
{
    char why[EBB_E2B_WHY_BYTES];
    ebb_err err = { 0 };

    if (c->ending != EBB_OK) {
        ebb_e2b_running_end_early(c);
    } else if (failure == NULL) {
        if (ebb_e2b_transfer_status(transfer) == 200)
            stream_closed(c);
        else if (!ebb_e2b_refused(&c->job, transfer, why))
            fail_unknown(c, why);
    } else if (!ebb_e2b_transfer_was_sent(transfer)) {
        err = *failure;
        ebb_err_wrap(&err, "%s", c->job.subject);
        ebb_e2b_job_fail(&c->job, &err, NULL);
    } else {
        fail_unknown(c,
                     c->broken.code != EBB_OK ? c->broken.msg : failure->msg);
    }
}
