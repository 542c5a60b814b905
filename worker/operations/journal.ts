/** The journal: pages of it, and where a follower begins. */
import {RESULT_BYTES_MAX} from '../../shared/limits.ts';
import type {Operation} from '../../shared/operations.ts';
import {EVENT_HEADERS} from '../follow/event-stream.ts';
import {journalStreamRequest} from '../follow/parameters.ts';
import {bootstrapPieces} from '../journal/bootstrap.ts';
import {cutUp} from '../journal/pieces.ts';
import {parseJournalParameters} from '../journal/read-page.ts';
import {type Handlers, Streamed} from './answer.ts';

export const journal: Handlers<Extract<Operation, `journal.${string}`>> = {
  'journal.page': ({query}, {reader, journal}) => {
    const request = parseJournalParameters(query);
    reader.inSnapshot();
    const page = journal.page(request);
    // A page may be one record that is too long for a reply in one frame: a mutation's writes and what it scheduled.
    return Buffer.byteLength(page) > RESULT_BYTES_MAX ? inPieces(() => cutUp(page)) : page;
  },
  'journal.stream': ({query, lastEventId}, {journalFollowers}) => {
    const request = journalStreamRequest(query, lastEventId);
    return new Streamed(to => {
      journalFollowers.follow(request, () => to.start(EVENT_HEADERS));
      return undefined;
    });
  },
  // Its snapshot may hold a commit that is not durable yet: nothing leaves before that is.
  'journal.bootstrap': (_, {path, groups}) =>
    new Streamed(async to => {
      const pieces = bootstrapPieces(path);
      const first = pieces.next();
      if (!groups.isDurable) await new Promise<void>(resolve => groups.whenDurable(resolve));
      try {
        to.pieces(() => following(first, pieces));
      } catch (caught) {
        pieces.return();
        throw caught;
      }
    }),
};

/** Pieces of which the first has been made. */
function* following(
  first: IteratorResult<string, void>,
  rest: Generator<string, void, void>,
): Generator<string, void, void> {
  try {
    if (first.done !== true) yield first.value;
    yield* rest;
  } finally {
    rest.return();
  }
}

function inPieces(make: () => Iterator<string, void, void>): Streamed {
  return new Streamed(to => {
    to.pieces(make);
    return undefined;
  });
}
