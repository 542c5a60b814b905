/**
 * Finds the target of a project's command: project, server and tenant. Flags win over variables, and variables over
 * svc.json.
 */
import {type Command, Option} from 'commander';
import type {SuccessOf} from '../../shared/operation-types.ts';
import {OPERATIONS, type Operation} from '../../shared/operations.ts';
import {type Ask, dataOption, RefusedRequest, ServiceClient} from '../client.ts';
import {CommandFailure} from '../failure.ts';
import type {Parameters, TextEach} from '../request-line.ts';
import {PROJECT_FILE, type Project, readProject} from './project-file.ts';

export type TargetOptions = {project: string; tenant?: string; url?: string; data?: string};

export type Target = {project: Project; client: ServiceClient; tenant: string};

const URL_DEFAULT = 'http://127.0.0.1:3210';

export function addTargetOptions(command: Command): Command {
  return addProjectOption(command)
    .addOption(new Option('--tenant <id>', `the tenant; otherwise "tenant" in ${PROJECT_FILE}`).env('SVC_TENANT'))
    .addOption(
      new Option('--url <url>', `where the server is; otherwise "url" in ${PROJECT_FILE}, or ${URL_DEFAULT}`).env(
        'SVC_URL',
      ),
    )
    .addOption(dataOption());
}

export function addProjectOption(command: Command): Command {
  return command.option('--project <directory>', "the project's directory", '.');
}

export async function openTarget(options: TargetOptions, hint?: string): Promise<Target> {
  const project = await readProject(options.project);
  const tenant = options.tenant ?? project.tenant;
  if (tenant === null) throw new CommandFailure(`no tenant: give --tenant, or "tenant" in ${PROJECT_FILE}`, 2);
  const client = await ServiceClient.open({...options, url: serverUrl(options, project)}, 4, hint);
  return {project, client, tenant};
}

/** Where the server is. */
export function serverUrl({url}: TargetOptions, project: Project): string {
  return url ?? project.url ?? URL_DEFAULT;
}

/** Runs `act` with the target and closes it. */
export async function withTarget(
  options: TargetOptions,
  act: (target: Target) => Promise<void>,
  hint?: string,
): Promise<void> {
  const target = await openTarget(options, hint);
  try {
    await act(target);
  } finally {
    await target.client.close();
  }
}

/** Sends a request of the target's tenant. @param params of its path, without the tenant. @throws RefusedRequest */
export async function ask<O extends Operation>(
  {client, tenant}: Pick<Target, 'client' | 'tenant'>,
  operation: O,
  params: TextEach<(typeof OPERATIONS)[O]['params']>,
  ask: Ask<O> = {},
): Promise<SuccessOf<O>> {
  const all = OPERATIONS[operation].of === 'session' ? params : [tenant, ...params];
  return await client.ask(operation, all as Parameters<O>, ask);
}

/** @throws CommandFailure that says how to create the tenant */
export async function requireTenant(target: Target): Promise<void> {
  try {
    await ask(target, 'functions.list', []);
  } catch (caught) {
    if (!(caught instanceof RefusedRequest) || caught.code !== 'session.tenant_not_found') throw caught;
    throw new CommandFailure(
      `there is no tenant ${target.tenant} at ${target.client.url}; svc deploy --create makes it`,
    );
  }
}
