/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_BASE_FORMS_H
#define SB_BASE_FORMS_H

/*
 * The forms of a broadcast over several nodes in which it matters who comes first, by the names of
 * SOBOR_CLUSTER_BCAST: X(symbol, name) stands for sb_bcast_<symbol>. Of these cp-chain is chosen
 * where it pays; the others are taken by name alone, and are in src/baseline.
 */
#define SB_EACH_FORM(X)                                                                            \
    X(cp_tree, "cp-tree")                                                                          \
    X(cp_chain, "cp-chain")                                                                        \
    X(p_bt, "p-bt")                                                                                \
    X(p_rdaas, "p-rdaas")                                                                          \
    X(p_ringaas, "p-ringaas")                                                                      \
    X(cp_bt, "cp-bt")                                                                              \
    X(cp_rdaas, "cp-rdaas")                                                                        \
    X(cp_ringaas, "cp-ringaas")

/* What the variable says, besides: one of these, and then the forms in order. */
typedef enum sb_form {
    SB_FORM_AUTO,
    SB_FORM_FIXED,
    SB_FORM_P,  /* the published forms by their thresholds, with fixed leaders, */
    SB_FORM_CP, /* and with competitive ones */
#define SB_FORM_ENUMERATOR(symbol, name) SB_FORM_##symbol,
    SB_EACH_FORM(SB_FORM_ENUMERATOR)
#undef SB_FORM_ENUMERATOR
        SB_FORMS
} sb_form_t;

#endif
