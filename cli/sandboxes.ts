/** `svc sandboxes …` runs untrusted code. */
import type {Command} from 'commander';
import type {BodyOf} from '../shared/operation-types.ts';
import type {SandboxRecord} from '../shared/protocol/sandboxes.ts';
import {ALL, executeVerb, jsonIn, listVerb, showList, showVerb, subcommand} from './control.ts';
import {ask} from './project/target.ts';

export function register(program: Command): void {
  const sandboxes = program.command('sandboxes').description('run untrusted code');
  listVerb(sandboxes, 'list', ALL, async target => (await ask(target, 'sandboxes.list', [])).sandboxes, lineOf);
  showVerb(sandboxes, 'show <id>', async (target, id) => (await ask(target, 'sandboxes.get', [id])).sandbox);
  subcommand(sandboxes, 'create [file]', 'create one from a JSON file', async (target, _, file) => {
    const body = file === undefined ? {} : await jsonIn<BodyOf<'sandboxes.create'>>(file);
    const {sandbox} = await ask(target, 'sandboxes.create', [], {body, repeat: 'keyed'});
    process.stdout.write(`${sandbox.id}\n`);
  });
  executeVerb(sandboxes, 'sandboxes.execute');
  subcommand(sandboxes, 'stop <id>', 'end one and discard its state', async (target, _, id) => {
    showList([(await ask(target, 'sandboxes.stop', [id!])).sandbox], false, lineOf);
  });
}

function lineOf({id, state, node_version: node, memory_mb: memory, expires_at: expires, error}: SandboxRecord): string {
  const until = state === 'running' ? `  until ${new Date(expires).toISOString()}` : '';
  const runtime = node === null ? '' : `  Node ${node}`;
  return `${id}  ${state}${runtime}  ${memory} MiB${until}${error === null ? '' : `  ${error}`}`;
}
