/* The binary interface between host and megakernel: descriptors, launch arguments, records.
 *
 * Plain C, so that the device compiler and bindgen read the same text. Everything here is constant during a launch,
 * except HpmoeRecord and the time stamps. HpmoeLaunch and its tables can be launched again unchanged, with other data in
 * the same tensors. Each structure is a multiple of 64 bytes and starts at a multiple of 64, or is an element of an array
 * of 32- or 64-bit words. Addresses are device addresses. */
#ifndef HPMOE_ABI_H
#define HPMOE_ABI_H

#include <stdint.h>

/* Raised whenever the meaning of a field changes; part of every kernel's symbol. */
#define HPMOE_ABI 5

/* Distance in bytes between counters, and between words that different cores or peers write, such as ready words. The
 * distance between rows of symmetric and workspace buffers is a multiple of it. Memory serves requests to one aligned
 * range of this size one after another. */
#define HPMOE_LINE 512

/* Maximum number of chunks in memory at a time. Chunk n reuses the buffers of chunk n - HPMOE_CHUNK_BUFFERS. */
#define HPMOE_CHUNK_BUFFERS 2

/* The kinds of spaces: their items, and how items are grouped. A "local expert" is an expert of one rank in one chunk.
 * The number of a local expert is chunk * chunk_experts + the expert's number on the rank. The number of a "pair" is
 * peer * local_experts + local expert. */
enum HpmoeSpaceKind {
    HPMOE_ROW_TILES = 0,  /* groups: local experts; items: row tiles of the rows received for the expert */
    HPMOE_SENDS = 1,      /* groups: pairs (owner, its expert); items: pieces of the rows that this rank sends to */
                          /* the expert, cut at the receiver's row tiles */
    HPMOE_ARRIVALS = 2,   /* groups: pairs (source, own expert); items: pieces of the rows that the source sends */
    HPMOE_BLOCKS = 3,     /* groups: chunks; items: blocks of consecutive tokens of this rank */
    HPMOE_EXPERTS = 4,    /* groups: local experts; items: one per group: all rows of the expert, maybe none */
    HPMOE_CHUNKS = 5,     /* groups: chunks; items: one if a later chunk reuses this chunk's memory, else none */
    HPMOE_SENDS_ONCE = 6, /* like HPMOE_SENDS, for once-sent rows: a token is one row, stored under the first of */
                          /* the rank's experts that it goes to */
    HPMOE_ONCE_TILES = 7, /* like HPMOE_ROW_TILES, for once-sent rows; only counters use it, no entry does */
    HPMOE_ROUTE = 8 /* only in descriptors: vector cores make the route's tables here, and all cores wait for them */
};

/* One entry of a core's queue: the core's share of the tiles of one phase, in one group, in the groups of several peers, or
 * in those of several experts.
 *
 * The swizzle maps tile t of a group to (item, column). With n = starts[phase] + counted[group] * columns + t, the tile
 * belongs to core (n + n / core_count * rotation) mod core_count of the cores that share the queue. The core runs it for
 * the phase and then for each of the `more` phases after it. The structure is one aligned line, eight 64-bit loads. */
struct HpmoeDescriptor {
    uint16_t phase;        /* number of the taskflow's call: the case of the generated switch */
    uint16_t space;        /* index into HpmoeLaunch.spaces */
    uint16_t kind;         /* HpmoeSpaceKind of that space */
    uint16_t band;         /* swizzle: rows of tiles that are processed together, column by column; at least 1 */
    uint32_t columns;      /* tiles per item: the product of the constant ranges around the call */
    uint32_t expert;       /* position in the owner's part of HpmoeLaunch.expert_order; unused for BLOCKS, CHUNKS */
    uint32_t peer_offset;  /* SENDS, SENDS_ONCE, ARRIVALS: the first peer is (rank + peer_offset) mod ranks */
    uint16_t core_first;   /* first core of its kind that shares this queue */
    uint16_t core_count;   /* number of cores that share this queue */
    uint32_t column_rows;  /* swizzle: an item has this many rows of columns / column_rows tiles; at least 1 */
    uint32_t more;         /* number of following phases that the core runs on each tile before the next tile */
    uint32_t chunk;        /* number of the entry's chunk */
    uint32_t arrival_turn; /* ROW_TILES: rows of a turn if items are walked in HpmoeSpace.arrival_order; */
                           /* 0: items are walked starting with the rank's own rows */
    uint32_t rotation;     /* number of cores by which the deal of tiles moves on each round; less than core_count */
    uint32_t turn;         /* with peers: rows put to one peer before the next peer has its turn; 0: all rows */
    uint32_t peers;        /* SENDS, SENDS_ONCE, ARRIVALS: number of the entry's peers, with one group each; else 1 */
    uint32_t peer_step;    /* distance from one peer to the next, modulo ranks; less than ranks */
    uint32_t
        more_experts; /* with one peer: number of further experts, at the positions after `expert`, with one group each; */
                      /* their `counted` ascend; else 0 */
    uint32_t reserved;
};

