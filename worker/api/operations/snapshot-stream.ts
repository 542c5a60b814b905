/**
 * Streams an answer from a snapshot of its own. The snapshot may contain a commit that is not yet durable, so nothing
 * is sent before it is.
 */
import type {HeaderList} from '../../../shared/ipc/operations.ts';
import {Streamed} from './answer.ts';
import type {OpenTenant} from './open-tenant.ts';

/** @param make opens the snapshot with its first chunk, which is made before the headers @param headers none: JSON */
export function fromSnapshot(
  {groups}: Pick<OpenTenant, 'groups'>,
  make: () => Generator<string, void, void>,
  headers: () => HeaderList = () => [],
): Streamed {
  return new Streamed(async to => {
    const chunks = make();
    const first = chunks.next();
    if (!groups.isDurable) await new Promise<void>(resolve => groups.whenDurable(resolve));
    try {
      to.chunks(() => following(first, chunks), headers());
    } catch (caught) {
      chunks.return();
      throw caught;
    }
  });
}

/** Chunks, the first of which is already made. */
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
