/** The function app of the bench, or another one: deployed to a tenant, and its functions run. */
import {cpSync} from 'node:fs';
import {join} from 'node:path';
import {tenantPath} from '../../cli/client.ts';
import {bundleProject} from '../../cli/project/bundle.ts';
import {generateCode} from '../../cli/project/codegen.ts';
import type {SvcPeer} from '../peers/svc/start.ts';

const APP = join(import.meta.dirname, 'app');

/** @param root where a copy of the app is made */
export async function deployApp(svc: SvcPeer, tenant: string, root: string, app = APP): Promise<void> {
  const directory = join(root, 'app');
  cpSync(app, directory, {recursive: true});
  await generateCode(directory);
  await svc.client.json('POST', tenantPath(tenant, 'deployments'), await bundleProject(directory));
}

/** @throws Error when the function fails */
export async function runFunction(svc: SvcPeer, tenant: string, path: string, args: object): Promise<unknown> {
  const reply = await svc.client.json<{status: string; value: unknown; errorMessage?: string}>(
    'POST',
    tenantPath(tenant, 'functions', 'run'),
    {path, args},
  );
  if (reply.status !== 'success') throw new Error(reply.errorMessage);
  return reply.value;
}