/* The queue of one core: descriptors[first .. first + count). */
struct HpmoeQueue {
    uint32_t first;
    uint32_t count;
};

/* The rows that one rank sends to one expert: from this rank to any expert, or from any rank to one of its experts. */
struct HpmoePair {
    int32_t rows;  /* number of rows */
    int32_t at;    /* position of the first of these rows among the expert's rows */
    int32_t base;  /* the expert's first row in its owner's tensors of received rows */
    int32_t order; /* SENDS, SENDS_ONCE: position of the first of these rows in HpmoeLaunch.order; ARRIVALS: zero */
};

/* Rows received for one local expert: rows [first, first + rows) of a tensor of received rows. If there are several
 * chunks, even chunks use the first half of the tensor, and odd chunks the second half. */
struct HpmoeExpert {
    int32_t first;
    int32_t rows;
};

/* One iteration space: kind, tile height and its run-time extents. */
struct HpmoeSpace {
    uint64_t first_items; /* GM int32[groups + 1]: items before each group; the last word is the number of all items */
    uint64_t
        peer_items; /* .._TILES: GM int32[ranks * local_experts]: for each pair, items before the expert at its owner; */
                    /* zero for other kinds */
    uint64_t counted; /* GM int32[groups]: items before each group if groups are ordered by expert_order, then by */
                      /* peer; CHUNKS: zeros, so that one core runs all items */
    uint64_t arrival_order; /* ROW_TILES: GM int32[items]: items of each group in the order in which their rows */
                            /* arrive; zero if no entry walks them in this order, and for other kinds */
    uint32_t kind;          /* HpmoeSpaceKind */
    uint32_t height;        /* maximum number of rows of an item */
    uint32_t turn; /* with arrival_order: rows that a rank puts to one peer before the next peer has its turn */
    uint32_t reserved;
};

/* The kernel's only argument: a line-aligned structure in the rank's GM. */
struct HpmoeLaunch {
    uint64_t peers;   /* GM uint64[ranks]: address of each rank's symmetric heap, as this rank sees it */
    uint64_t tensors; /* GM uint64[tensors]: address; for a symmetric tensor, byte offset in the heap; for a caller's */
                      /* tensor that peers write, address of GM uint64[ranks] with its address on each rank */
    uint64_t queues;  /* GM HpmoeQueue[aic + aiv], AICs first */
    uint64_t descriptors; /* GM HpmoeDescriptor[] */
    uint64_t spaces;      /* GM HpmoeSpace[spaces] */
    uint64_t starts;      /* GM uint32[phases]: start of each phase's count of tiles, by which tiles are dealt to */
                          /* cores; with `choices`, the chosen number of chunks follows */

    /* If tokens are sent once, `experts`, `sends` and `order` each have a second part: the same table for the once-sent
     * rows. */
    uint64_t experts;  /* GM HpmoeExpert[local_experts] */
    uint64_t sends;    /* GM HpmoePair[ranks * local_experts]: from this rank to (owner, expert) */
    uint64_t arrivals; /* GM HpmoePair[ranks * local_experts]: from each source to (this rank, expert) */
    uint64_t order;    /* GM int32[tokens * top_k]: slots, token * top_k + k, in a stable order by chunk and expert; */
                       /* tokens are counted from the chunk's first token */
    uint64_t counter_bases; /* GM uint32[counters]: number of the first counter of each counter array */

