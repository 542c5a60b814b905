/** V8's flags are frozen in every process that can run code of tenants. */
import {afterAll, beforeAll, expect, test} from 'vitest';
import {FROZEN_FLAGS} from '../../shared/node-flags.ts';
import {App} from '../functions/app.ts';
import {onNode, ownNode} from '../functions/node/node-app.ts';
import {childrenOf, commandLine} from '../harness/processes.ts';
import {Service} from '../harness/service.ts';
import {Tenant} from '../harness/tenant.ts';
import {newSandbox} from './sandbox-client.ts';
import {NODE_VERSION} from './service-client.ts';

let service: Service;
beforeAll(async () => {
  service = await Service.start({env: {[`SVC_NODE_${NODE_VERSION}`]: ownNode()}});
});
afterAll(() => service.stop());

test('the worker, its isolates, its Node processes and its sandboxes are started with frozen flags', async () => {
  const app = await App.deploy(service, {
    ...onNode(NODE_VERSION),
    'plain.ts': 'import {query} from "./_generated/server";\nexport const one = query(async () => 1);\n',
    'node.ts': '"use node";\nimport {action} from "./_generated/server";\nexport const two = action(async () => 2);\n',
  });
  expect([await app.query('plain:one', {}), await app.action('node:two', {})]).toEqual([1, 2]);
  const tenant = Tenant.of(service, app.tenant);
  await newSandbox(tenant);
  await newSandbox(tenant, {runtime: 'node', node_version: NODE_VERSION});
  const worker = await service.workerOf(tenant.id);
  const frozen = Object.fromEntries(
    [worker, ...childrenOf(worker)].map(pid => {
      const words = commandLine(pid).split('\0');
      const script =
        words
          .find(word => /\.js$/.test(word))
          ?.split('/')
          .at(-1) ?? '';
      return [script, FROZEN_FLAGS.every(flag => words.includes(flag))];
    }),
  );
  expect(frozen).toEqual({'worker.js': true, 'isolates.js': true, 'node-child.js': true, 'sandboxes.js': true});
});
