/**
 * Limits of a cluster, with their units in their names: the reason for each number, and what happens beyond it.
 * docs/limits.md is made of them.
 */

const KIB = 1024;

/* Log */

/** Streams that the tenants of a cluster are divided among. It is part of every subject, so it never changes. (design) */
export const SHARDS = 32;
/**
 * Body of a record in one message. Beyond: it is sent ahead in parts of this size, because a server refuses messages over
 * 1 MiB and a large one delays all others. (design)
 */
export const PART_BYTES = 512 * KIB;
/**
 * Parts of one record or base: its list of them has to fit into one message. Beyond: the record is refused. Of a tenant, no
 * more may be in the log without a record that names them. Beyond: its writes are 507. (ours)
 */
export const PARTS_MAX = 11_000;
/** Parts of one record that are sent at the same time, and in memory. Beyond: the next waits. (ours) */
export const PARTS_AT_ONCE = 4;
/** Reads of a part that returned none. Beyond: the part is missing. (ours) */
export const PART_READS = 4;
/** Body of a record that opens or closes a log: who does so. Beyond: it is refused. (ours) */
export const NOTE_BYTES_MAX = KIB;
/** An append that is not decided by now is reported as unknown, and goes on. (design) */
export const APPEND_UNKNOWN_MS = 10_000;
/** Pause before a record is sent again, doubled after each attempt. (ours) */
export const APPEND_RETRY_MS = 20;
export const APPEND_RETRY_MS_MAX = 200;
/** Bases of a tenant that stay, so that one is there while the next is written or found damaged. (design) */
export const BASES_KEPT = 2;
/**
 * Bytes of a tenant in its shard of the log, since the older of its bases and since its host started. Beyond: it may have no
 * more than is still free, its writes are 507, and other tenants go on. A worker that has committed more by then appends up
 * to so much. (ours)
 */
export const LOG_SHARE_BYTES = 64 * 1024 * KIB;
/** They are counted in runs of so many bytes, and a trim removes whole runs. (ours) */
export const LOG_SHARE_SPAN_BYTES = 4 * 1024 * KIB;
/**
 * External packages of a tenant in the store of the cluster: their list has to fit into one message. Beyond: 429, as beyond
 * their bytes. (ours)
 */
export const PACKAGES_LISTED_MAX = 4_000;
/** Bytes of packages and of their list that a worker makes its host send and read, per second. Beyond: it waits. (ours) */
export const PACKAGE_BYTES_PER_SECOND = 16 * 1024 * KIB;
/** Time to send one of them to the store, or to change their list. Beyond: 503. (ours) */
export const PACKAGE_STORE_MS = 60_000;

/** Attempts to read all of a tenant that is in use, and is trimmed meanwhile. Beyond: it is a finding. (ours) */
export const CHECK_ATTEMPTS = 3;

/* Hosts */

/** The lease of a host, from when it sent its newest stored update. Beyond: its workers answer no reads. (design) */
export const LEASE_MS = 6_000;
/**
 * Leases that --lease accepts. Below: an election of NATS, which takes up to 9 s, or a short pause ends more leases. Beyond:
 * a lost host costs a minute. (ours)
 */
export const LEASE_MS_MIN = 3_000;
export const LEASE_MS_MAX = 60_000;
/** Between two updates of the entry of a host. (design) */
export const RENEW_MS = 1_000;
/** A host waits for so many leases of a silent one. The rest is for clocks of different speed. (design) */
export const LEASE_WAIT = 1.1;
/** A host that was heard so recently counts as alive. Beyond: what needs it waits for a sign or for its end. (design) */
export const MEMBER_SILENT_MS = 2_000;
/**
 * After a host could not update its own entry, others have so long to update theirs: it reaches over the pauses of an append.
 * Beyond: those that are silent are expired. (ours)
 */
