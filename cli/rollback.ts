/** `svc rollback [ID]` makes an earlier deployment the active one again, after the same checks as a deploy. */
import type {Command} from 'commander';
import type {DeploymentError, DeploymentView} from '../shared/protocol/functions.ts';
import {RefusedRequest} from './client.ts';
import {CommandFailure, reportFailure} from './failure.ts';
import {ProjectFailure} from './project/project-failure.ts';
import {addTargetOptions, ask, type Target, type TargetOptions, withTarget} from './project/target.ts';

type Options = TargetOptions & {list?: true; json?: true};

export function register(program: Command): void {
  const command = program
    .command('rollback')
    .description('make an earlier deployment the active one')
    .argument('[id]', 'its number; otherwise the one that was active before')
    .option('--list', 'show the deployments instead')
    .option('--json', 'as JSON');
  addTargetOptions(command).action((id: string | undefined, options: Options) =>
    reportFailure('svc rollback', () =>
      withTarget(options, target => (options.list === true ? list(target, options) : rollback(target, id, options))),
    ),
  );
}

async function rollback(target: Target, id: string | undefined, {json}: Options): Promise<void> {
  const chosen = id ?? String(await previous(target));
  const view = await activate(target, chosen);
  process.stdout.write(
    json === true ? `${JSON.stringify(view)}\n` : `deployment ${view.id} of ${target.tenant} is active\n`,
  );
}

async function activate(target: Target, id: string): Promise<DeploymentView> {
  try {
    return await ask(target, 'deployments.activate', [id], {repeat: 'once'});
  } catch (caught) {
    const errors =
      caught instanceof RefusedRequest ? (caught.detail.errors as DeploymentError[] | undefined) : undefined;
    throw errors === undefined ? caught : new ProjectFailure(errors);
  }
}

/** The inactive deployment that was activated last. */
async function previous(target: Target): Promise<number> {
  const others = (await deployments(target)).filter(({active}) => !active);
  const [last] = others.sort((a, b) => (b.activated_at ?? 0) - (a.activated_at ?? 0) || b.id - a.id);
  if (last === undefined) throw new CommandFailure('there is no earlier deployment');
  return last.id;
}

async function list(target: Target, {json}: Options): Promise<void> {
  const all = await deployments(target);
  if (json === true) process.stdout.write(`${JSON.stringify(all)}\n`);
  else for (const one of all) process.stdout.write(`${deploymentText(one)}\n`);
}

export function deploymentText(deployment: DeploymentView): string {
  const {id, active, created_at: created, functions, message, development} = deployment;
  const what = message ?? (development ? '(svc dev)' : '');
  return `${active ? '*' : ' '} ${id}  ${new Date(created).toISOString()}  ${functions} functions  ${what}`;
}

async function deployments(target: Target): Promise<DeploymentView[]> {
  return (await ask(target, 'deployments.list', [])).deployments;
}