    /* The launch number is one more than the core's word in `launches`, modulo 2^32. Its lowest bit selects the set of
     * counters in use. */
    uint64_t launches;     /* byte offset in the heap: int32[aic + aiv], HPMOE_LINE apart: number of the last */
                           /* launch that each core finished; zero before the first */
    uint64_t counters;     /* byte offset in the heap: two sets of counter_count counters, HPMOE_LINE apart */
    uint64_t ready;        /* byte offset in the heap: int32[ranks], HPMOE_LINE apart: number of the last launch that */
                           /* each peer is ready for */
    uint64_t freed;        /* byte offset in the heap: int32[ranks], HPMOE_LINE apart: launch number * chunks + the */
                           /* number of chunks of that launch, from chunk 0 on, that the peer no longer reads */
    uint64_t expert_order; /* GM int32[ranks * local_experts]: local experts of each rank in queue order, */
                           /* chunk by chunk */
    uint64_t abort;        /* byte offset in the heap: int32, not zero after a launch was given up: cores leave that */
                           /* launch and every later one until the host clears the heap */
    uint64_t records;      /* GM HpmoeRecord[aic + aiv] */
    uint64_t time_limit;   /* maximum number of cycles of the system counter that a wait may take */
    uint64_t rows_once;    /* GM int32[received]: number of each received row's once-sent row; zero if there are none */
    uint64_t origins;      /* GM int32[received]: each received row's slot at its sender; zero if puts send the slots */
    uint32_t counter_count; /* number of counters in one set */
    uint32_t rank;
    uint32_t ranks;
    uint32_t local_experts; /* chunks * chunk_experts */
    uint32_t tokens;        /* number of tokens of this rank */
    uint32_t aic;           /* number of matrix cores of the schedule */
    uint32_t aiv;           /* number of vector cores of the schedule */
    uint32_t chunks;        /* at least 1 */
    uint32_t chunk_tokens;  /* tokens of each chunk of this rank; the last chunks may have fewer, or none */
    uint32_t chunk_experts; /* number of places for experts on this rank, the same in each chunk */
    uint64_t routing;       /* GM HpmoeRouting; zero if the host has made the routing tables */
    uint64_t ids;    /* GM int32[tokens * top_k]: negative for an empty slot; zero if no slot is empty or the kernel */
                     /* makes the routing tables */
    uint64_t stamps; /* GM: for each core, matrix cores first, HpmoeStampHead and HpmoeStamp[stamp_room]; then */
                     /* HpmoeClock[ranks][HPMOE_CLOCK_ROUNDS]. Zero if the kernel records no time stamps */
    uint64_t clocks; /* byte offset in the heap: int32[ranks], HPMOE_LINE apart: rounds of clock comparison with each */
                     /* peer; unused if the kernel records no time stamps */
    uint32_t stamp_room;  /* maximum time stamps per core; even, so that no two cores share a cache line */
    uint32_t chunk_parts; /* number of parts of a chunk; sums over an expert's rows add the parts one by one */
    uint64_t parts;   /* GM int32[local_experts][ranks * chunk_parts + 1]: for each expert, rows before those of each */
                      /* source and part, then all rows; zero if the kernel's sums have no parts */
    uint64_t choices; /* GM HpmoeLaunch[]: this launch in 1, 2, 4, … chunks, up to `chunks`, one of which the kernel */
                      /* chooses; zero if it does not choose the number of chunks */
    uint64_t reserved[7];
};

/* The input of a kernel that makes its routing tables itself: the tables of HpmoeLaunch from `experts` to `order`,
 * expert_order, starts, and those of all spaces except BLOCKS and CHUNKS. Each table has room for the rank's capacity. */
