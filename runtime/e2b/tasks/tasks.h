/* SPDX-License-Identifier: MIT */
#pragma once

/* The handlers of the twelve tasks: each begins one attempt. */

#include "task/attempt.h"

void ebb_e2b_task_create(ebb_attempt *attempt);
void ebb_e2b_task_get(ebb_attempt *attempt);
void ebb_e2b_task_pause(ebb_attempt *attempt);
void ebb_e2b_task_resume(ebb_attempt *attempt);
void ebb_e2b_task_kill(ebb_attempt *attempt);
void ebb_e2b_task_command(ebb_attempt *attempt);
void ebb_e2b_task_code(ebb_attempt *attempt);
void ebb_e2b_task_write(ebb_attempt *attempt);
void ebb_e2b_task_read(ebb_attempt *attempt);
void ebb_e2b_task_list(ebb_attempt *attempt);
void ebb_e2b_task_logs(ebb_attempt *attempt);
void ebb_e2b_task_metrics(ebb_attempt *attempt);
