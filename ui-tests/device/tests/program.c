/* A C program that uses a library of kernels: it prints what it sees, and the test compares. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hpmoe.h"

enum { HIDDEN = 128, INTER = 64, EXPERTS = 16, TOP_K = 4, RANKS = 2, LOCAL = EXPERTS / RANKS, ARGUMENTS = 6 };

static const uint64_t TOKENS[RANKS] = {24, 17};

static uint32_t state = 1;

static uint32_t next(void) {
    state = state * 1664525u + 1013904223u;
    return state >> 16;
}

/* Memory on a line, `shift` bytes after its start. */
static void *memory(size_t bytes, size_t shift) {
    char *start = malloc(bytes + 128);
    if (!start) exit(3);
    return start + (64 - (uintptr_t)start % 64) + shift;
}

/* Numbers near 1/32 of either sign. */
static HpmoeTensor numbers(uint64_t rows, uint32_t columns, size_t shift) {
    HpmoeTensor tensor = {NULL, rows, columns, HPMOE_BF16, HPMOE_CPU};
    uint16_t *data = memory(rows * columns * 2, shift);
    for (uint64_t i = 0; i < rows * columns; ++i) {
        uint32_t bits = next();
        data[i] = (uint16_t)((bits & 0x8000) | (0x3d00 + (bits & 0xff)));
    }
    tensor.data = data;
    return tensor;
}

static void check(const char *what, HpmoeStatus status) {
    printf("%s: %d %s\n", what, (int)status, hpmoe_last_error());
}

int main(void) {
    HpmoeTensor ids[RANKS], tensors[ARGUMENTS * RANKS];
    HpmoeMemory needed;
    HpmoeOptions options = {7, 60000, 0, 1, HPMOE_CPU, 0, NULL, HPMOE_CHECKS_ON, NULL};
    HpmoeGroup group = 0;
    const char *const forward = "moe_ffn::forward";

    if (hpmoe_c_abi() != HPMOE_C_ABI) return 2;
    printf("%s\n", hpmoe_describe());
    check("memory", hpmoe_memory(forward, RANKS, 0, &needed));
    printf("%" PRIu64 " %" PRIu64 " %d %d\n", needed.received_rows, needed.once_rows, needed.workspace_bytes > 0,
           needed.heap_bytes > 0);
    check("group", hpmoe_group_new(RANKS, &options, &group));

    for (int rank = 0; rank < RANKS; ++rank) {
        int64_t *of_rank = memory(TOKENS[rank] * TOP_K * sizeof *of_rank, 0);
        for (uint64_t token = 0; token < TOKENS[rank]; ++token)
            for (uint64_t k = 0; k < TOP_K; ++k) of_rank[token * TOP_K + k] = (int64_t)((token * 5 + k * 3) % EXPERTS);
        ids[rank].data = of_rank;
        ids[rank].rows = TOKENS[rank];
        ids[rank].columns = TOP_K;
        ids[rank].element = HPMOE_I64;
        ids[rank].device = HPMOE_CPU;
        tensors[rank] = numbers(TOKENS[rank], HIDDEN, rank == 0 ? 2 : 0);
        float *weights = memory(TOKENS[rank] * TOP_K * sizeof *weights, 0);
        for (uint64_t i = 0; i < TOKENS[rank] * TOP_K; ++i) weights[i] = (float)(next() & 0xff) / 256.0f;
        tensors[RANKS + rank].data = weights;
        tensors[RANKS + rank].rows = TOKENS[rank];
        tensors[RANKS + rank].columns = TOP_K;
        tensors[RANKS + rank].element = HPMOE_F32;
        tensors[RANKS + rank].device = HPMOE_CPU;
        tensors[2 * RANKS + rank] = numbers(LOCAL * INTER, HIDDEN, 0);
        tensors[3 * RANKS + rank] = numbers(LOCAL * INTER, HIDDEN, 0);
        tensors[4 * RANKS + rank] = numbers(LOCAL * HIDDEN, INTER, 0);
        tensors[5 * RANKS + rank] = numbers(TOKENS[rank], HIDDEN, rank == 1 ? 6 : 0);
    }
    check("launch", hpmoe_launch(group, forward, ids, RANKS, tensors, ARGUMENTS, NULL));
    printf("%s\n", hpmoe_last_report());
    for (int rank = 0; rank < RANKS; ++rank) {
        const uint16_t *y = tensors[5 * RANKS + rank].data;
        for (uint64_t i = 0; i < TOKENS[rank] * HIDDEN; ++i) printf("%04x", y[i]);
        printf("\n");
    }
    check("no weights",
          (tensors[RANKS].data = NULL, hpmoe_launch(group, forward, ids, RANKS, tensors, ARGUMENTS, NULL)));
    printf("[%s]\n", hpmoe_last_report());
    check("free", hpmoe_group_free(group));
    check("free again", hpmoe_group_free(group) == HPMOE_INVALID ? HPMOE_OK : HPMOE_FAILED);
    printf("%d\n", strstr(hpmoe_last_error(), "it has been freed") != NULL);
    return 0;
}
