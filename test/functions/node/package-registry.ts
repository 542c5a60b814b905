/**
 * Packages as npm publishes them, packed by npm itself, in a registry on this machine; and projects that install them from there.
 * Nothing of it goes to another machine.
 */
import {execFile} from 'node:child_process';
import {createHash} from 'node:crypto';
import {once} from 'node:events';
import {cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync} from 'node:fs';
import {createServer, type Server} from 'node:http';
import type {AddressInfo} from 'node:net';
import {tmpdir} from 'node:os';
import {dirname, join} from 'node:path';
import {promisify} from 'node:util';

const run = promisify(execFile);

/** Files below the package; `package.json` is an object without name and version. */
export type PackageSource = {manifest?: Record<string, unknown>; files?: Record<string, string>};

type Published = {manifest: Record<string, unknown>; tarball: Buffer; file: string};

/** What npm writes into a project. */
const INSTALLED = ['package-lock.json', 'node_modules'];

export class PackageRegistry {
  readonly directory: string;
  readonly #server: Server;
  readonly #published = new Map<string, Published[]>();
  /** Installed projects, by their dependencies. */
  readonly #installed = new Map<string, string>();
  /** Paths that were asked for. */
  readonly asked: string[] = [];

  private constructor() {
    this.directory = realpathSync(mkdtempSync(join(tmpdir(), 'svc-registry-')));
    this.#server = createServer((request, response) => {
      this.asked.push(request.url!);
      const answer = this.#answer(decodeURIComponent(request.url!));
      response.writeHead(answer === null ? 404 : 200).end(answer ?? '{}');
    });
  }

  /** @param packages by `name@version` */
  static async start(packages: Readonly<Record<string, PackageSource>>): Promise<PackageRegistry> {
    const registry = new PackageRegistry();
    registry.#server.listen(0, '127.0.0.1');
    await once(registry.#server, 'listening');
    await registry.#publish(packages);
    return registry;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/`;
  }

  /** A project with these dependencies, installed and locked. @param files path → text */
  async project(dependencies: Record<string, string>, files: Record<string, string>): Promise<string> {
    const root = join(this.directory, `project-${readdirSync(this.directory).length}`);
    write(root, {
      '.npmrc': `registry=${this.url}\ncache=${join(this.directory, 'cache')}\n`,
      'package.json': JSON.stringify({name: 'project', version: '1.0.0', type: 'module', dependencies}),
      ...files,
    });
    const installed = this.#installed.get(JSON.stringify(dependencies));
    if (installed !== undefined) {
      for (const name of INSTALLED) cpSync(join(installed, name), join(root, name), {recursive: true});
      return root;
    }
    await run('npm', ['install', '--ignore-scripts', '--no-audit', '--no-fund', '--no-update-notifier'], {cwd: root});
    // A copy, because tests change theirs.
    const copy = `${root}-installed`;
    for (const name of INSTALLED) cpSync(join(root, name), join(copy, name), {recursive: true});
    this.#installed.set(JSON.stringify(dependencies), copy);
    return root;
  }

  /** From now on nobody is answered. */
  async close(): Promise<void> {
    if (!this.#server.listening) return;
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }

  async stop(): Promise<void> {
    await this.close();
    rmSync(this.directory, {recursive: true});
  }

  async #publish(packages: Readonly<Record<string, PackageSource>>): Promise<void> {
    // `@a/b` and `a-b` make files of the same name: they are in different batches.
    const batches: Map<string, string>[] = [];
    for (const [id, {manifest = {}, files = {}}] of Object.entries(packages)) {
      const at = id.lastIndexOf('@');
      const whole = {name: id.slice(0, at), version: id.slice(at + 1), ...manifest};
      const root = join(this.directory, 'sources', id);
      write(root, {...files, 'package.json': JSON.stringify(whole)});
      const name = `${whole.name.replace('@', '').replace('/', '-')}-${whole.version}.tgz`;
      const batch = batches.find(each => !each.has(name)) ?? new Map<string, string>();
      if (!batches.includes(batch)) batches.push(batch);
      batch.set(name, root);
    }
    for (const [n, batch] of batches.entries()) {
      const out = join(this.directory, 'packed', String(n));
      mkdirSync(out, {recursive: true});
      const given = ['pack', '--ignore-scripts', '--loglevel=error', '--pack-destination', out, ...batch.values()];
      await run('npm', given, {cwd: this.directory});
      for (const [name, root] of batch) this.#add(root, join(out, name));
    }
  }

  #add(root: string, path: string): void {
    const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {name: string; version: string};
    const tarball = readFileSync(path);
    const file = `${manifest.name.split('/').at(-1)}-${manifest.version}.tgz`;
    this.#published.set(manifest.name, [...(this.#published.get(manifest.name) ?? []), {manifest, tarball, file}]);
  }

  #answer(path: string): string | Buffer | null {
    const [, name = '', file] = /^\/((?:@[^/]+\/)?[^/]+)(?:\/-\/(.+))?$/.exec(path) ?? [];
    const published = this.#published.get(name);
    if (published === undefined) return null;
    if (file !== undefined) return published.find(one => one.file === file)?.tarball ?? null;
    const versions = published.map(one => {
      const integrity = `sha512-${createHash('sha512').update(one.tarball).digest('base64')}`;
      const dist = {tarball: `${this.url}${name}/-/${one.file}`, integrity};
      return [String(one.manifest.version), {...one.manifest, dist}] as const;
    });
    return JSON.stringify({
      name,
      'dist-tags': {latest: versions.at(-1)![0]},
      versions: Object.fromEntries(versions),
    });
  }
}

function write(root: string, files: Record<string, string>): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), {recursive: true});
    writeFileSync(join(root, path), text);
  }
}
