/* Launches and references with the floating-point state of a caller that has its own: it prints what differs, and the state afterwards. */
#include <fenv.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "hpmoe.h"

enum { HIDDEN = 48, TOKENS = 7, TOP_K = 2 };

static _Alignas(64) uint16_t x[TOKENS * HIDDEN];
static _Alignas(64) float weights[TOKENS * TOP_K];
static _Alignas(64) float y[TOKENS * HIDDEN];
static _Alignas(64) int32_t ids[TOKENS * TOP_K];

/* Rounds up, and takes subnormal numbers for zeros. */
static void other_state(void) {
    fesetround(FE_UPWARD);
#if defined(__x86_64__)
    __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8040);
#elif defined(__aarch64__)
    uint64_t fpcr;
    __asm__ volatile("mrs %0, fpcr" : "=r"(fpcr));
    __asm__ volatile("msr fpcr, %0" : : "r"(fpcr | (UINT64_C(1) << 24)));
#endif
}

/* Whether the state is still that one. */
static int is_other_state(void) {
    volatile float tiny = 1e-39f;
    return fegetround() == FE_UPWARD && tiny * 1.0f == 0.0f;
}

static HpmoeStatus run(HpmoeGroup group, int reference, float *result) {
    HpmoeTensor of_ids = {ids, TOKENS, TOP_K, HPMOE_I32, HPMOE_CPU};
    HpmoeTensor tensors[3] = {{x, TOKENS, HIDDEN, HPMOE_BF16, HPMOE_CPU},
                              {weights, TOKENS, TOP_K, HPMOE_F32, HPMOE_CPU},
                              {y, TOKENS, HIDDEN, HPMOE_F32, HPMOE_CPU}};
    memset(y, 0xee, sizeof y);
    HpmoeStatus status = reference ? hpmoe_reference(group, "echo::forward", &of_ids, 1, tensors, 3)
                                   : hpmoe_launch(group, "echo::forward", &of_ids, 1, tensors, 3, NULL);
    memcpy(result, y, sizeof y);
    return status;
}

int main(void) {
    static float plain[TOKENS * HIDDEN], launched[TOKENS * HIDDEN], referenced[TOKENS * HIDDEN];
    HpmoeOptions options = {7, 60000, 0, 2, HPMOE_CPU, 0, NULL, HPMOE_CHECKS_ON, NULL};
    HpmoeGroup group = 0;
    /* Products that must be rounded, and products that are subnormal. */
    for (int i = 0; i < TOKENS * HIDDEN; ++i) x[i] = (uint16_t)(i % 2 ? 0x3f81 + i % 64 : 0x0081 + i % 64);
    for (int i = 0; i < TOKENS * TOP_K; ++i) weights[i] = 0.3f + (float)i / 64.0f, ids[i] = (i / TOP_K + i % TOP_K) % 4;
    if (hpmoe_group_new(1, &options, &group) != HPMOE_OK || run(group, 0, plain) != HPMOE_OK) return 2;
    other_state();
    HpmoeStatus of_launch = run(group, 0, launched), of_reference = run(group, 1, referenced);
    int kept = is_other_state();
    fesetenv(FE_DFL_ENV);
    int subnormal = 0, other = 0;
    for (int i = 0; i < TOKENS * HIDDEN; ++i) subnormal += plain[i] != 0.0f && plain[i] < 1.17549435e-38f;
    other = memcmp(plain, launched, sizeof plain) != 0;
    printf("%d %d subnormal: %d\n", (int)of_launch, (int)of_reference, subnormal);
    printf("launch differs: %d, reference differs: %d, state kept: %d\n", other,
           memcmp(plain, referenced, sizeof plain) != 0, kept);
    return hpmoe_group_free(group) == HPMOE_OK ? 0 : 3;
}
