/** `svc rollback [ID]` makes an earlier deployment the active one again, after the same checks as a deploy. */
import type {Command} from 'commander';
import type {ActivationPreview, DeploymentError, DeploymentView} from '../shared/protocol/functions.ts';
import {RefusedRequest} from './client.ts';
import {CommandFailure, reportFailure} from './failure.ts';
import {printable, printableJson} from './printable.ts';
import {ProjectFailure} from './project/project-failure.ts';
import {changeLines} from './project/push.ts';
import {addTargetOptions, ask, type Target, type TargetOptions, withTarget} from './project/target.ts';

type Options = TargetOptions & {list?: true; dryRun?: true; json?: true};

export function register(program: Command): void {
  const command = program
    .command('rollback')
    .description('make an earlier deployment the active one')
    .argument('[id]', 'its number; otherwise the one that was active before')
    .option('--list', 'show the deployments instead')
    .option('--dry-run', 'run the checks and report what would change; change nothing')
    .option('--json', 'as JSON');
  addTargetOptions(command).action((id: string | undefined, options: Options) =>
    reportFailure('svc rollback', () =>
      withTarget(options, target => (options.list === true ? list(target, options) : rollback(target, id, options))),
    ),
  );
}

async function rollback(target: Target, id: string | undefined, {json, dryRun}: Options): Promise<void> {
  const chosen = id ?? String(await previous(target));
  if (dryRun === true) {
    const found = await ask(target, 'deployments.preview', [chosen]);
    if (json === true) process.stdout.write(`${printableJson(JSON.stringify(found))}\n`);
    else showPreview(found);
    if (found.errors.length > 0) throw new ProjectFailure(found.errors);
    return;
  }
  const view = await activate(target, chosen);
  process.stdout.write(
    json === true ? `${JSON.stringify(view)}\n` : `deployment ${view.id} of ${target.tenant} is active\n`,
  );
}

function showPreview(preview: ActivationPreview): void {
  const {deployment, changes, builds, errors} = preview;
  const say = (line: string) => void process.stdout.write(`${printable(line)}\n`);
  for (const line of changeLines(changes)) say(line);
  for (const {table, name, documents} of builds)
    if (documents > 0) say(`  index ${table}.${name} is filled from ${documents} documents`);
  for (const {path, jobs} of preview.missing_functions)
    say(`! ${jobs} pending jobs call ${path}, which would be missing`);
  for (const {name, message} of preview.failing_crons) say(`! cron ${name} would fail: ${message}`);
  for (const name of preview.missing_variables) say(`! the code reads ${name}, which is not set`);
  if (errors.length === 0) say(`a dry run: deployment ${deployment} can be activated`);
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
