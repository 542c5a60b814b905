/**
 * The `ctx` of queries and mutations. Members that a kind of function does not have throw an error with their name; the
 * types omit them, so this is a second check. Those members are on the prototype, so spreading a context into another
 * object does not touch them.
 */
import {databaseReader, databaseWriter} from './database.ts';
import {HostOp} from './host-call.ts';
import {schedulerFor} from './scheduler.ts';
import {hostText, state} from './state.ts';

type Identity = Record<string, unknown>;

export type Auth = {
  getUserIdentity(): Promise<Identity | null>;
  getVerifiedIdentity(): Promise<Identity>;
};

/** `ctx.auth` of the running invocation. */
export function authOf(): Auth {
  const {invocation} = state;
  const getUserIdentity = async (): Promise<Identity | null> => {
    if (state.invocation !== invocation) throw new Error('ctx.auth was used after its function had ended');
    return JSON.parse(hostText(HostOp.identity)) as Identity | null;
  };
  return {
    getUserIdentity,
    getVerifiedIdentity: async () => {
      const identity = await getUserIdentity();
      if (identity === null) throw new Error('Not authenticated');
      return identity;
    },
  };
}

/** Members that no function has. */
export class Context {
  get storage(): never {
    throw new Error('ctx.storage is not supported');
  }
  get vectorSearch(): never {
    throw new Error('ctx.vectorSearch is not supported');
  }
  get meta(): never {
    throw new Error('ctx.meta is not supported');
  }
}

export class QueryContext extends Context {
  readonly db = databaseReader();
  readonly auth = authOf();

  get scheduler(): never {
    throw new Error('ctx.scheduler is not available in queries');
  }
  runQuery(): never {
    throw notAvailable('runQuery', 'query');
  }
  runMutation(): never {
    throw notAvailable('runMutation', 'query');
  }
  runAction(): never {
    throw notAvailable('runAction', 'query');
  }
}

export class MutationContext extends Context {
  readonly db = databaseWriter();
  readonly auth = authOf();
  readonly scheduler = mutationScheduler();

  runQuery(): never {
    throw notAvailable('runQuery', 'mutation');
  }
  runMutation(): never {
    throw notAvailable('runMutation', 'mutation');
  }
  runAction(): never {
    throw notAvailable('runAction', 'mutation');
  }
}

function notAvailable(member: string, kind: string): Error {
  return new Error(`ctx.${member} is not available in a ${kind}`);
}

function mutationScheduler(): object {
  const {invocation} = state;
  return schedulerFor(async (op, parameters) => {
    if (state.invocation !== invocation) throw new Error('ctx.scheduler was used after its mutation had ended');
    return hostText(op === 'schedule' ? HostOp.schedule : HostOp.cancel, parameters);
  });
}
