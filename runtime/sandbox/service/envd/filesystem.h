/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * filesystem.Filesystem of the protocol. Paths are made absolute here and
 * resolved by the agent, inside the sandbox; nothing is opened by name on the
 * host. Watching is not offered.
 *
 * A name that is not UTF-8 does not fail a listing, as it does on E2B: its
 * bytes that are not characters read as U+FFFD.
 */

#include "sandbox/service/envd/envd_rpc.h"

/*
 * Entries of one listing; more is resource_exhausted. One costs about 200 bytes
 * until it is sent.
 */
#define EBB_ENVD_ENTRIES_MAX 250000u

void ebb_envd_stat(ebb_envd_call *call, const ProtobufCMessage *request);
void ebb_envd_list_dir(ebb_envd_call *call, const ProtobufCMessage *request);
void ebb_envd_make_dir(ebb_envd_call *call, const ProtobufCMessage *request);
void ebb_envd_move(ebb_envd_call *call, const ProtobufCMessage *request);
void ebb_envd_remove(ebb_envd_call *call, const ProtobufCMessage *request);
