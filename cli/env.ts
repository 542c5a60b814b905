/** `svc env list|get|set|remove` manages the environment variables of a tenant's functions. */
import {readFile} from 'node:fs/promises';
import {parseEnv} from 'node:util';
import type {Command} from 'commander';
import {CommandFailure, reportFailure} from './failure.ts';
import {addTargetOptions, pathOf, type Target, type TargetOptions, withTarget} from './project/target.ts';

type Variables = Record<string, string>;
type SetOptions = TargetOptions & {fromFile?: string; force?: true};

export function register(program: Command): void {
  const env = program.command('env').description("the environment variables of a tenant's functions");
  addTargetOptions(env.command('list').description('all of them, NAME=value a line')).action((options: TargetOptions) =>
    report('list', options, async target => {
      for (const [name, value] of Object.entries(await variables(target))) process.stdout.write(`${name}=${value}\n`);
    }),
  );
  addTargetOptions(env.command('get').argument('<name>').description('the value of one')).action(
    (name: string, options: TargetOptions) =>
      report('get', options, async target => {
        const {value} = await target.client.json<{value: string}>('GET', pathOf(target, 'env', name));
        process.stdout.write(`${value}\n`);
      }),
  );
  addTargetOptions(
    env
      .command('set')
      .argument('[name]')
      .argument('[value]')
      .description('set one, or many from a file; a value that begins with - goes after --: set NAME -- VALUE')
      .showHelpAfterError('A value that begins with - goes after --: svc env set NAME -- VALUE')
      .option('--from-file <file>', 'NAME=value lines, as in a .env file')
      .option('--force', 'the file may change values that are set'),
  ).action((name: string | undefined, value: string | undefined, options: SetOptions) =>
    report('set', options, target => set(target, name, value, options)),
  );
  addTargetOptions(env.command('remove').argument('<name>').description('unset one')).action(
    (name: string, options: TargetOptions) =>
      report('remove', options, async target => {
        await target.client.json('DELETE', pathOf(target, 'env', name));
        process.stdout.write(`removed ${name}\n`);
      }),
  );
}

function report(verb: string, options: TargetOptions, act: (target: Target) => Promise<void>): Promise<void> {
  return reportFailure(`svc env ${verb}`, () => withTarget(options, act));
}

async function set(
  target: Target,
  name: string | undefined,
  value: string | undefined,
  options: SetOptions,
): Promise<void> {
  if (options.fromFile === undefined) {
    if (name === undefined || value === undefined)
      throw new CommandFailure('give a name and a value, or --from-file', 2);
    await setOne(target, name, value);
    return;
  }
  if (name !== undefined) throw new CommandFailure('give either a name and a value, or --from-file', 2);
  const wanted = await fileVariables(options.fromFile);
  const before = await variables(target);
  const changed = Object.entries(wanted).filter(([key, text]) => Object.hasOwn(before, key) && before[key] !== text);
  if (changed.length > 0 && options.force !== true) {
    throw new CommandFailure(
      `${changed.map(([key]) => key).join(', ')}: set to another value already; --force changes it`,
    );
  }
  for (const [key, text] of Object.entries(wanted)) if (before[key] !== text) await setOne(target, key, text);
}

async function setOne(target: Target, name: string, value: string): Promise<void> {
  await target.client.json('PUT', pathOf(target, 'env', name), {value});
  process.stdout.write(`set ${name}\n`);
}

async function variables(target: Target): Promise<Variables> {
  return (await target.client.json<{env: Variables}>('GET', pathOf(target, 'env'))).env;
}

async function fileVariables(file: string): Promise<Variables> {
  try {
    return parseEnv(await readFile(file, 'utf8')) as Variables;
  } catch (cause) {
    throw new CommandFailure(`${file} cannot be read: ${(cause as Error).message}`, 1, {cause});
  }
}