export const MEMBER_GRACE_MS = 500;
/** Hosts of a cluster. Beyond: a host is ignored by those that know so many others. (ours) */
export const HOSTS_MAX = 64;
/** Weight of a host among the others: a relative number. Beyond: its entry is refused. (ours) */
export const CAPACITY_MAX = 1_000_000;
/** Memberships by which the log can be ahead of the entry of a host, when that was lost. Beyond: no host is expired by it. (ours) */
export const INCARNATIONS_AHEAD_MAX = 1_000;
/** Pause before a host looks again who owns a tenant, when the log did not answer or another change was first. (ours) */
export const OWNER_RETRY_MS = 100;

/** Time for a change of an API key. Beyond: 503, and it may have been made. (ours) */
export const KEY_CHANGE_MS = 10_000;

/** --standbys at most: each copies every commit of a tenant to its disk. (ours) */
export const STANDBYS_MAX = 7;
/** --copy-rate unless it is given: three servers store about as much in a second, and commits need some of it. (ours) */
export const COPY_RATE_BYTES_DEFAULT = 16 * 1024 * KIB;
/** --replication-lag-max unless it is given, and what it accepts: what a lost host may cost with --ack local. (design) */
export const LAG_MS_DEFAULT = 5_000;
export const LAG_MS_MIN = 100;
export const LAG_MS_MAX = 3_600_000;
/** --drain-timeout unless it is given, and at most. Beyond: other hosts open the rest after this host stopped. (ours) */
export const DRAIN_MS_DEFAULT = 60_000;
export const DRAIN_MS_MAX = 3_600_000;
/** How often a host looks for tenants that have work and no owner. (ours) */
export const DUE_POLL_MS = 1_000;
/** Time for which a host is a member before tenants of other hosts are moved to it. (ours) */
export const REBALANCE_AFTER_MS = 10_000;
/** Tenants that a host gives to others in a second, if they sleep, and if they are served. Beyond: the next second. (ours) */
export const REBALANCE_ASLEEP_MAX = 32;
export const REBALANCE_AWAKE_MAX = 1;
/** How often a host reads the free space of the NATS servers, and the settings of the streams of its tenants. Beyond: `NATS_RESERVE_BYTES`. (ours) */
export const FREE_SPACE_POLL_MS = 2_000;
/** Such readings in a row at which a server that runs had no page. Beyond: it is reported. (ours) */
export const HIDDEN_READS = 15;
/** Time for a deleted tenant to be served by no host, in addition to a lease. Beyond: 503, and it is gone. (ours) */
export const END_DELETED_MS = 10_000;
/** Pause before what a deleted tenant has in the log is removed, and attempts. Beyond: it stays until notes of it are read. (ours) */
export const FORGET_AFTER_MS = 10_000;
export const FORGET_ATTEMPTS = 10;
/** How often a host looks for what hosts that ended have left of deleted tenants, and how many it removes at once. (ours) */
export const LEFTOVERS_POLL_MS = 10_000;
export const LEFTOVERS_AT_ONCE = 16;
/** How often a host that drains looks whether it still has tenants. (ours) */
export const DRAIN_POLL_MS = 100;

/* Requests to other hosts */

/** Before an open, each host is asked for its file. Beyond: its answer does not count, because the open cannot wait. (ours) */
export const FILE_ASK_MS = 1_000;
/** The same of a host that was not heard lately, or has left. Beyond: as above. (ours) */
export const FILE_ASK_SILENT_MS = 250;
/** Between two questions whether a host has given back what the log lost. (ours) */
export const GIVE_BACK_POLL_MS = 200;
/** Files that a host lists in one answer. Beyond: the next page. (ours) */
export const FILES_LISTED_MAX = 32;
/**
 * Readings in a row that end before the file of a worker, or before the message that an append expects. Fewer can be stale;
 * then the log has lost records. (ours)
 */
export const READS_BEHIND_MAX = 5;

/**
 * A host that makes or resumes a tenant waits so long for the others to have that. Beyond: it answers, and a host that does
 * not have it yet answers its clients as before. (ours)
 */
export const KNOWN_MS = 2_000;
/** Such waits of other hosts at the same time. Beyond: a host answers at once, and the other one does not wait. (ours) */
export const KNOWN_ASKS_MAX = 1_024;

/* Workers */

