/** Handlers for the journal: its pages, and the starting point of a follower. */

import {bootstrapChunks} from '../../../engine/journal/bootstrap.ts';
import {cutUp} from '../../../engine/journal/chunks.ts';
import {parseJournalParameters} from '../../../engine/journal/read-page.ts';
import {parseJournalFilter} from '../../../engine/journal/search.ts';
import {wireType} from '../../../engine/wire-type.ts';
import {invalid} from '../../../shared/errors.ts';
import {JOURNAL_BUCKETS_DEFAULT, RESULT_BYTES_MAX} from '../../../shared/limits.ts';
import type {Operation} from '../../../shared/operations.ts';
import {JournalCountsQuery} from '../../../shared/protocol/journal-counts.ts';
import {EVENT_HEADERS} from '../follow/event-stream.ts';
import {journalStreamRequest} from '../follow/parameters.ts';
import {type Handlers, json, Streamed} from './answer.ts';
import {decodeQuery} from './query-string.ts';
import {fromSnapshot} from './snapshot-stream.ts';

const countsQuery = wireType(JournalCountsQuery);

export const journal: Handlers<Extract<Operation, `journal.${string}`>> = {
  'journal.page': ({query}, {reader, journal, journalSearch}) => {
    const request = parseJournalParameters(query);
    const filter = parseJournalFilter(query);
    reader.inSnapshot();
    const page = filter === null ? journal.page(request) : journalSearch.page(request, filter);
    // A page can be one record too long for a reply in one frame: a mutation's writes and the jobs that it scheduled.
    return Buffer.byteLength(page) > RESULT_BYTES_MAX ? inChunks(() => cutUp(page)) : page;
  },
  'journal.counts': ({query}, {reader, journalBlocks}) => {
    const {from = null, to = null, buckets = JOURNAL_BUCKETS_DEFAULT} = decodeQuery(countsQuery, query);
    if (from !== null && to !== null && from > to) throw invalid('from is not after to');
    reader.inSnapshot();
    return json<'journal.counts'>(journalBlocks.count({from, to, buckets}));
  },
  'journal.stream': ({query, lastEventId, continuesAfter}, {journalFollowers}) => {
    const request = journalStreamRequest(query, lastEventId, continuesAfter);
    return new Streamed(to => {
      journalFollowers.follow(request, () => to.start(EVENT_HEADERS));
      return undefined;
    });
  },
  'journal.bootstrap': (_, tenant) => fromSnapshot(tenant, () => bootstrapChunks(tenant.path)),
};

function inChunks(make: () => Iterator<string, void, void>): Streamed {
  return new Streamed(to => {
    to.chunks(make);
    return undefined;
  });
}
