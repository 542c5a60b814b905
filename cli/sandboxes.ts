/** `svc sandboxes …` runs untrusted code. */
import type {Command} from 'commander';
import type {SandboxRecord} from '../shared/protocol/sandboxes.ts';
import {createOnce, execute, executionOf, jsonIn, showList, showRecord, subcommand} from './control.ts';
import {printable} from './printable.ts';
import {pathOf, type TargetOptions} from './project/target.ts';

type Found = {sandbox: SandboxRecord};
type ListOptions = TargetOptions & {json?: true};
type ExecOptions = TargetOptions & {args?: string};

export function register(program: Command): void {
  const sandboxes = program.command('sandboxes').description('run untrusted code');
  subcommand<ListOptions>(
    sandboxes,
    'list',
    'all of them, a line each',
    async (target, {json}) => {
      const path = pathOf(target, 'sandboxes');
      const {sandboxes: all} = await target.client.json<{sandboxes: SandboxRecord[]}>('GET', path);
      showList(all, json === true, lineOf);
    },
    command => command.option('--json', 'a record a line, as JSON'),
  );
  subcommand(sandboxes, 'show <id>', 'the record of one', async (target, _, id) =>
    showRecord((await target.client.json<Found>('GET', pathOf(target, 'sandboxes', id!))).sandbox),
  );
  subcommand(sandboxes, 'create [file]', 'make one, as a JSON file says', async (target, _, file) => {
    const body = file === undefined ? {} : await jsonIn(file);
    const {sandbox} = await createOnce<Found>(target, pathOf(target, 'sandboxes'), body);
    process.stdout.write(`${sandbox.id}\n`);
  });
  subcommand<ExecOptions>(
    sandboxes,
    'exec <id> <code>',
    'run the body of an async function of args, a file for @path',
    async (target, {args}, id, code) =>
      execute(target, pathOf(target, 'sandboxes', id!, 'execute'), await executionOf(code!, args)),
    command => command.option('--args <json>', 'what it is called with', '{}'),
  );
  subcommand(sandboxes, 'stop <id>', 'end one, with what it holds', async (target, _, id) => {
    const {sandbox} = await target.client.json<Found>('POST', pathOf(target, 'sandboxes', id!, 'stop'));
    process.stdout.write(`${printable(lineOf(sandbox))}\n`);
  });
}

function lineOf({id, state, node_version: node, memory_mb: memory, expires_at: expires, error}: SandboxRecord): string {
  const until = state === 'running' ? `  until ${new Date(expires).toISOString()}` : '';
  const runtime = node === null ? '' : `  Node ${node}`;
  return `${id}  ${state}${runtime}  ${memory} MiB${until}${error === null ? '' : `  ${error}`}`;
}
