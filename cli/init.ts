/** `svc init [DIRECTORY]` creates a starter project. It overwrites no existing file. */
import {existsSync} from 'node:fs';
import {mkdir, readFile, writeFile} from 'node:fs/promises';
import {basename, dirname, join, resolve} from 'node:path';
import {fileURLToPath} from 'node:url';
import {type Command, Option} from 'commander';
import {CommandFailure, reportFailure} from './failure.ts';
import {generateCode} from './project/codegen.ts';
import {shellQuoted} from './shell-quoted.ts';
import {manifestText, projectFiles, templateFiles} from './starter/files.ts';
import {ownPackage} from './starter/own-package.ts';

export function register(program: Command): void {
  program
    .command('init')
    .description('write a starter project')
    .argument('[directory]', 'made if it is missing', '.')
    .addOption(
      new Option('--template <name>', 'functions: no page; react: with a page that shows them live')
        .choices([...TEMPLATES])
        .default('functions'),
    )
    .option('--compat', 'only a package for libraries that were made for Convex, in the project that is there')
    .action((directory: string, {template, compat}: {template: Template; compat?: true}) =>
      reportFailure('svc init', () => (compat === true ? addCompat(directory) : init(directory, template))),
    );
}

const TEMPLATES = ['functions', 'react'] as const;
type Template = (typeof TEMPLATES)[number];

/** This package, which the project depends on: the folder above the bundle of this command. */
const PACKAGE = fileURLToPath(new URL('..', import.meta.url));

async function init(directory: string, template: Template): Promise<void> {
  const root = resolve(directory);
  const name = projectName(root);
  await writeNew(root, projectFiles(templateFiles(PACKAGE, template), name, ownPackage(PACKAGE, root)));
  await generateCode(root);
  const where = directory === '.' ? '' : `cd ${shellQuoted(directory)} && `;
  process.stdout.write(`wrote a starter project to ${root}\nnext: ${where}${installAndDevelop(template)}\n`);
}

/** `svc init --compat`, in an existing project. */
async function addCompat(directory: string): Promise<void> {
  const root = resolve(directory);
  const path = join(root, 'package.json');
  if (!existsSync(path)) throw new CommandFailure(`there is no package.json in ${root}: run it in a project`);
  let manifest: {dependencies?: Record<string, string>};
  try {
    manifest = JSON.parse(await readFile(path, 'utf8')) as typeof manifest;
  } catch (cause) {
    throw new CommandFailure(`${path} is not JSON: ${(cause as Error).message}`, 1, {cause});
  }
  await writeNew(root, templateFiles(PACKAGE, 'compat'));
  manifest.dependencies = {svc: ownPackage(PACKAGE, root), ...manifest.dependencies, convex: 'file:./convex-compat'};
  await writeFile(path, manifestText(manifest));
  process.stdout.write(`wrote a package called convex, which stands for svc, to ${root}\nnext: npm install\n`);
}

/** @throws CommandFailure if one of them exists */
async function writeNew(root: string, texts: Record<string, string>): Promise<void> {
  const files = Object.entries(texts);
  const taken = files.map(([path]) => path).filter(path => existsSync(join(root, path)));
  if (taken.length > 0) throw new CommandFailure(`${taken.join(', ')} exists already in ${root}; nothing was written`);
  for (const [path, text] of files) {
    await mkdir(dirname(join(root, path)), {recursive: true});
    await writeFile(join(root, path), text);
  }
}

/** If npx brought Node for this command, the next command needs it, too; an npx inside another one does not work. */
function installAndDevelop(template: Template): string {
  if (process.execPath.includes('/_npx/')) return 'npx -y -p node@22 -c "npm install && npm run dev"';
  return template === 'react' ? 'npm install && npm run dev' : 'npm install && npx svc dev';
}

/** Usable as a tenant's id and a package's name. */
function projectName(root: string): string {
  const name = basename(root)
    .toLowerCase()
    .replaceAll(/[^a-z0-9_-]+/g, '-')
    .replaceAll(/^[^a-z0-9]+|-+$/g, '')
    .slice(0, 64);
  return name === '' ? 'app' : name;
}