/** A worker waits so long for the cluster process to listen for it. Beyond: its tenant is not opened. (ours) */
export const ENDPOINT_CONNECT_MS = 5_000;
export const ENDPOINT_CONNECT_RETRY_MS = 10;
/** Requests of one worker that are under way. Beyond: its connection is closed, because no worker sends as many. (ours) */
export const ENDPOINT_REQUESTS_MAX = 64;
/** Answers to one worker that it has not read. Beyond: its requests are not read. (ours) */
export const ENDPOINT_UNREAD_BYTES_MAX = 16 * 1024 * KIB;
/** Messages and bytes of one answer. Beyond: the worker requests the rest. (ours) */
export const ENDPOINT_MESSAGES_MAX = 256;
export const ENDPOINT_MESSAGES_BYTES = 8 * 1024 * KIB;
/** Between two attempts of a worker to open its tenant's log, while the log does not answer. (ours) */
export const OPEN_RETRY_MS = 100;

/**
 * Page sets that are applied to a copy as one, up to `PAGE_SETS_MERGED_MAX`, and their bytes in memory: each application costs
 * several syncs. Beyond: the next application. (ours)
 */
export const SETS_MERGED_MAX = 64;
export const SETS_MERGED_BYTES = 4 * 1024 * KIB;

/* Standbys */

/** Bytes of the log since the newest base, or half of the file if that is more. Beyond: a base is due. (design) */
export const BASE_LOG_BYTES = 16 * 1024 * KIB;
/** Records since the newest base. Beyond: a base is due, because a new file reads all of them. (ours) */
export const BASE_LOG_RECORDS = 20_000;
/** Bases that a host makes and sends at the same time: each reads a whole file. Beyond: the next waits. (ours) */
export const BASES_AT_ONCE = 1;
/** Files that a host begins with a base at the same time. Beyond: the next waits, in the order of need. (ours) */
export const SEEDS_AT_ONCE = 2;
/** Tenants whose logs a host reads at the same time as a standby. Beyond: the next waits, in the order of its record. (ours) */
export const STANDBY_STEPS_AT_ONCE = 4;
/** Records of one order to a file, and their bytes in memory. Beyond: the next order. (ours) */
export const STANDBY_RECORDS = 256;
export const STANDBY_BYTES = 4 * 1024 * KIB;
/** Orders of one tenant in a row. Beyond: the next tenant is first. (ours) */
export const STANDBY_ORDERS_IN_A_ROW = 8;
/** Pause before a standby tries again after a failure, doubled after each further one. (ours) */
export const STANDBY_RETRY_MS = 500;
export const STANDBY_RETRY_MS_MAX = 60_000;
/** A failure in a row that is reported. Earlier ones can be an election or a stale read. (ours) */
export const STANDBY_REPORTED_FAILURES = 3;
/** Heap of a thread that changes files of standbys: page sets are outside of it. Beyond: its order fails. (ours) */
export const STANDBY_THREAD_MIB = 256;
/**
 * Time of an order to a file, in addition to that for the bytes of the file on disk. Beyond: its thread is ended, the order
 * has failed, and those of that file are done apart from others, with so many times the time. (ours)
 */
export const ORDER_MS = 30_000;
export const ORDER_BYTES_PER_MS = 8 * KIB;
export const SLOW_ORDER_FACTOR = 10;
/** How much these threads are lower in priority (`nice`) than the cluster process. (ours) */
export const STANDBY_NICE = 5;

/* Copies in a repository */

/** Page sets of one tenant that wait for the copier, and their bytes. Beyond: the rest waits in the log. (ours) */
export const LOG_SPOOL_SETS = 1_024;
export const LOG_SPOOL_BYTES = 32 * 1024 * KIB;
/** Tenants whose logs are read at the same time for the copier. Beyond: the next waits, in the order of its record. (ours) */
export const LOG_SPOOL_STEPS_AT_ONCE = 4;
/** How often spools are looked at that have something: what the copier has stored is removed. (ours) */
export const LOG_SPOOL_POLL_MS = 250;
/**
 * How often the list of a tenant's packages is read for the copier while its log grows. Beyond: a deployment is in the
 * repository before its packages are, unless a run waits for them. (ours)
 */