struct HpmoeRouting {
    uint64_t ids;    /* GM int32[tokens * top_k]: the expert of each (token, k); -1 for an empty slot. If the */
                     /* route is a kept one, the ids in it */
    uint64_t counts; /* byte offset in the heap: two halves, for odd and even launch numbers. Each has a row of */
    /* count_pitch words per rank: the rows that the rank sends to each expert (with a placement, to each */
    /* column), chunk by chunk; then the same for once-sent rows. With choices, the chunks are those of the */
    /* largest number of chunks */
    uint64_t first_pairs; /* GM uint32[phases + 1]: entries of start_pairs before those of each phase */
    uint64_t start_pairs; /* GM uint32[pairs][2]: space and columns; a phase's `starts` is the sum of items * columns */
    uint32_t top_k;
    uint32_t count_pitch; /* words from one row of counts to the next, a multiple of 128 */
    uint32_t capacity;    /* maximum number of rows of a chunk that a rank can receive */
    uint32_t phases;
    uint32_t spaces;
    uint32_t expert_order;  /* HpmoeExpertOrder: the order of experts in queues */
    uint32_t once;          /* whether the kernel also sends tokens once to each rank */
    uint32_t made;          /* counter array with one counter: vector cores that have made their tables; negative if */
                            /* there is no route */
    uint32_t gaps;          /* whether slots may be empty (id -1); if not, an id of -1 is a fault */
    uint32_t before;        /* number of phases before the route, whose `starts` the host makes */
    uint32_t ids_ready;     /* counter array with one counter, to which phases that write ids add */
    uint32_t ids_per_token; /* amount that these phases add per token; zero if the ids are complete before the launch */
    uint64_t kept;          /* GM HpmoeKeptHead and its lists: the kept route that this launch writes, or reads if */
                            /* is_kept; zero if it does neither */
    uint64_t placement;     /* GM HpmoePlacementHead and its lists; zero if each expert e lies at place e */
    uint32_t is_kept;       /* whether `kept` is a route that an earlier launch kept */
    uint32_t group_slots; /* slots of a token per group of experts: slot k names an expert of group k / group_slots; */
                          /* zero if any slot may name any expert */
    uint32_t group_experts; /* number of consecutive experts in a group */
    uint32_t experts;       /* number of logical experts, which ids name */
    uint64_t digests; /* byte offset in the heap: two halves, for odd and even launch numbers, each with a block */
                      /* of HPMOE_DIGEST_WORDS words per rank: the digest of its placement, or the number of */
                      /* the launch that kept its route */
    uint64_t sent; /* GM int32, made by the kernel: number of this rank's non-empty slots. Zero without a placement: */
                   /* the number then follows from the last pair */
};

#define HPMOE_DIGEST_WORDS 8

/* Head of a placement, one line. A column is a place that holds an expert; columns are ordered by expert, then by place.
 * If there are empty places, one more column comes first; its counts are zero. Ranks exchange a count per column. Five
 * lists follow the head. Each has chunks * P + 1 words, where P is the number of places of all ranks, padded to a
 * multiple of 64 bytes:
 * - by chunk and place (the places of rank 0 first): offset of the place's count in a row of counts, in bytes
 * - by column: the expert's number, times 4
 * - by column: the fraction of the expert's rows that the expert's earlier columns take, in 1/4096
 * - by column: the fraction of the expert's rows that these columns and this column take together, in 1/4096
 * - by expert: the expert's first column; after all experts, the number of columns
 * The host may change the lists between launches; they are the same on all ranks. */
struct HpmoePlacementHead {
    uint32_t digest;  /* less than HPMOE_DIGESTS; if it differs between ranks, there is no route */
    uint32_t columns; /* number of columns, including the one for empty places */
    uint32_t reserved[14];
};

#define HPMOE_DIGESTS 0x3fffffff /* HpmoePlacementHead.digest */

/* Head of a kept route, one line. Three lists follow it:
 * - the counts of all ranks, each plus one: a row per rank, chunk by chunk and expert by expert. The number of words in a
 *   row is the number of chunks, times the number of experts rounded up to a multiple of 128
 * - the ids of this rank's slots, padded to a multiple of 8 words
 * - this rank's slots by expert, numbered from the rank's first token, all chunks together, padded likewise. With one
 *   chunk, these are the slots of HpmoeLaunch.order */
struct HpmoeKeptHead {
    uint32_t kept;   /* HPMOE_KEPT if a route is kept */
    uint32_t launch; /* number of the launch that kept the route, the same on all ranks; zero if the host kept it */
    uint32_t ranks;
    uint32_t rank;
    uint32_t experts; /* logical experts of the group */
    uint32_t top_k;
    uint32_t tokens;      /* tokens of the rank */
    uint32_t group_slots; /* HpmoeRouting.group_slots */
    uint32_t placement;   /* HpmoePlacementHead.digest; zero without a placement */
    uint32_t chunks;      /* number of chunks in which rows are counted, the most of any launch; zero for one */
    uint32_t reserved[6];
};

#define HPMOE_KEPT 0x726f7574u /* HpmoeKeptHead.kept */

/* The order of a rank's experts in queues: by number, or one of the orders by load in route/load.rs. */
enum HpmoeExpertOrder { HPMOE_BY_NUMBER = 0, HPMOE_BY_LOAD = 1, HPMOE_MIXED = 2, HPMOE_LIGHTEST_FIRST = 3 };

/* Reasons why no route was made. All ranks report the same fault: the first one of the lowest-numbered faulty rank. In
 * the record of a core that leaves because of the fault (HPMOE_UNROUTED), `group` is the kind, `item` the rank, and
 * `column` as below. Only the records of the faulty rank have `need`, `have` and `index`. */
