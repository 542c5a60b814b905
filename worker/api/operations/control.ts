/** Handlers for services, sandboxes and sessions. The first request loads service control. */

import {bodyType, decodeBody} from '../../../engine/wire-type.ts';
import type {Operation} from '../../../shared/operations.ts';
import {ExecuteBody, SandboxBody} from '../../../shared/protocol/sandboxes.ts';
import {ServiceBody, ServiceUpdateBody} from '../../../shared/protocol/services.ts';
import {SessionBody} from '../../../shared/protocol/sessions.ts';
import type {Control} from '../../control/control.ts';
import {detached, type Request} from '../../ipc/decode.ts';
import {type Answer, doneAfter, guardedByKey, type Handler, type Handlers, json, Streamed} from './answer.ts';
import type {OpenTenant} from './open-tenant.ts';

const sandboxBody = bodyType<'sandboxes.create'>(SandboxBody);
const serviceBody = bodyType<'services.create'>(ServiceBody);
const serviceUpdateBody = bodyType<'services.update'>(ServiceUpdateBody);
const executeBody = bodyType<'sandboxes.execute'>(ExecuteBody);
const sessionBody = bodyType<'sessions.create'>(SessionBody);

type Area = 'services' | 'sandboxes' | 'sessions';

export const control: Handlers<Extract<Operation, `${Area}.${string}`>> = {
  'services.create': by(({services}, request, {groups}) =>
    services.create(decodeBody(serviceBody, request.body), store =>
      groups.perform(guardedByKey(request, writer => json<'services.create'>({service: store(writer)}))),
    ),
  ),
  'services.list': by(({services}) => json<'services.list'>({services: services.all()})),
  'services.get': by(({services}, {params}) => json<'services.get'>({service: services.get(params.service_name)})),
  'services.update': by(async ({services}, {params, body}) =>
    json<'services.update'>({service: await services.update(params.service_name, decodeBody(serviceUpdateBody, body))}),
  ),
  'services.delete': by(({services}, {params}) => doneAfter(services.delete(params.service_name))),
  'services.start': by(async ({services}, {params}) =>
    json<'services.start'>({service: await services.start(params.service_name)}),
  ),
  'services.stop': by(async ({services}, {params}) =>
    json<'services.stop'>({service: await services.stop(params.service_name)}),
  ),
  'services.restart': by(async ({services}, {params}) =>
    json<'services.restart'>({service: await services.restart(params.service_name)}),
  ),
  'services.logs': (request, tenant) => {
    const {params, query} = detached(request);
    return new Streamed(async to => (await tenant.control.loaded()).services.readLog(params.service_name, to, query));
  },
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
    const waiting = detached(request);
    return await answer(await tenant.control.loaded(), waiting, tenant);
  };
}
