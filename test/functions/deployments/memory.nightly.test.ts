/** What the worker keeps of deployments that do not serve any more. */
import {queryObjects} from 'node:v8';
import {expect, test} from 'vitest';
import {ActiveDeployment} from '../../../worker/functions/deployments/deployments.ts';
import {DEPLOYMENTS_KEEP} from '../../../worker/functions/limits.ts';
import {EMPTY_UPLOAD, TenantDeployments} from './tenant-deployments.ts';

/** Of a table with another field and another index each time; a second table comes and goes. */
async function deploys(tenant: TenantDeployments, from: number, count: number): Promise<void> {
  for (let n = from; n < from + count; n++) {
    const field = {fieldType: {type: 'number'}, optional: true} as const;
    const document = {type: 'object', value: {[`field${n}`]: field}} as const;
    const table = {name: 'notes', document, indexes: [{name: `by_field${n}`, fields: [`field${n}`]}]};
    const schema = {tables: [table, ...(n % 2 === 0 ? [{...table, name: 'others'}] : [])], schemaValidation: true};
    tenant.manifest = {functions: [], routes: null, schema, authProviders: []};
    await tenant.upload({...EMPTY_UPLOAD, files: [{path: 'a.js', source: `// ${n}`, sourceMap: null}]});
  }
}

/** Objects that are reachable, after a collection. */
function held(tenant: TenantDeployments): Record<string, number> {
  const {constructor: statement} = tenant.writer.db.prepare('SELECT 1');
  const count = (of: unknown) => queryObjects(of as new () => unknown, {format: 'count'});
  return {
    deployments: count(ActiveDeployment),
    statements: count(statement),
    maps: count(Map),
    sets: count(Set),
  };
}

test('is the same after many deploys as after as many as the history has', async () => {
  const tenant = new TenantDeployments();
  await deploys(tenant, 0, DEPLOYMENTS_KEEP + 4);
  const before = held(tenant);
  await deploys(tenant, 100, 40);
  const after = held(tenant);
  expect(before.deployments).toBeLessThanOrEqual(2);
  for (const [what, count] of Object.entries(after)) expect(count, what).toBeLessThan(before[what]! + 10);
});
