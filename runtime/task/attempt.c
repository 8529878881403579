/* SPDX-License-Identifier: MIT */
#include "task/attempt.h"

void ebb_attempt_before_effect(ebb_attempt *attempt, ebb_attempt_fn *proceed)
{
    if (attempt->hooks->before_effect == NULL)
        proceed(attempt);
    else
        attempt->hooks->before_effect(attempt, proceed);
}

bool ebb_attempt_may_wait(const ebb_attempt *attempt)
{
    return attempt->hooks->before_effect != NULL;
}

void ebb_attempt_finish(ebb_attempt *attempt, ebb_value *result)
{
    ebb_err err = { 0 };

    if (result != NULL) {
        attempt->hooks->after(attempt, result, NULL, NULL);
        return;
    }
    ebb_err_set(&err, EBB_NO_MEMORY, "no memory for the result");
    attempt->hooks->after(attempt, NULL, &err, NULL);
}

void ebb_attempt_fail(ebb_attempt *attempt, const ebb_err *err,
                      ebb_value *details)
{
    attempt->hooks->after(attempt, NULL, err, details);
}

int64_t ebb_attempt_left_ms(const ebb_attempt *attempt, int64_t otherwise_ms)
{
    int64_t left;

    if (attempt->deadline_ms == EBB_NO_DEADLINE)
        return otherwise_ms;
    left = attempt->deadline_ms - ebb_clock_steady_ms(attempt->clock);
    if (left < 0)
        left = 0;
    return left < otherwise_ms ? left : otherwise_ms;
}
