/**
 * A stock nginx or Caddy in front of a service, set up by the recipe of docs/operating.md, word for word but for names: addresses, and the
 * certificate that a test does not have. It listens on a free port of 127.0.0.1 and writes into a directory of its own only.
 */
import {type ChildProcess, spawn} from 'node:child_process';
import {existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {connect} from 'node:net';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {freePort} from './free-port.ts';
import {until} from './until.ts';

export type ProxyKind = 'nginx' | 'caddy';

const PLACES: Record<ProxyKind, readonly string[]> = {
  nginx: ['/usr/sbin/nginx', '/usr/bin/nginx', '/usr/local/bin/nginx'],
  caddy: ['/usr/bin/caddy', '/usr/local/bin/caddy'],
};

/** Puts something in the place of what the recipe says, which is there. */
export type Change = readonly [there: string, instead: string];

export class ReverseProxy {
  readonly url: string;
  readonly #child: ChildProcess;
  readonly #directory: string;

  private constructor(url: string, child: ChildProcess, directory: string) {
    this.url = url;
    this.#child = child;
    this.#directory = directory;
  }

  /** @param port of the service @param changes of the recipe */
  static async start(kind: ProxyKind, port: number, changes: readonly Change[] = []): Promise<ReverseProxy> {
    const binary = PLACES[kind].find(existsSync);
    if (binary === undefined) throw new Error(`${kind} is not installed: apt-get install ${kind}`);
    const directory = mkdtempSync(join(tmpdir(), `svc-${kind}-`));
    const listens = await freePort();
    const names: readonly Change[] = [['127.0.0.1:3210', `127.0.0.1:${port}`], ...ADDRESS[kind](listens), ...changes];
    const config = join(directory, 'config');
    writeFileSync(config, AROUND[kind](changed(recipe(kind), names), directory));
    const args = {
      nginx: ['-p', directory, '-c', config, '-e', join(directory, 'error.log')],
      caddy: ['run', '--adapter', 'caddyfile', '--config', config],
    };
    const child = spawn(binary, args[kind], {
      stdio: ['ignore', 'ignore', 'pipe'],
      env: {PATH: process.env.PATH ?? '', HOME: directory, XDG_DATA_HOME: directory, XDG_CONFIG_HOME: directory},
    });
    let said = '';
    child.stderr!.on('data', chunk => {
      said = (said + String(chunk)).slice(-10_000);
    });
    const proxy = new ReverseProxy(`http://127.0.0.1:${listens}`, child, directory);
    try {
      await until(`${kind} to listen`, () => {
        if (child.exitCode !== null) throw new Error(`${kind} ended with ${child.exitCode}: ${said}`);
        return listening(listens);
      });
    } catch (caught) {
      await proxy.stop();
      throw caught;
    }
    return proxy;
  }

  /** At once: its connections break. */
  async stop(): Promise<void> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) {
      const ended = new Promise(resolve => this.#child.once('exit', resolve));
      this.#child.kill('SIGTERM');
      await ended;
    }
    rmSync(this.#directory, {recursive: true, force: true});
  }
}

/** The block of this language in docs/operating.md. */
function recipe(language: string): string {
  const text = readFileSync(new URL('../../docs/operating.md', import.meta.url), 'utf8');
  const name = language === 'caddy' ? 'caddyfile' : language;
  const block = new RegExp(`^\`\`\`${name}\n([\\s\\S]*?)^\`\`\`$`, 'm').exec(text)?.[1];
  if (block === undefined) throw new Error(`docs/operating.md has no recipe for ${language}`);
  return block;
}

function changed(text: string, changes: readonly Change[]): string {
  let result = text;
  for (const [there, instead] of changes) {
    if (!result.includes(there)) throw new Error(`the recipe says nothing of ${there}`);
    result = result.replace(there, instead);
  }
  return result;
}

const ADDRESS: Record<ProxyKind, (port: number) => readonly Change[]> = {
  nginx: port => [['listen 443 ssl', `listen 127.0.0.1:${port}`]],
  caddy: port => [['db.example.com {', `http://127.0.0.1:${port} {\n  bind 127.0.0.1`]],
};

/** What a distribution's package has around it. */
const AROUND: Record<ProxyKind, (recipe: string, directory: string) => string> = {
  nginx: (text, directory) => {
    const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
      name => `${name}_temp_path ${directory}/${name};`,
    );
    // One process: to stop it is to stop all of it.
    return `daemon off; master_process off; pid ${directory}/pid; error_log stderr;
events {}
http { access_log off; ${temporary.join(' ')}
${text}
}`;
  },
  caddy: (text, directory) => `{
  admin off
  auto_https off
  grace_period 1ms
  storage file_system ${directory}/storage
}
${text}`,
};

function listening(port: number): Promise<boolean> {
  return new Promise(resolve => {
    const socket = connect({host: '127.0.0.1', port}, () => {
      socket.destroy();
      resolve(true);
    });
    socket.on('error', () => resolve(false));
  });
}
