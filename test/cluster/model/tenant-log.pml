/*
 * The log of one tenant and two hosts that own it in turn: append and its resolution, open, hand-over, lease and reads
 * (decision 0109 explains the actions and what each property means).
 *
 * Each host is one process, and each of its steps is atomic. An enabled step is taken at any time or never, while the
 * clock goes on. This covers SIGSTOP, a slow disk and a dead process. A message that was sent is stored at any later
 * time or never. Its answer can be lost, and a second delivery is refused. A read of the log can be stale: the host
 * does not take the step that sees the record yet. Time has no bound. Timers count down, and clocks of different hosts
 * are never compared.
 *
 * The bounds are WRITES, EPOCHS (how often the tenant is opened) and LEASE (in ticks). With LATE_UPDATES, updates of a
 * lease have steps of their own. MUTANT is 0 or the name of a fault. `model.test.ts` expects that each fault breaks a
 * property.
 */
#ifndef MUTANT
#define MUTANT 0
#endif
#ifndef WRITES
#define WRITES 2
#endif
#ifndef EPOCHS
#define EPOCHS 4
#endif
#ifndef LEASE
#define LEASE 1
#endif
#ifndef LATE_UPDATES
#define LATE_UPDATES 0
#endif

#define EXPECTATION_DROPPED     1
#define LEASE_IGNORED           2
#define OPEN_SKIPPED            3
#define MSG_ID_TRUSTED          4
#define CUT_SKIPPED             5
#define WAIT_AFTER_OPEN         6
#define OWNER_OF_THE_BUCKET     7
#define REFUSAL_BELIEVED        8
#define EARLY_READ              9
#define LEASE_FROM_THE_ANSWER  10
#define WAIT_TOO_SHORT         11
#define REJOIN_KEEPS_SERVING   12
#define CLOSE_KEEPS_SERVING    13
#define OLD_EPOCH_OPENS        14
#define CLOCK_OF_THE_TURN      15
#define EXPIRE_UNCONDITIONAL   16

#define LOG_MAX  (WRITES + 2 * EPOCHS)
#define NET_MAX  4
#define WAIT     (MUTANT == WAIT_TOO_SHORT -> LEASE - 1 : LEASE)

/* Kinds of records; those from WRITE on are commits, each of one write. */
#define NONE  0
#define OPEN  1
#define CLOSE 2
#define WRITE 3
#define bit(kind) (1 << ((kind) - WRITE))

/* The subject of the tenant. The sequence of a record is its index; a host at position p expects p records. */
byte logKind[LOG_MAX];
byte logEpoch[LOG_MAX];
byte logLength;
byte logContent;            /* the writes that are in the log, as a set */

/* Messages that were sent and not stored. All expect the present length, because any other is refused for good. */
byte netKind[NET_MAX];
byte netEpoch[NET_MAX];

/* The bucket: the newest epoch, who claimed which, and the members. */
byte epochs;
byte claimedBy[EPOCHS + 1];
#define LIVE    0
#define EXPIRED 1
byte member[2];

/* A host: its worker, */
#define DOWN     0
#define CATCH_UP 1          /* has claimed an epoch and applies the log */
#define OPENING  2          /* has sent `open` */
#define WAITING  3          /* only of WAIT_AFTER_OPEN */
#define SERVING  4
#define CLOSING  5          /* has sent `close` */
byte phase[2];
byte epoch[2];
/* its file: the records of the log that it has, its writes as a set, and the commit that only the WAL has, */
byte position[2];
byte content[2];
byte pending[2];
byte pendingEpoch[2];
/* and its lease. */
byte lease[2];
#if LATE_UPDATES
byte update[2];
#define SENT   1
#define STORED 2
byte updateLease[2];        /* what is left of the lease that the update gives */
#endif
/* What the host knows of the other one. */
bool hasNewest[2];          /* it received the newest revision of the other's entry, */
byte wait[2];               /* and this much is left of the wait that began then */

/* What clients know. */
byte completed;             /* writes that were acknowledged, or that a completed read has returned */
byte refusedForGood;        /* writes whose callers were told that they did not happen */
byte writes;                /* how many there were */
bool isReading[2];
byte floor;                 /* what was completed when the read arrived */

/* Only of some mutants. */
byte answer[2];             /* the newest answer to the record that the host has sent */
#define REFUSED   1
#define DUPLICATE 2
byte bucketOwner[2];        /* who had claimed the epoch before */
bool turnHasLease[2];       /* the turn of the event loop began with a lease */

