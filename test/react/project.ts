/** Projects of `projects/`, each with packages of its own, in a directory for a test. */
import {execFile} from 'node:child_process';
import {cpSync, mkdirSync, mkdtempSync, readdirSync, realpathSync, renameSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {promisify} from 'node:util';

export const root = fileURLToPath(new URL('../..', import.meta.url));

export class FixtureProject {
  readonly directory: string;

  private constructor(directory: string) {
    this.directory = directory;
  }

  /** Copied, and its packages installed as its lock file says. */
  static async install(name: string): Promise<FixtureProject> {
    const directory = realpathSync(mkdtempSync(join(tmpdir(), `svc-${name}-`)));
    cpSync(join(root, 'test/react/projects', name), directory, {recursive: true});
    const project = new FixtureProject(directory);
    await project.run('npm', ['ci', '--no-audit', '--no-fund', '--prefer-offline']);
    return project;
  }

  /** Puts the packed package beside the others, as an app's package manager would. */
  async addSvc(): Promise<void> {
    const packages = join(this.directory, 'node_modules');
    const unpacked = join(this.directory, 'unpacked');
    mkdirSync(unpacked);
    await promisify(execFile)('npm', ['pack', '--silent', '--pack-destination', unpacked], {cwd: root});
    const archive = readdirSync(unpacked).find(name => name.endsWith('.tgz'))!;
    await this.run('tar', ['-xzf', join(unpacked, archive), '-C', unpacked]);
    renameSync(join(unpacked, 'package'), join(packages, 'svc'));
  }

  run(command: string, args: string[], env: Record<string, string> = {}): Promise<string> {
    return run(command, args, this.directory, env);
  }

  remove(): void {
    rmSync(this.directory, {recursive: true, force: true});
  }
}

/** As a terminal has it: settings of an npm that runs the tests for one command must not reach another. */
export function shellEnvironment(): NodeJS.ProcessEnv {
  return Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^npm_config_(call|package|yes)$/.test(name)),
  );
}

/** @returns what it wrote. @throws Error with that */
export async function run(
  command: string,
  args: string[],
  cwd: string,
  env: Record<string, string> = {},
): Promise<string> {
  try {
    const {stdout} = await promisify(execFile)(command, args, {
      cwd,
      env: {...shellEnvironment(), ...env},
      maxBuffer: 2 ** 26,
    });
    return stdout;
  } catch (caught) {
    const {stdout, stderr} = caught as {stdout?: string; stderr?: string};
    throw new Error(`${command} ${args.join(' ')} failed:\n${stdout}\n${stderr}`, {cause: caught});
  }
}