export const LOG_SPOOL_PACKAGES_MS = 10_000;
/** Longest pause after a package could not be read, which begins with `LOG_SPOOL_PACKAGES_MS`. (ours) */
export const LOG_SPOOL_PACKAGES_RETRY_MS_MAX = 600_000;
/** Bytes of packages that are fetched for a tenant before another tenant has its turn, one package at least. (ours) */
export const LOG_SPOOL_PACKAGES_BYTES = 16 * 1024 * KIB;

/* NATS */

/** Time for an answer of a NATS server. Beyond: the request has failed, and what became of it is found out. (ours) */
export const NATS_REQUEST_MS = 2_000;
/**
 * A read without an answer is sent again, and a place in a stream is requested again under another name, from a server that
 * may be another one: what arrives before an election is never answered. Until `NATS_REQUEST_MS`; then it has failed. (ours)
 */
export const NATS_READ_AGAIN_MS = 250;
export const NATS_CONSUMER_AGAIN_MS = 500;
/**
 * How often a host compares the copies of each stream, and how often in a row one has to be another than that of its leader
 * until it is reported. Beyond: it is late, not another one. (ours)
 */
export const COPIES_LOOK_MS = 10_000;
export const COPIES_LOOKS = 3;
/**
 * Part of `max_file_store` of a server that logs and bases leave free, and at most so many bytes: for leases and owners, and
 * for what all hosts write between two polls. A server that reaches `max_file_store` can store other records than the
 * others, so that acknowledged ones are lost with an election. Beyond: writes are 507. (ours)
 */
export const NATS_RESERVE_SHARE = 1 / 8;
export const NATS_RESERVE_BYTES = 1024 * 1024 * KIB;
/**
 * Pause between attempts to connect to a NATS server, and between pings, two of which may go unanswered. Beyond: the host
 * connects to another server, while it still has its lease. (ours)
 */
export const NATS_RECONNECT_MS = 200;
export const NATS_PING_MS = 1_000;
/** Pause before a host that was a member is checked again after NATS has refused it, doubled up to the maximum. (ours) */
export const NATS_REFUSED_MS = 500;
export const NATS_REFUSED_MS_MAX = 5_000;
/** Time for the streams of a cluster to be made, and to have a leader. Beyond: the start fails. (ours) */
export const NATS_STREAMS_MS = 60_000;
/**
 * Answers in a row that a stream is gone until it is, and the pause between two. A NATS server that was stopped while the stream
 * was made can take itself for the leader until the others are heard. (ours)
 */
export const NATS_GONE_ANSWERS = 3;
export const NATS_GONE_AGAIN_MS = 1_000;
/** How often the page of a NATS server that answers is read at the start, `NATS_REQUEST_MS` each. Beyond: the start fails. (ours) */
export const NATS_PAGE_ATTEMPTS = 3;
/** Streams that are made or checked at the same time; the next waits. (ours) */
export const NATS_STREAMS_AT_ONCE = 8;
/** Messages of a read that are requested one by one, and one at a time in memory. Beyond: many with one request. (ours) */
export const NATS_READ_SINGLY = 16;
/** Messages and bytes that one request for many returns, and that are in memory. Beyond: the next request. (ours) */
export const NATS_PULL_MESSAGES = 256;
export const NATS_PULL_BYTES = 8 * 1024 * KIB;
/** Time that such a request waits for a message. Beyond: the next request; after 3 s without any sign: it failed. (ours) */
export const NATS_PULL_MS = 1_000;
/** A watch is ended so long after the newest sign of its server. (ours) */
export const NATS_SILENT_MS = 3 * NATS_PULL_MS;
/** Time that a server keeps a place in a stream of which nothing is requested. Beyond: the reader begins again. (ours) */
export const NATS_CONSUMER_IDLE_MS = 60_000;
/** Messages that a server has to take: a part, in the JSON of the answer to a read. (ours) */
export const MESSAGE_BYTES_LEAST = 1024 * KIB;
