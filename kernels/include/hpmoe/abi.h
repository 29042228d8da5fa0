/* What the host and the megakernel agree on: descriptors, launch arguments, records.
 *
 * Plain C, so that the same text serves the device compiler and bindgen. Everything here is constant during a
 * launch except HpmoeRecord and time stamps, and nothing of it is different in the next launch: HpmoeLaunch and what it
 * refers to can be launched again as they are, with other data where the tensors lie. All structures are multiples of 64
 * bytes and start on 64 bytes, or are arrays of 32- and 64-bit words. Addresses are device addresses. */
#ifndef HPMOE_ABI_H
#define HPMOE_ABI_H

#include <stdint.h>

/* Raised whenever the meaning of a field changes; part of every kernel's symbol. */
#define HPMOE_ABI 5

/* Counters, ready words and rows of symmetric and workspace buffers lie this far apart: requests inside one
 * aligned range of this size are served one after another. */
#define HPMOE_LINE 512

/* Number of chunks that have memory at a time; each later chunk takes the memory of the one this many before it. */
#define HPMOE_CHUNK_BUFFERS 2

/* Which tiles an entry runs over. A kernel may cut the tokens of each rank into chunks. "Local expert" counts the experts of
 * one rank once for each chunk, chunk * chunk_experts + expert of the rank; "pair" is peer * local_experts + local expert. */
enum HpmoeSpaceKind {
    HPMOE_ROW_TILES = 0,  /* groups: local experts; items: row tiles of the rows received for the expert */
    HPMOE_SENDS = 1,      /* groups: pairs (owner, its expert); items: pieces of this rank's rows for that expert, */
                          /* cut at the receiver's row tiles */
    HPMOE_ARRIVALS = 2,   /* groups: pairs (source, own expert); items: pieces of the rows that came from there */
    HPMOE_BLOCKS = 3,     /* groups: chunks; items: blocks of consecutive tokens of this rank */
    HPMOE_EXPERTS = 4,    /* groups: local experts; items: one, all rows received for the expert, even if none */
    HPMOE_CHUNKS = 5,     /* groups: chunks; items: one, where a chunk comes whose rows take the memory of this one */
    HPMOE_SENDS_ONCE = 6, /* as HPMOE_SENDS, of tokens that are sent once to each rank: a token is a row for the */
                          /* first of the rank's experts that it goes to */
    HPMOE_ONCE_TILES = 7, /* as HPMOE_ROW_TILES, of those rows; for counters, of no entry */
    HPMOE_ROUTE = 8 /* of a descriptor alone: vector cores make the tables of a route here, all cores wait for them */
};

/* One entry of a core's queue: a strided range of the tiles of one phase in one group, or in the groups of some peers, one
 * after the other.
 *
 * Tile t of a group is (item, column) by the swizzle; with n = starts[phase] + counted[group] * columns + t, it
 * belongs to the core number (n + n / core_count * rotation) mod core_count of those that share the queue. The core runs it for the phase and then
 * for each of the `more` phases after it. One aligned line, eight 64-bit loads. */
struct HpmoeDescriptor {
    uint16_t phase;       /* which call of the taskflow: the case of the dispatch */
    uint16_t space;       /* index into HpmoeLaunch.spaces */
    uint16_t kind;        /* HpmoeSpaceKind of that space */
    uint16_t band;        /* swizzle: rows of tiles that are walked together, column by column; at least 1 */
    uint32_t columns;     /* tiles of one item: the product of the constant ranges around the call */
    uint32_t expert;      /* place in HpmoeLaunch.expert_order, for all kinds but HPMOE_BLOCKS and HPMOE_CHUNKS */
    uint32_t peer_offset; /* SENDS, SENDS_ONCE, ARRIVALS: the first peer is (rank + peer_offset) mod ranks */
    uint16_t core_first;  /* first core of its kind that shares this queue */
    uint16_t core_count;  /* how many do */
    uint32_t column_rows; /* swizzle: an item has this many rows of columns / column_rows tiles each; at least 1 */
    uint32_t more;        /* phases phase + 1, … that are run on each tile too, before the next tile */
    uint32_t chunk;
    uint32_t
        coming; /* ROW_TILES, items in order: 0: from the rank's own rows on; else HpmoeSpace.coming, this being its turn */
    uint32_t rotation;  /* cores by which the tiles of each round move on; fewer than core_count */
    uint32_t turn;      /* with peers: rows that are put to a peer before it is the next one's turn; 0: all of them */
    uint32_t peers;     /* SENDS, SENDS_ONCE, ARRIVALS: groups that the entry has, one of each peer; else 1 */
    uint32_t peer_step; /* from each peer to the next, modulo ranks; less than ranks */
    uint32_t reserved[2];
};

