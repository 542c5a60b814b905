/**
 * The `ctx` of actions and HTTP actions. Every call of another function is its own transaction, done when its promise
 * resolves. A context stops working once its action ended.
 */
import {decodeValue} from '../../../../shared/values/wire-value.ts';
import {authOf, Context} from '../context.ts';
import {encodeArguments, functionPath} from '../function-reference.ts';
import {schedulerFor} from '../scheduler.ts';
import {state} from '../state.ts';
import {asyncCall} from './async-call.ts';

type Run = (reference: unknown, args?: unknown) => Promise<unknown>;

export class ActionContext extends Context {
  readonly auth = authOf();
  readonly scheduler = schedulerFor(actionCall());
  readonly runQuery = runner('runQuery');
  readonly runMutation = runner('runMutation');
  readonly runAction = runner('runAction');

  get db(): never {
    throw new Error('ctx.db is not available in actions; use ctx.runQuery/ctx.runMutation');
  }
}

/** The context of the running invocation. */
export function actionContext(): object {
  return new ActionContext();
}

function runner(operation: 'runQuery' | 'runMutation' | 'runAction'): Run {
  const call = actionCall();
  return async (reference, args) => {
    const path = functionPath(reference);
    return decodeValue(await call(operation, JSON.stringify({path, args: encodeArguments(args)})));
  };
}

/** Calls for this invocation only. Parameters are already JSON, or a job id: the host gets them unchanged. */
function actionCall(): (operation: string, parameters: string) => Promise<string> {
  const {invocation} = state;
  return async (operation, parameters) => {
    if (state.invocation !== invocation) throw new Error('a ctx was used after its action had ended');
    return (await asyncCall(operation, parameters)).text;
  };
}