#define other(h) (1 - (h))
#define serves(h) (phase[h] == SERVING && lease[h] > 0)
#define isCommit(kind) ((kind) >= WRITE)
/* The record that a host has sent. */
#define sentKind(h) (phase[h] == OPENING -> OPEN : (phase[h] == CLOSING -> CLOSE : pending[h]))
#define isNextRecord(h) (logLength > position[h] && \
  logKind[position[h]] == sentKind(h) && logEpoch[position[h]] == epoch[h])
#define isRefused(h) (logLength > position[h] && !isNextRecord(h))
#define hasSent(h) (phase[h] == OPENING || phase[h] == CLOSING || (phase[h] == SERVING && pending[h] != NONE))

/* The entry of a member changes: what the other host has received is old. */
inline newRevision(h) {
  hasNewest[other(h)] = false;
  wait[other(h)] = 0
}

inline checkServers() {
  assert(!(serves(0) && serves(1)))                           /* two hosts never serve one tenant */
}

/* The server of the log stores a record. The hosts never read from here: they receive an answer, or read the log. */
inline store(kind, byEpoch) {
  assert(logLength < LOG_MAX);
  assert(logLength == 0 || logEpoch[logLength - 1] <= byEpoch);  /* epochs never fall */
  if
  :: isCommit(kind) ->
    assert((logContent & bit(kind)) == 0);                     /* stored once */
    assert((refusedForGood & bit(kind)) == 0);                 /* what was refused is not stored later */
    logContent = logContent | bit(kind)
  :: else
  fi;
  logKind[logLength] = kind;
  logEpoch[logLength] = byEpoch;
  logLength++
}

/* The correct host treats a refusal as it treats silence: it reads the log. */
inline answerTo(h, what) {
  if
  :: MUTANT == MSG_ID_TRUSTED || MUTANT == REFUSAL_BELIEVED -> answer[h] = what
  :: else
  fi
}

/* The host sends a record, for the first time or again. */
inline send(h, kind, byEpoch) {
  if
  :: logLength != position[h] && MUTANT != EXPECTATION_DROPPED ->
    answerTo(h, (answer[h] == NONE -> REFUSED : DUPLICATE))
  :: else ->
    i = 0;
    do
    :: i < NET_MAX && netKind[i] != NONE && !(netKind[i] == kind && netEpoch[i] == byEpoch) -> i++
    :: else -> break
    od;
    if
    :: i < NET_MAX -> netKind[i] = kind; netEpoch[i] = byEpoch
    :: else -> assert(false)
    fi;
    i = 0
  fi
}

/* A message arrives. All others expect a shorter log from now on, so they are refused whenever they arrive. */
inline deliver(m) {
  kind = netKind[m];
  byEpoch = netEpoch[m];
  netKind[m] = NONE;
  netEpoch[m] = 0;
  if
  :: MUTANT != EXPECTATION_DROPPED ->
    i = 0;
    do
    :: i < NET_MAX -> netKind[i] = NONE; netEpoch[i] = 0; i++
    :: else -> break
    od;
    i = 0
  :: else
  fi;
  store(kind, byEpoch);
  kind = 0;
  byEpoch = 0
}

inline end(h) {
  phase[h] = DOWN;
  answer[h] = NONE;
  floor = (isReading[h] -> 0 : floor);
  isReading[h] = false;
  epoch[h] = 0;
  turnHasLease[h] = false
}


/* The file is the log up to its position: all files and the log have one history. */
inline checkFile(h) {
  i = 0;
  expected = 0;
  do
  :: i < position[h] ->
    if
    :: isCommit(logKind[i]) -> expected = expected | bit(logKind[i])
    :: else
    fi;
    i++
  :: else -> break
  od;
  assert(position[h] <= logLength && content[h] == expected);
  i = 0;
  expected = 0
}

/* The record that the host has sent is in the log. */
inline decided(h) {
  answer[h] = NONE;
  if
  :: phase[h] == OPENING -> phase[h] = (MUTANT == WAIT_AFTER_OPEN -> WAITING : SERVING)
  :: phase[h] == CLOSING -> end(h)
  :: else ->
    content[h] = content[h] | bit(pending[h]);
    completed = completed | bit(pending[h]);
    pending[h] = NONE
  fi;
  position[h]++;
  checkFile(h);
  checkServers()
}