/* The queue of one core: descriptors[first .. first + count). */
struct HpmoeQueue {
    uint32_t first;
    uint32_t count;
};

/* Rows that one rank sends to one expert of another, or got from one rank for one own expert. */
struct HpmoePair {
    int32_t rows;  /* how many */
    int32_t at;    /* their first row among the rows of the expert at its owner */
    int32_t base;  /* the expert's first row among all rows that its owner has memory for */
    int32_t order; /* SENDS, SENDS_ONCE: their first place in HpmoeLaunch.order; ARRIVALS: zero */
};

/* Rows received for one local expert: [first, first + rows) of those that there is memory for. Rows of a chunk lie in the
 * first or second half, as the chunk's number is even or odd. */
struct HpmoeExpert {
    int32_t first;
    int32_t rows;
};

/* One iteration space: kind, tile height and its run-time extents. */
struct HpmoeSpace {
    uint64_t first_items; /* GM int32[groups + 1]: items before each group, the last one: all */
    uint64_t peer_items;  /* .._TILES:  GM int32[ranks * local_experts]: the same at every pair's owner, else zero */
    uint64_t counted;     /* GM int32[groups]: items before each group, in expert_order and then from peer to peer; */
                          /* CHUNKS: zeros, so that one core has them all */
    uint64_t coming;      /* ROW_TILES: GM int32[items]: items of each group in the order in which rows come; zero */
                          /* where no entry walks so, and for other kinds */
    uint32_t kind;        /* HpmoeSpaceKind */
    uint32_t height;      /* most rows of an item */
    uint32_t turn;        /* with coming: rows that a rank sends to one expert before it is the next one's turn */
    uint32_t reserved;
};

