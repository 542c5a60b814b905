/** The hooks `useMutation` and `useAction`, which return functions that call the server. */
import {useMemo} from 'react';
import {
  type FunctionArgs,
  type FunctionReference,
  type FunctionReturnType,
  getFunctionName,
  type OptionalRestArgs,
} from '../server/function-reference.ts';
import type {SvcReactClient} from './client.ts';
import {useClient} from './context.ts';
import type {OptimisticUpdate} from './optimistic-update.ts';

/** Makes an `async` optimistic update, which would otherwise go unnoticed, a type error. */
type Synchronous<Update extends (...args: never[]) => unknown> =
  ReturnType<Update> extends Promise<unknown> ? 'Optimistic updates must be synchronous' : unknown;

/** Calls a mutation. */
export interface ReactMutation<Mutation extends FunctionReference<'mutation'>> {
  /** Resolves when the mutation is committed and everything shown includes it; rejects when it has failed. */
  (...args: OptionalRestArgs<Mutation>): Promise<FunctionReturnType<Mutation>>;
  /**
   * Returns another function that shows the mutation's expected effect at once. `update` runs when that function is
   * called, and again on top of each newer state until the mutation's own effect arrives. It must be synchronous and
   * must not modify results.
   */
  withOptimisticUpdate<Update extends OptimisticUpdate<FunctionArgs<Mutation>>>(
    update: Update & Synchronous<Update>,
  ): ReactMutation<Mutation>;
}

/** Calls an action. Resolves with its result. It runs at most once, so it is not tried again. */
export type ReactAction<Action extends FunctionReference<'action'>> = (
  ...args: OptionalRestArgs<Action>
) => Promise<FunctionReturnType<Action>>;

/** @returns a function that calls the mutation; it stays the same across renders */
export function useMutation<Mutation extends FunctionReference<'mutation'>>(
  mutation: Mutation,
): ReactMutation<Mutation> {
  const client = useClient('useMutation');
  const name = getFunctionName(mutation);
  // biome-ignore lint/correctness/useExhaustiveDependencies: references of one name are one function.
  return useMemo(() => mutationOf(client, mutation, undefined), [client, name]);
}

/** @returns a function that calls the action; it stays the same across renders */
export function useAction<Action extends FunctionReference<'action'>>(action: Action): ReactAction<Action> {
  const client = useClient('useAction');
  const name = getFunctionName(action);
  // biome-ignore lint/correctness/useExhaustiveDependencies: references of one name are one function.
  return useMemo(
    () =>
      (...args) => {
        refuseEvent(args[0], name);
        return client.action(action, ...args);
      },
    [client, name],
  );
}

function mutationOf<Mutation extends FunctionReference<'mutation'>>(
  client: SvcReactClient,
  mutation: Mutation,
  optimisticUpdate: OptimisticUpdate<FunctionArgs<Mutation>> | undefined,
): ReactMutation<Mutation> {
  const name = getFunctionName(mutation);
  const call = (...[args]: OptionalRestArgs<Mutation>) => {
    refuseEvent(args, name);
    return client.store.engine.mutation(mutation, args, {optimisticUpdate});
  };
  const withOptimisticUpdate = (update: OptimisticUpdate<FunctionArgs<Mutation>>) => {
    if (optimisticUpdate === undefined) return mutationOf(client, mutation, update);
    throw new Error(
      `Already specified optimistic update for mutation ${name}: withOptimisticUpdate can be called once`,
    );
  };
  return Object.assign(call, {withOptimisticUpdate});
}

/** `onClick={send}` passes the event as arguments. @throws Error that suggests the correct form */
function refuseEvent(args: unknown, name: string): void {
  const isEvent =
    typeof args === 'object' && args !== null && 'bubbles' in args && 'type' in args && 'preventDefault' in args;
  if (!isEvent) return;
  throw new Error(
    `svc function ${name} was called with a React event as its arguments. A function that is an event handler gets the event: ` +
      'write onClick={() => send()} instead of onClick={send}',
  );
}
