/** A unique index that is built over many documents while the worker is killed and clients write: what is enabled is unique. */
import {beforeEach, expect, test} from 'vitest';
import {canonical, journalAfter, replay} from '../harness/journal.ts';
import {rounds} from '../harness/nightly.ts';
import {isAlive} from '../harness/processes.ts';
import {sharedService} from '../harness/shared-service.ts';
import {Tenant} from '../harness/tenant.ts';
import {until} from '../harness/until.ts';

/** More than INDEX_BUILD_WAIT_DOCUMENTS, so that the build goes on in the background. */
const DOCUMENTS = rounds({commit: 12_000, nightly: 24_000});
const AT_ONCE = 1_000;
const CLIENTS = 6;

const service = await sharedService();
beforeEach(() => service.showLogOnFailure());

type Index = {state: string; failure?: {offenders: {id: string; same_as: string}[]}};

test(`over ${DOCUMENTS} documents: kill -9 in the build loses nothing of it, offenders are reported, and no two get through`, async () => {
  const tenant = await Tenant.make(service);
  // The first and the last are the same.
  for (let from = 0; from < DOCUMENTS; from += AT_ONCE) {
    const operations = Array.from({length: AT_ONCE}, (_, i) => {
      const n = (from + i) % (DOCUMENTS - 1);
      return {type: 'insert', table: 'people', fields: {email: `e${n}`, n}};
    });
    expect((await tenant.request('POST', '/transactions', {operations})).status).toBe(200);
  }
  const [first, last] = await tenant.query({table: 'people', filters: [{field: 'email', op: 'eq', value: 'e0'}]});
  const put = () => tenant.putSchema('people', [], [{name: 'by_email', fields: ['email'], unique: true}]);
  const index = async () => {
    const {indexes}: {indexes: [Index]} = (await tenant.request('GET', '/schema/people')).body;
    return indexes[0];
  };
  const kill = async () => {
    const worker = await service.workerOf(tenant.id);
    process.kill(worker, 'SIGKILL');
    await until('its end', () => !isAlive(worker));
  };
  const built = () => until('the build to end', async () => (await index()).state !== 'building' && index());

  await put();
  await kill();
  expect(await built()).toMatchObject({
    state: 'failed',
    failure: {offenders: [{id: last!._id, same_as: first!._id}]},
  });
  await kill();
  expect(await index()).toMatchObject({state: 'failed', failure: {offenders: [{id: last!._id}]}});
  // It refuses nothing.
  const third = await tenant.insert('people', {email: 'e0'});
  await tenant.delete('people', third);
  await tenant.delete('people', last!._id);

  await put();
  let isOver = false;
  const clients = Array.from({length: CLIENTS}, async (_, client) => {
    for (let n = 0; !isOver; n++) {
      const fields = {email: `new${n % 40}`, by: `${client}-${n}`};
      // Sent with one key until it is answered.
      const headers = {'idempotency-key': fields.by};
      for (;;) {
        const reply = await tenant.request('POST', '/documents', {table: 'people', fields}, headers).catch(() => null);
        if (reply?.status === 201 || reply?.status === 409) break;
        if (reply !== null) expect(reply.text).toMatch(/"code":"session\./);
      }
    }
  });
  await kill();
  expect((await built()).state).toBe('enabled');
  await kill();
  await until('what clients write', async () => (await tenant.list('people')).length === DOCUMENTS - 1 + 40);
  isOver = true;
  await Promise.all(clients);

  const people = await tenant.list('people');
  expect(new Set(people.map(({email}) => email)).size).toBe(people.length);
  const {records} = await journalAfter(tenant, 0);
  expect(canonical(replay({snapshot: {documents: {}}} as never, records).get('people'))).toBe(canonical(people));
});