/* The one argument of a kernel: a line-aligned structure in the rank's GM. */
struct HpmoeLaunch {
    uint64_t peers;         /* GM uint64[ranks]: address of each rank's symmetric heap, as this rank sees it */
    uint64_t tensors;       /* GM uint64[tensors]: address; for a symmetric tensor: byte offset in the heap; */
                            /* for one of the caller's that peers write: address of GM uint64[ranks], one for each */
    uint64_t queues;        /* GM HpmoeQueue[aic + aiv], AICs first */
    uint64_t descriptors;   /* GM HpmoeDescriptor[] */
    uint64_t spaces;        /* GM HpmoeSpace[spaces] */
    uint64_t starts;        /* GM uint32[phases]: where the count of a phase's tiles begins; then, with choices, */
                            /* the number of chunks */
                            /* Where tokens are sent once, experts, sends and order have a second part after the */
                            /* first: the same of the rows that are sent then */
    uint64_t experts;       /* GM HpmoeExpert[local_experts] */
    uint64_t sends;         /* GM HpmoePair[ranks * local_experts]: this rank to (owner, expert) */
    uint64_t arrivals;      /* GM HpmoePair[ranks * local_experts]: (source, own expert) to this rank */
    uint64_t order;         /* GM int32[tokens * top_k]: token * top_k + k, sorted by local expert, stable; tokens */
                            /* are numbered from the first of their chunk */
    uint64_t counter_bases; /* GM uint32[counters]: number of the first counter of each counter array */
                            /* A launch has a number, from 1, modulo 2^32: one more than its core finds in */
                            /* `launches`. The set of counters in use is that number modulo 2 */
    uint64_t launches;      /* byte offset in the heap: int32[aic + aiv], HPMOE_LINE apart: the number of the last */
                            /* launch that each core has left; zero before the first */
    uint64_t counters;      /* byte offset in the heap: two sets of counter_count counters, HPMOE_LINE apart */
    uint64_t ready;         /* byte offset in the heap: int32: last launch each peer is ready for, HPMOE_LINE apart */
    uint64_t freed;         /* byte offset in the heap: int32 of each peer, HPMOE_LINE apart: launch * chunks + the */
                            /* number of leading chunks of that launch that the peer no longer reads */
    uint64_t expert_order;  /* GM int32[ranks * local_experts]: local experts of each rank in queue order, */
                            /* chunk by chunk */
    uint64_t abort;         /* byte offset in the heap: int32, not zero once a launch was given up: cores leave that */
                            /* launch and every later one, until the host makes the heap anew */
    uint64_t records;       /* GM HpmoeRecord[aic + aiv] */
    uint64_t time_limit;    /* cycles of the system counter that one wait may take */
    uint64_t rows_once;     /* GM int32[received]: each row's token among those sent once; zero where none are */
    uint64_t origins;       /* GM int32[received]: each row's token * top_k + k at its sender; zero if puts send it */
    uint32_t counter_count; /* counters of one set */
    uint32_t rank;
    uint32_t ranks;
    uint32_t local_experts; /* chunks * chunk_experts */
    uint32_t tokens;        /* of this rank */
    uint32_t aic;           /* cores that the schedule was made for */
    uint32_t aiv;
    uint32_t chunks;        /* at least 1 */
    uint32_t chunk_tokens;  /* of each chunk of this rank; of the last ones fewer, or none */
    uint32_t chunk_experts; /* experts of this rank */
    uint64_t routing;       /* GM HpmoeRouting; zero where the host has made the routing tables */
    uint64_t ids; /* GM int32[tokens * top_k]: below zero for an empty slot, which no expert has; zero where no slot */
                  /* is empty, or the kernel makes the routing tables */
    uint64_t stamps; /* GM of each core, matrix cores first: HpmoeStampHead, then stamp_room HpmoeStamp; after all of */
                     /* them HpmoeClock[ranks][HPMOE_CLOCK_ROUNDS]. Zero for a kernel that keeps no time stamps */
    uint64_t clocks; /* byte offset in the heap: int32 of each peer, HPMOE_LINE apart: how often ranks have told each */
                     /* other the time; of a kernel that keeps time stamps */
    uint32_t stamp_room;  /* tiles of a core whose time stamps are kept; even, so that each core has lines of its own */
    uint32_t chunk_parts; /* parts of a chunk that sums over an expert's rows add up one after another */
    uint64_t
        parts; /* GM int32[local_experts][ranks * chunk_parts + 1]: of each expert, rows before those of each source and */
               /* part, then all rows; zero for a kernel whose sums have no parts */
    uint64_t
        choices; /* GM HpmoeLaunch[]: the same launch in 1, 2, 4, … chunks, the last one in as many as here, of which */
                 /* the kernel chooses one; zero where it has no choice */
    uint64_t reserved[7];
};

/* What a kernel makes its routing tables from, where it makes them itself: the tables of HpmoeLaunch from `experts` to `order`,
 * expert_order, starts, and those of all spaces but BLOCKS and CHUNKS. Each has room for as many rows as the rank has. */