/* Another record is in its place. An open begins again; anything else means that the host is not the owner any more. */
inline fenced(h) {
  answer[h] = NONE;
  if
  :: phase[h] == OPENING -> phase[h] = CATCH_UP
  :: else ->
    if
    :: isCommit(pending[h]) ->
      refusedForGood = refusedForGood | bit(pending[h]);
      assert((logContent & refusedForGood) == 0)
    :: else
    fi;
    end(h)
  fi
}

/* Whether the owner before the record at `position - back` serves no more: it is closed, was on this host (whose worker
 * is gone), or its lease is over since it was expired. */
#define ownerAt(h, back) (MUTANT == OWNER_OF_THE_BUCKET -> bucketOwner[h] : claimedBy[logEpoch[position[h] - (back)]])
#define hasEnded(h, back) (logKind[position[h] - (back)] == CLOSE || ownerAt(h, back) == h || \
  (member[other(h)] == EXPIRED && wait[h] == 0) || MUTANT == LEASE_IGNORED)

proctype host(byte h) {
  byte i;
  byte expected;
  do
  /* ── Append: sent at least once, then the answer or the successor of the expected record decides ── */
  :: d_step { hasSent(h) -> send(h, sentKind(h), epoch[h]) }
  :: d_step { hasSent(h) && isNextRecord(h) -> decided(h) }       /* an ack with its sequence says the same */
  :: d_step { hasSent(h) && isRefused(h) -> fenced(h) }
  :: d_step { MUTANT == MSG_ID_TRUSTED && hasSent(h) && answer[h] == DUPLICATE -> decided(h) }
  :: d_step { MUTANT == REFUSAL_BELIEVED && hasSent(h) && answer[h] == REFUSED -> fenced(h) }

  /* 2.11 and later: a second attempt is refused while the first is in progress. */
  :: d_step { MUTANT == REFUSAL_BELIEVED && hasSent(h) && logLength == position[h] -> answer[h] = REFUSED }

  /* ── Commit: COMMIT in the file, then the append ── */
  :: d_step { phase[h] == SERVING && pending[h] == NONE && writes < WRITES ->
      pending[h] = WRITE + writes;
      pendingEpoch[h] = epoch[h];
      writes++
    }

  /* ── Open ── */
  :: d_step { phase[h] == DOWN && epochs < EPOCHS ->
      bucketOwner[h] = (MUTANT == OWNER_OF_THE_BUCKET -> claimedBy[epochs] : 0);
      epochs++;
      claimedBy[epochs] = h;
      epoch[h] = epochs;
      phase[h] = CATCH_UP
    }
  /* The log has its next record. A read of the log that is stale does not see it: then this step is not taken yet. */
  :: d_step { phase[h] == CATCH_UP && position[h] < logLength ->
      if
      :: logEpoch[position[h]] > epoch[h] && MUTANT != OLD_EPOCH_OPENS -> end(h)
      :: else ->
        pending[h] = NONE;                                     /* it is this record, or is cut */
        if
        :: isCommit(logKind[position[h]]) -> content[h] = content[h] | bit(logKind[position[h]])
        :: else
        fi;
        position[h]++;
        checkFile(h)
      fi
    }
  /* The WAL has a commit that the log does not have: it is cut, or sent again. */
  :: d_step { phase[h] == CATCH_UP && pending[h] != NONE ->
      if
      :: MUTANT == CUT_SKIPPED -> content[h] = content[h] | bit(pending[h])
      :: else
      fi;
      pending[h] = NONE;
      checkFile(h)
    }
  :: d_step { phase[h] == CATCH_UP && pending[h] != NONE -> send(h, pending[h], pendingEpoch[h]) }
  :: d_step { phase[h] == CATCH_UP && pending[h] == NONE && position[h] > 0 &&
      (hasEnded(h, 1) || MUTANT == WAIT_AFTER_OPEN) ->
      phase[h] = (MUTANT == OPEN_SKIPPED -> SERVING : OPENING);
      checkServers()
    }
  :: d_step { phase[h] == WAITING && hasEnded(h, 2) ->
      phase[h] = SERVING;
      checkServers()
    }

  /* ── Hand-over: it serves nothing from here on, whether `close` is stored or not ── */
  :: d_step { phase[h] == SERVING && pending[h] == NONE -> phase[h] = CLOSING }

  /* ── A worker ends at any time: kill -9, or its host has learned that it was expired ── */
  :: d_step { phase[h] != DOWN -> end(h) }
  :: d_step { phase[h] != DOWN && pending[h] != NONE -> pending[h] = NONE; end(h) }  /* the WAL was not synced */

  /* ── Reads: one at a time is enough, because each is compared with what was completed before it arrived ── */
  :: d_step { MUTANT == CLOCK_OF_THE_TURN && serves(h) -> turnHasLease[h] = true }
  :: d_step { !isReading[0] && !isReading[1] &&
      (phase[h] == SERVING || (phase[h] == CLOSING && MUTANT == CLOSE_KEEPS_SERVING)) &&
      (lease[h] > 0 || turnHasLease[h] || MUTANT == LEASE_IGNORED) ->
      isReading[h] = true;
      floor = completed
    }
  :: d_step { isReading[h] ->
      expected = (MUTANT == EARLY_READ && pending[h] != NONE -> content[h] | bit(pending[h]) : content[h]);
      assert((floor & ~expected) == 0);                     /* not older than what was completed before it */
      assert((expected & ~logContent) == 0);                   /* nothing that the log does not have */
      completed = completed | expected;
      expected = 0;
      isReading[h] = false;
      floor = 0
    }

  /* ── Lease: an update of the member entry gives a lease from the moment it was sent ── */
#if LATE_UPDATES
  :: d_step { update[h] == NONE && member[h] == LIVE ->
      update[h] = SENT;
      updateLease[h] = LEASE
    }
  :: d_step { update[h] == SENT ->
      if
      :: member[h] == LIVE -> update[h] = STORED; newRevision(h)
      :: else -> update[h] = NONE; updateLease[h] = 0
      fi
    }
  :: d_step { update[h] == STORED ->
      if
      :: MUTANT == LEASE_FROM_THE_ANSWER -> lease[h] = LEASE
      :: updateLease[h] > lease[h] && MUTANT != LEASE_FROM_THE_ANSWER -> lease[h] = updateLease[h]
      :: else
      fi;
      update[h] = NONE;
      updateLease[h] = 0;
      checkServers()
    }
  :: d_step { update[h] != NONE -> update[h] = NONE; updateLease[h] = 0 }             /* lost, or its answer */
#else
  /* An update that is late or whose answer is late gives a shorter lease, so this is the worst case of both. */
  :: d_step { member[h] == LIVE ->
      newRevision(h);
      lease[h] = LEASE;
      checkServers()
    }
#endif

  /* ── Expiry of the other host ── */
  :: d_step { !hasNewest[h] && member[other(h)] == LIVE -> hasNewest[h] = true; wait[h] = WAIT }
  :: d_step { member[other(h)] == LIVE && (hasNewest[h] || MUTANT == EXPIRE_UNCONDITIONAL) ->
      member[other(h)] = EXPIRED;
      hasNewest[h] = false
    }
  :: d_step { member[h] == EXPIRED && (phase[h] == DOWN || MUTANT == REJOIN_KEEPS_SERVING) ->
      member[h] = LIVE;
      newRevision(h)
    }
  od
}

/* The server of the log. */
proctype server() {
  byte i;
  byte kind;
  byte byEpoch;
  do
  :: d_step { netKind[0] != NONE -> deliver(0) }
  :: d_step { netKind[1] != NONE -> deliver(1) }
  :: d_step { netKind[2] != NONE -> deliver(2) }
  :: d_step { netKind[3] != NONE -> deliver(3) }
  od
}

#define passed(timer) (timer > 0 -> timer - 1 : 0)
proctype clock() {
  do
  :: d_step {
      lease[0] = passed(lease[0]);
      lease[1] = passed(lease[1]);
#if LATE_UPDATES
      updateLease[0] = passed(updateLease[0]);
      updateLease[1] = passed(updateLease[1]);
#endif
      wait[0] = passed(wait[0]);
      wait[1] = passed(wait[1])
    }
  od
}

/* Host 0 serves; host 1 has an empty file. */
init {
  d_step {
    logKind[0] = OPEN;
    logEpoch[0] = 1;
    logLength = 1;
    epochs = 1;
    claimedBy[1] = 0;
    phase[0] = SERVING;
    epoch[0] = 1;
    position[0] = 1;
    lease[0] = LEASE
  }
  atomic { run host(0); run host(1); run server(); run clock() }
}
