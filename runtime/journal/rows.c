/* SPDX-License-Identifier: MIT */

/* Texts of a loaded run, and what its rows' checksums are taken over. */

#include "base/mem.h"
#include "base/utf8.h"
#include "journal/checksum.h"
#include "journal/journal_private.h"

#include <string.h>

#define CHUNK_BYTES 65536

static bool has_control(const char *text)
{
    for (; *text != '\0'; text++)
        if ((unsigned char)*text < 0x20 || *text == 0x7f)
            return true;
    return false;
}

int ebb_journal_check_id(const char *id, ebb_err *err)
{
    size_t n = id != NULL ? strlen(id) : 0;

    if (n == 0 || n > EBB_JOURNAL_ID_BYTES_MAX)
        return ebb_err_set(err, EBB_INVALID_INPUT,
                           "the id of a run has 1 to %d bytes, this one %zu",
                           EBB_JOURNAL_ID_BYTES_MAX, n);
    if (!ebb_utf8_valid(id, n) || has_control(id))
        return ebb_err_set(err, EBB_INVALID_INPUT,
                           "the id of a run is UTF-8 without control "
                           "characters");
    return 0;
}

struct ebb_journal_chunk {
    struct ebb_journal_chunk *next;
    size_t n, room;
    char bytes[];
};

static char *room_for(ebb_journal_texts *texts, size_t n)
{
    struct ebb_journal_chunk *chunk = texts->chunks;
    size_t room = n > CHUNK_BYTES ? n : CHUNK_BYTES;

    if (chunk == NULL || chunk->room - chunk->n < n) {
        chunk = ebb_mem_alloc(sizeof *chunk + room);
        if (chunk == NULL) {
            texts->starved = true;
            return NULL;
        }
        *chunk = (struct ebb_journal_chunk){ texts->chunks, 0, room };
        texts->chunks = chunk;
    }
    chunk->n += n;
    return chunk->bytes + chunk->n - n;
}

const char *ebb_journal_texts_add(ebb_journal_texts *texts, const char *bytes,
                                  size_t n)
{
    char *copy = bytes != NULL ? room_for(texts, n + 1) : NULL;

    if (copy == NULL)
        return NULL;
    memcpy(copy, bytes, n);
    copy[n] = '\0';
    return copy;
}

void ebb_journal_texts_own(ebb_journal_texts *texts, const char **text)
{
    if (*text != NULL)
        *text = ebb_journal_texts_add(texts, *text, strlen(*text));
}

void ebb_journal_texts_clear(ebb_journal_texts *texts)
{
    while (texts->chunks != NULL) {
        struct ebb_journal_chunk *chunk = texts->chunks;

        texts->chunks = chunk->next;
        ebb_mem_free(chunk);
    }
}

int64_t ebb_journal_run_sum(const ebb_journal_run *run)
{
    uint64_t sum = ebb_checksum_word(EBB_CHECKSUM_START, run->id);

    sum = ebb_checksum_word(sum, run->script);
    sum = ebb_checksum_word(sum, run->script_sha256);
    sum = ebb_checksum_word(sum, run->args);
    sum = ebb_checksum_word(sum, run->forked_from);
    return (int64_t)ebb_checksum_int(sum, (int64_t)run->seed);
}

int64_t ebb_journal_end_sum(ebb_journal_state state, const char *outcome,
                            size_t outcome_bytes)
{
    uint64_t sum = ebb_checksum_int(EBB_CHECKSUM_START, (int64_t)state);

    return (int64_t)ebb_checksum_text(sum, outcome, outcome_bytes);
}

int64_t ebb_journal_intent_sum(const ebb_journal_step *step)
{
    uint64_t sum = ebb_checksum_word(EBB_CHECKSUM_START, step->path);

    sum = ebb_checksum_word(sum, step->name);
    sum = ebb_checksum_word(sum, step->step_class);
    sum = ebb_checksum_word(sum, step->digest);
    sum = ebb_checksum_int(sum, step->wake_ms);
    sum = ebb_checksum_int(sum, step->began_ms);
    return (int64_t)ebb_checksum_int(sum, (int64_t)step->input_bytes);
}

int64_t ebb_journal_json_sum(const char *json, size_t n)
{
    return (int64_t)ebb_checksum_text(EBB_CHECKSUM_START, json, n);
}

int64_t ebb_journal_outcome_sum(const ebb_journal_step *step)
{
    uint64_t sum = ebb_checksum_int(EBB_CHECKSUM_START, step->seq);

    sum = ebb_checksum_int(sum, step->failed);
    sum = ebb_checksum_int(sum, step->ended_ms);
    return (int64_t)ebb_checksum_text(sum, step->outcome, step->outcome_bytes);
}

int64_t ebb_journal_attempt_sum(const ebb_journal_attempt *attempt)
{
    uint64_t sum = ebb_checksum_int(EBB_CHECKSUM_START, attempt->number);

    sum = ebb_checksum_int(sum, attempt->at_ms);
    sum = ebb_checksum_int(sum, attempt->next_ms);
    return (int64_t)ebb_checksum_text(sum, attempt->error,
                                      attempt->error_bytes);
}

int64_t ebb_journal_line_sum(const ebb_journal_line *line)
{
    uint64_t sum = ebb_checksum_word(EBB_CHECKSUM_START, line->path);

    sum = ebb_checksum_int(sum, line->attempt);
    sum = ebb_checksum_int(sum, line->level);
    sum = ebb_checksum_int(sum, line->at_ms);
    sum = ebb_checksum_word(sum, line->message);
    return (int64_t)ebb_checksum_text(sum, line->fields, line->fields_bytes);
}