enum HpmoeRouteFaultKind {
    HPMOE_ROUTE_MADE = 0,     /* no fault */
    HPMOE_ROUTE_ID = 1,       /* slot `column` has the id `need`, which is not the number of an expert of its group */
    HPMOE_ROUTE_TWICE = 2,    /* slot `column` and the earlier slot `index` of the same token have the id `need` */
    HPMOE_ROUTE_CAPACITY = 3, /* the rank would receive `column` rows of a chunk */
    HPMOE_ROUTE_KEPT = 4,     /* word `column` of the rank's HpmoeKeptHead is `need`, but the launch needs `have` */
    HPMOE_ROUTE_APART = 5,    /* the rank's kept route and rank 0's come from different launches */
    HPMOE_ROUTE_PLACED = 6    /* the rank's placement differs from rank 0's */
};

/* The state of a core. The core flushes its record to GM when a wait takes long, and when it leaves. */
enum HpmoeState {
    HPMOE_IDLE = 0,    /* has not started */
    HPMOE_RUNNING = 1, /* inside a tile */
    HPMOE_WAITING = 2, /* waits for a counter or a peer's word */
    HPMOE_DONE = 3,    /* left after finishing its queue */
    HPMOE_GAVE_UP = 4, /* left because a wait took longer than time_limit */
    HPMOE_STOPPED = 5, /* left because another core gave up, an earlier launch was given up, or others found no route */
    HPMOE_REFUSED = 6, /* left because the number of cores, or of vector cores per matrix core, is not the schedule's */
    HPMOE_UNROUTED = 7 /* vector core: left because there is no route, for the reason in HpmoeRouteFaultKind */
};

#define HPMOE_READY_WORD 0xffffu /* HpmoeRecord.counter: a ready word, index is the peer */
#define HPMOE_FREED_WORD 0xfffeu /* HpmoeRecord.counter: a freed word, index is the peer */
#define HPMOE_COUNTS 0xfffdu     /* HpmoeRecord.counter: a peer's counts, index is the peer */
#define HPMOE_CLOCK_WORD 0xfffcu /* HpmoeRecord.counter: a clock word, index is the peer */

struct HpmoeRecord {
    uint32_t state;    /* HpmoeState */
    uint32_t phase;    /* phase of the core's current tile; while the core makes a route, the number of phases */
    uint32_t group;    /* number of the tile's group: a local expert, a pair or a chunk */
    uint32_t item;     /* number of the item in the group */
    uint32_t column;   /* number of the tile in the item */
    uint32_t counter;  /* counter array that the core waits for, or one of the words above */
    uint32_t index;    /* number of the counter in that array */
    int32_t need;      /* value that the counter or word must reach */
    int32_t have;      /* value that the core read last */
    uint32_t tasks;    /* number of tiles that the core finished */
    uint32_t empty;    /* number of tiles without columns, or without rows (except tiles of EXPERTS) */
    uint32_t waits;    /* number of waits, including those whose counter was complete at the first look */
    uint32_t entries;  /* number of entries of the core's queue with a tile for this core */
    uint32_t unrouted; /* number of launches without a route since the host made the record; vector cores only */
    uint32_t chunks;   /* number of chunks that the kernel chose; zero if it did not choose, or not yet */
    uint32_t reserved;
};

/* Number of rounds in which two ranks compare their clocks. */
#define HPMOE_CLOCK_ROUNDS 8

/* Head of one core's time stamps of the last launch, written when the core leaves. Times are cycles of the rank's system
 * counter, read by the core's scalar unit. */
struct HpmoeStampHead {
    uint64_t begun; /* when the core began */
    uint64_t ended; /* when it finished its queue; zero if it has not left, or left early */
    uint32_t tiles; /* number of tiles run, including those without room for a stamp */
    uint32_t reserved[11];
};

/* The time stamp of one tile. */
struct HpmoeStamp {
    uint64_t came;   /* when the core reached the tile */
    uint32_t waited; /* cycles that the core waited */
    uint32_t lasted; /* cycles from `came` until the core went on, including waits */
    uint32_t phase;  /* this and the next three fields: like HpmoeRecord */
    uint32_t group;
    uint32_t item;
    uint32_t column;
};

/* One round of clock comparison between rank 0 and another rank: each writes a word for the other. */
struct HpmoeClock {
    uint64_t sent; /* this rank's time when it wrote its word; rank 0 writes first */
    uint64_t got;  /* this rank's time when it saw the other's word */
};

#endif
