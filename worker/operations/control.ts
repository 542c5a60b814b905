/** Sandboxes and sessions. Service control is loaded with the first of these. */
import type {Operation} from '../../shared/operations.ts';
import {ExecuteBody, SandboxBody} from '../../shared/protocol/sandboxes.ts';
import {SessionBody} from '../../shared/protocol/sessions.ts';
import type {Control} from '../control/control.ts';
import {kept, type Request} from '../ipc/decode.ts';
import {bodyType, decodeBody} from '../wire-type.ts';
import {type Answer, type Handler, type Handlers, json} from './answer.ts';
import type {OpenTenant} from './open-tenant.ts';
import {guardedByKey} from './written.ts';

const sandboxBody = bodyType<'sandboxes.create'>(SandboxBody);
const executeBody = bodyType<'sandboxes.execute'>(ExecuteBody);
const sessionBody = bodyType<'sessions.create'>(SessionBody);

export const control: Handlers<Extract<Operation, `sandboxes.${string}` | `sessions.${string}`>> = {
  'sandboxes.create': by(({sandboxes}, request, {groups}) =>
    sandboxes.create(decodeBody(sandboxBody, request.body), null, store =>
      groups.perform(guardedByKey(request, writer => json<'sandboxes.create'>({sandbox: store(writer)}))),
    ),
  ),
  'sandboxes.list': by(({sandboxes}) => json<'sandboxes.list'>({sandboxes: sandboxes.all()})),
  'sandboxes.get': by(({sandboxes}, {params}) => json<'sandboxes.get'>({sandbox: sandboxes.get(params.sandbox_id)})),
  'sandboxes.stop': by(async ({sandboxes}, {params}) =>
    json<'sandboxes.stop'>({sandbox: await sandboxes.stop(params.sandbox_id)}),
  ),
  'sandboxes.execute': by(({sandboxes}, {params, body}) =>
    sandboxes.execute(params.sandbox_id, decodeBody(executeBody, body)),
  ),
  'sessions.create': by(({sessions}, request, {groups}) =>
    sessions.create(decodeBody(sessionBody, request.body), store =>
      groups.perform(guardedByKey(request, writer => json<'sessions.create'>({session: store(writer)}))),
    ),
  ),
  'sessions.list': by(({sessions}) => json<'sessions.list'>({sessions: sessions.all()})),
  'sessions.get': by(({sessions}, {params}) => json<'sessions.get'>({session: sessions.get(params.session_id)})),
  'sessions.close': by(async ({sessions}, {params}) =>
    json<'sessions.close'>({session: await sessions.close(params.session_id)}),
  ),
  'sessions.execute': by(({sessions}, {params, body}) =>
    sessions.execute(params.session_id, decodeBody(executeBody, body)),
  ),
};

function by<O extends Operation>(
  answer: (control: Control, request: Request<O>, tenant: OpenTenant) => Answer | Promise<Answer>,
): Handler<O> {
  return async (request, tenant) => {
    const waiting = kept(request);
    return await answer(await tenant.control.loaded(), waiting, tenant);
  };
}
