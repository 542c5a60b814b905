/** An answer that is read from a snapshot of its own while it is sent. The snapshot may hold a commit that is not durable yet: nothing leaves before that is. */
import type {HeaderList} from '../../../shared/ipc/operations.ts';
import {Streamed} from './answer.ts';
import type {OpenTenant} from './open-tenant.ts';

/**
 * @param make begins the snapshot with its first piece, which is made before the headers
 * @param headers none: JSON
 */
export function fromSnapshot(
  {groups}: Pick<OpenTenant, 'groups'>,
  make: () => Generator<string, void, void>,
  headers: () => HeaderList = () => [],
): Streamed {
  return new Streamed(async to => {
    const pieces = make();
    const first = pieces.next();
    if (!groups.isDurable) await new Promise<void>(resolve => groups.whenDurable(resolve));
    try {
      to.pieces(() => following(first, pieces), headers());
    } catch (caught) {
      pieces.return();
      throw caught;
    }
  });
}

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
