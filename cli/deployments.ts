/** `svc deployments …` shows the deployments of a tenant, their files, and what differs between two of them. */
import type {Command} from 'commander';
import {unifiedDiff} from '../shared/line-diff.ts';
import type {DeploymentDiff, DeploymentFile} from '../shared/protocol/functions.ts';
import {listVerb, showRecord, subcommand} from './control.ts';
import {printable} from './printable.ts';
import {ask, type Target, type TargetOptions} from './project/target.ts';
import {deploymentText} from './rollback.ts';

export function register(program: Command): void {
  const deployments = program.command('deployments').description('show deployments, their files and differences');
  listVerb(
    deployments,
    'list',
    'list those that are kept, the newest first',
    async target => (await ask(target, 'deployments.list', [])).deployments,
    deploymentText,
    'deployment',
  );
  listVerb(
    deployments,
    'show <id>',
    'list the files of one: original sources, then the bundle',
    async (target, id) => (await ask(target, 'deployments.files', [id!])).files,
    fileText,
    'file',
  );
  subcommand<TargetOptions & {bundle?: true}>(
    deployments,
    'file <id> <path>',
    'print a file of one',
    async (target, {bundle}, id, path) => {
      const query = bundle === true ? {kind: 'bundle' as const} : {};
      process.stdout.write((await ask(target, 'deployments.file', [id!, path!], {query})).text);
    },
    command => command.option('--bundle', 'of the bundle, also where a source has the same path'),
  );
  subcommand<TargetOptions & {json?: true}>(
    deployments,
    'diff <id> <other>',
    'show what differs from one to another',
    async (target, {json}, id, other) => {
      const diff = await ask(target, 'deployments.diff', [id!, other!]);
      if (json === true) showRecord(diff);
      else await showDiff(target, diff);
    },
    command => command.option('--json', 'the lists of files and functions as JSON, without lines'),
  );
}

function fileText({kind, path, bytes}: DeploymentFile): string {
  return `${kind}  ${path}  ${bytes} bytes`;
}

/** Lines of sources; of a bundle only the names, because its code is generated. */
async function showDiff(target: Target, diff: DeploymentDiff): Promise<void> {
  const {from, to, files} = diff;
  const say = (line: string) => void process.stdout.write(`${printable(line)}\n`);
  const changes = changesOf(diff);
  for (const line of changes) say(line);
  for (const {path, kind, change} of files) {
    if (kind === 'bundle') {
      say(`${change} bundle ${path}`);
      continue;
    }
    const textIn = async (id: number, isThere: boolean) =>
      isThere ? (await ask(target, 'deployments.file', [String(id), path], {query: {kind}})).text : '';
    const before = await textIn(from, change !== 'added');
    const after = await textIn(to, change !== 'removed');
    say(`--- ${change === 'added' ? '/dev/null' : path}`);
    say(`+++ ${change === 'removed' ? '/dev/null' : path}`);
    for (const line of unifiedDiff(before, after)) say(line);
  }
  if (files.length === 0 && changes.length === 0) process.stderr.write('none\n');
}

function changesOf({
  functions,
  tables,
  indexes,
  routes,
  auth_providers: providers,
  variables,
}: DeploymentDiff): string[] {
  return [
    ...functions.map(({path, change}) => `${change} function ${path}`),
    ...tables.map(({name, change}) => `${change} table ${name}`),
    ...indexes.map(({table, name, fields, change}) => `${change} index ${table}.${name} (${fields.join(', ')})`),
    ...routes.map(({method, path, change}) => `${change} route ${method} ${path}`),
    ...providers.map(({issuer, change}) => `${change} auth provider ${issuer}`),
    ...variables.map(({name, change}) => `${change} variable ${name}`),
  ];
}