struct HpmoeRouting {
    uint64_t ids;    /* GM int32[tokens * top_k]: the expert of each (token, k); -1 for an empty slot. Where the */
                     /* route is a kept one, its ids */
    uint64_t counts; /* byte offset in the heap: two halves, of the launch's number modulo 2, of a row of count_pitch */
    /* words for each rank: what it sends to each expert, chunk by chunk, then what it sends once; by a */
    /* placement, to each column. With choices, chunk by chunk of the most that there may be */
    uint64_t first_pairs; /* GM uint32[phases + 1]: pairs before those of each phase */
    uint64_t start_pairs; /* GM uint32[pairs][2]: space and columns; `starts` of a phase sums items times columns */
    uint32_t top_k;
    uint32_t count_pitch; /* words from row to row, a multiple of 128 */
    uint32_t capacity;    /* rows of a chunk that each rank has room for */
    uint32_t phases;
    uint32_t spaces;
    uint32_t expert_order;  /* how queues name experts: HpmoeExpertOrder */
    uint32_t once;          /* whether tokens are sent once to each rank, too */
    uint32_t made;          /* counter array with one counter: vector cores that have made their tables; below zero */
                            /* where there is no route */
    uint32_t gaps;          /* whether a slot may be empty: its id is -1; otherwise that is a fault */
    uint32_t before;        /* phases that come before the route: the host has made their `starts` */
    uint32_t ids_ready;     /* counter array with one counter, of what the kernel has written of ids */
    uint32_t ids_per_token; /* what phases add to it for each token; zero where ids were there before the launch */
    uint64_t kept;          /* GM HpmoeKeptHead and what follows it: where the route is kept for later launches, or */
                            /* where an earlier one has kept it; zero for neither */
    uint64_t placement;     /* GM HpmoePlacementHead and what follows it; zero where expert e of the group is place e */
    uint32_t is_kept;       /* whether an earlier launch has kept it */
    uint32_t group_slots;   /* slots of a token that each group of experts has: slot k is for group k / group_slots; */
                            /* zero where any slot may name any expert */
    uint32_t group_experts; /* experts of a group, which are numbered one group after the other */
    uint32_t experts;       /* that ids may name: logical ones */
    uint64_t digests;       /* byte offset in the heap: two halves, of the launch's number modulo 2, of a block of */
                            /* HPMOE_DIGEST_WORDS words for each rank: the digest of its placement, or which */
                            /* launch has kept its route */
    uint64_t
        sent; /* GM int32, made by the kernel: slots of this rank that are not empty. Zero without a placement, where */
              /* the last pair tells it */
};

#define HPMOE_DIGEST_WORDS 8

/* The head of where experts lie, in a line of memory. Ranks exchange a count for each column: the places that hold an expert, by expert and then by
 * place; before them one without rows, if there are empty places. After the head lie five lists, each of a word for each chunk and place of the group and one
 * more, filled up to a line of 64 bytes: by chunk and place, rank by rank, how many bytes its count is from the first one in a row of counts; by column,
 * its expert, times 4, the part of the expert's rows before this place's share, and the part up to its end, both of 4096; by expert, its first column, and
 * after the last expert how many columns there are. Other launches may have other numbers here, all ranks the same. */
struct HpmoePlacementHead {
    uint32_t digest; /* below HPMOE_DIGESTS: the same on all ranks, or there is no route */
    uint32_t columns;
    uint32_t reserved[14];
};

#define HPMOE_DIGESTS 0x3fffffff /* HpmoePlacementHead.digest */

/* The head of a route that a launch keeps for later ones, in a line of memory. After it lie the counts of all ranks, each plus one, in
 * rows of count_pitch words; the ids of this rank's slots, filled up to a block; its slots by expert, as HpmoeLaunch.order has them. */
struct HpmoeKeptHead {
    uint32_t kept;   /* HPMOE_KEPT if there is a route */
    uint32_t launch; /* number of the launch that has kept it, the same on all ranks; zero for the host */
    uint32_t ranks;
    uint32_t rank;
    uint32_t experts; /* of the group */
    uint32_t top_k;
    uint32_t tokens;      /* of the rank */
    uint32_t group_slots; /* as HpmoeRouting has it */
    uint32_t placement;   /* HpmoePlacementHead.digest; zero without one */
    uint32_t reserved[7];
};

#define HPMOE_KEPT 0x726f7574u /* HpmoeKeptHead.kept */

/* How queues name the experts of a rank: by number, by place in the order of their load, or from the fewest rows to the most. */
enum HpmoeExpertOrder { HPMOE_BY_NUMBER = 0, HPMOE_BY_LOAD = 1, HPMOE_MIXED = 2, HPMOE_LIGHTEST_FIRST = 3 };

/* Why ids make no route. All ranks find the same: the first rank's first fault. The record of a core that leaves for it
 * (HPMOE_UNROUTED) has the kind as `group` and the rank as `item`. On the rank whose ids are faulty, `need` is the id. */
