import {expect, test} from 'vitest';
import {NODE_VERSIONS} from '../../../shared/node-version.ts';
import {NodeBinaries} from '../../../worker/runtime/node/node-binary.ts';

test('a Node that cannot be had is refused in the words of the request that wants it', async () => {
  const version = NODE_VERSIONS.find(other => !process.versions.node.startsWith(`${other}.`))!;
  const install = () => Promise.reject(new Error('npm failed'));
  const binaries = new NodeBinaries({env: {}, directory: '/nowhere', install});
  const refusals = await Promise.allSettled([binaries.find(version, 'definition'), binaries.find(version, 'project')]);
  const [ofSandbox, ofProject] = refusals.map(refusal => (refusal as PromiseRejectedResult).reason);
  expect(ofSandbox).toMatchObject({code: 'op.invalid_input'});
  expect(ofSandbox.message).toMatch(/npm failed.*or choose another "node_version"$/);
  expect(ofSandbox.detail?.errors).toBeUndefined();
  expect(ofProject.message).toMatch(/npm failed.*or choose another "node\.nodeVersion" in svc\.json$/);
  expect(ofProject.detail).toMatchObject({errors: [{file: 'svc.json'}]});
});
