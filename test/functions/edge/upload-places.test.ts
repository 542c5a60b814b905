/** Whose bodies are still arriving when an HTTP action runs: slow senders leave places for others. */
import {Buffer} from 'node:buffer';
import {beforeEach, describe, expect, test} from 'vitest';
import {IncomingBody} from '../../../engine/io/incoming-body.ts';
import type {RequestMeta} from '../../../shared/ipc/operations.ts';
import type {HttpActionParts, HttpActionReply} from '../../../worker/functions/http-actions.ts';
import {HttpActions} from '../../../worker/functions/http-actions.ts';
import {HTTP_UPLOADS_MAX} from '../../../worker/functions/limits.ts';
import {decoded, type Request} from '../../../worker/ipc/decode.ts';

const META: RequestMeta = {op: 'functions.http', m: 'POST', u: 'http://h/svc/t/http/in', p: ['/in']};
const route = {method: 'POST', path: '/in', pathPrefix: null, index: 0};
const reply: HttpActionReply = {respond: () => expect.fail(), fail: () => expect.fail()};
const overloaded = expect.objectContaining({code: 'session.overloaded'});

let begun: number;
let actions: HttpActions;
beforeEach(() => {
  begun = 0;
  // Actions that never end: what is looked at is who may begin.
  const runHttp = () => {
    begun++;
    return new Promise(() => undefined);
  };
  const parts = {
    live: () => ({code: {}}),
    routes: () => [route],
    clock: () => 0,
    functions: {},
    actions: {runHttp},
    env: () => ({}),
    egress: () => ({}),
    redactErrors: false,
  };
  actions = new HttpActions(parts as unknown as HttpActionParts);
});

const arriving = () => new IncomingBody({taken: () => undefined, cancelled: () => undefined});

/** What came of a request with this body: begun, or the error. */
async function serve(incoming: IncomingBody | null): Promise<unknown> {
  const before = begun;
  const outcome = actions
    .serve(decoded(META, Buffer.alloc(0), incoming) as Request<'functions.http'>, reply)
    .catch((error: unknown) => error);
  return await Promise.race([outcome, new Promise(resolve => setImmediate(() => resolve(begun > before && 'begun')))]);
}

describe(`requests whose bodies are arriving take ${HTTP_UPLOADS_MAX} places at most`, () => {
  let bodies: IncomingBody[];
  beforeEach(async () => {
    bodies = Array.from({length: HTTP_UPLOADS_MAX}, arriving);
    for (const body of bodies) expect(await serve(body)).toBe('begun');
  });

  test('one more is session.overloaded, and one without a body or with a whole one begins', async () => {
    expect(await serve(arriving())).toEqual(overloaded);
    expect(await serve(null)).toBe('begun');
    expect(await serve(IncomingBody.whole(Buffer.from('all')))).toBe('begun');
  });

  test.each<[string, (body: IncomingBody) => void]>([
    ['whole', body => body.finish(false)],
    ['cut short', body => body.finish(true)],
    ['not wanted any more', body => body.cancel()],
  ])('a body that is %s leaves its place, once', async (_, end) => {
    end(bodies[0]!);
    end(bodies[0]!);
    expect(await serve(arriving())).toBe('begun');
    expect(await serve(arriving())).toEqual(overloaded);
  });
});
