/* SPDX-License-Identifier: MIT */
#pragma once

/* The handlers of the twelve tasks, and the checks of their inputs. */

#include "task/attempt.h"

/* What their fields cannot say of an input, before an attempt begins. */
int ebb_e2b_check_create(const ebb_value *input, ebb_err *err);
int ebb_e2b_check_command(const ebb_value *input, ebb_err *err);
int ebb_e2b_check_code(const ebb_value *input, ebb_err *err);
int ebb_e2b_check_write(const ebb_value *input, ebb_err *err);
int ebb_e2b_check_read(const ebb_value *input, ebb_err *err);
int ebb_e2b_check_logs(const ebb_value *input, ebb_err *err);
int ebb_e2b_check_metrics(const ebb_value *input, ebb_err *err);

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