enum HpmoeRouteFaultKind {
    HPMOE_ROUTE_MADE = 0,
    HPMOE_ROUTE_ID = 1,       /* `column` is the slot of an id that is none */
    HPMOE_ROUTE_TWICE = 2,    /* `column` is the slot of an id that slot `index` of the token has, too */
    HPMOE_ROUTE_CAPACITY = 3, /* the rank would receive `column` rows of a chunk */
    HPMOE_ROUTE_KEPT = 4,     /* word `column` of HpmoeKeptHead is `need`, but not in what the rank was given */
    HPMOE_ROUTE_APART = 5,    /* the rank was given what another launch has kept than rank 0 */
    HPMOE_ROUTE_PLACED = 6    /* the rank was given another placement than rank 0 */
};

/* What a core is doing; written by the core itself, cleaned to GM when it leaves. */
enum HpmoeState {
    HPMOE_IDLE = 0,    /* has not started */
    HPMOE_RUNNING = 1, /* inside a tile */
    HPMOE_WAITING = 2, /* waits for a counter or a peer's word */
    HPMOE_DONE = 3,    /* left with its queue finished */
    HPMOE_GAVE_UP = 4, /* its wait took longer than time_limit */
    HPMOE_STOPPED = 5, /* another core gave up */
    HPMOE_REFUSED = 6, /* other cores than the schedule's: their number, or the ratio of vector to matrix cores */
    HPMOE_UNROUTED = 7 /* there is no route: HpmoeRouteFaultKind says why */
};

#define HPMOE_READY_WORD 0xffffu /* HpmoeRecord.counter: a ready word, index is the peer */
#define HPMOE_FREED_WORD 0xfffeu /* HpmoeRecord.counter: a freed word, index is the peer */
#define HPMOE_COUNTS 0xfffdu     /* HpmoeRecord.counter: what a peer sends, index is the peer */
#define HPMOE_CLOCK_WORD 0xfffcu /* HpmoeRecord.counter: a peer's word that compares clocks, index is the peer */

struct HpmoeRecord {
    uint32_t state; /* HpmoeState */
    uint32_t phase; /* of the tile it runs or waits for; while a route is made, the number of phases */
    uint32_t group; /* local expert or pair of that tile */
    uint32_t item;  /* item of the group */
    uint32_t column;
    uint32_t counter; /* counter array awaited, HPMOE_READY_WORD or HPMOE_FREED_WORD */
    uint32_t index;   /* which counter of it */
    int32_t need;
    int32_t have;
    uint32_t tasks;    /* tiles entered */
    uint32_t empty;    /* of them, those without rows, columns or contraction */
    uint32_t waits;    /* counters looked at */
    uint32_t entries;  /* entries of its queue that had a tile for it */
    uint32_t unrouted; /* launches that had no route, since the host made the record; of vector cores */
    uint32_t chunks;   /* that the kernel has chosen; zero where it has not, or not yet */
    uint32_t reserved;
};

/* How often ranks that compare their clocks tell each other the time. */
#define HPMOE_CLOCK_ROUNDS 8

/* The time stamps of one core in the last launch. Times are cycles of the rank's system counter, as its core's scalar unit sees
 * them. Written when the core leaves. */
struct HpmoeStampHead {
    uint64_t begun; /* when the core began */
    uint64_t ended; /* when its queue was finished; zero if it has not left, or left early */
    uint32_t tiles; /* tiles run, those without room for a stamp included */
    uint32_t reserved[11];
};

/* One tile. */
struct HpmoeStamp {
    uint64_t came;   /* when the core came to it */
    uint32_t waited; /* cycles of its waits */
    uint32_t lasted; /* cycles from then until the core went on, waits included */
    uint32_t phase;  /* as in HpmoeRecord, and what follows too */
    uint32_t group;
    uint32_t item;
    uint32_t column;
};

/* A word of a rank for another one and the other's for it: rank 0 with each of the others. */
struct HpmoeClock {
    uint64_t sent; /* this rank's time when it sent its own; rank 0 sends first */
    uint64_t got;  /* this rank's time when the other's had come */
};

#endif
