/**
 * Which functions of the product run: a copy of the build whose processes count their calls, and say them when they are asked.
 * Not counted: the supervisor, what runs inside an isolate, and processes that may write no file.
 */
import {
  chmodSync,
  cpSync,
  globSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import {SourceMap} from 'node:module';
import {dirname, join, relative, resolve} from 'node:path';
import {setTimeout as delay} from 'node:timers/promises';
import {fileURLToPath} from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** Processes answer within their poll of 10 ms, unless they work; those that say nothing for this long have said it all. */
const QUIET_MS = 300;
/** Everyone may write here: tenants' processes have users of their own. */
const OPEN_DIRECTORY = 0o1777;

type Called = {url: string; offsets: number[]};
type Mapped = {map: SourceMap; lineStarts: number[]; directory: string};

/** `file:line:column` of a function in the sources. */
export type FunctionPlace = string;

export class Coverage {
  /** The command of the copied build. */
  readonly cli: string;
  readonly #taken: string;
  readonly #maps = new Map<string, Mapped | null>();
  #turn = 0;

  /** @param directory is emptied first. It lies below the repository, so that the copy finds its packages */
  constructor(directory: string) {
    rmSync(directory, {recursive: true, force: true});
    const dist = join(directory, 'dist');
    this.#taken = join(directory, 'taken');
    cpSync(join(ROOT, 'dist'), dist, {recursive: true});
    mkdirSync(this.#taken);
    chmodSync(this.#taken, OPEN_DIRECTORY);
    this.#say('start');
    const probe = readFileSync(join(import.meta.dirname, 'probe.mjs'), 'utf8').replace('__DIRECTORY__', this.#taken);
    writeFileSync(join(dist, 'probe.mjs'), probe);
    for (const entry of globSync('{router,egress,worker,isolates,analysis,*.thread}.js', {cwd: dist})) {
      const file = join(dist, entry);
      // An import runs before the module it stands in, wherever it stands; at the end it moves no line.
      writeFileSync(file, `${readFileSync(file, 'utf8')}\nimport './probe.mjs';\n`);
    }
    this.cli = join(dist, 'cli.js');
  }

  /** What ran since the last call. */
  async take(): Promise<Set<FunctionPlace>> {
    const turn = `${++this.#turn}`;
    this.#say(turn);
    let count = -1;
    for (let files = this.#files(turn); files.length > count; files = this.#files(turn)) {
      count = files.length;
      await delay(QUIET_MS);
    }
    const places = new Set<FunctionPlace>();
    for (const file of this.#files(turn)) {
      const called = JSON.parse(readFileSync(join(this.#taken, file), 'utf8')) as Called[];
      for (const {url, offsets} of called) for (const place of this.#places(url, offsets)) places.add(place);
      rmSync(join(this.#taken, file));
    }
    return places;
  }

  #files(turn: string): string[] {
    return readdirSync(this.#taken).filter(name => name.startsWith(`${turn}-`) && name.endsWith('.json'));
  }

  #say(turn: string): void {
    const file = join(this.#taken, 'turn');
    writeFileSync(`${file}.next`, turn);
    renameSync(`${file}.next`, file);
  }

  #places(url: string, offsets: number[]): FunctionPlace[] {
    const mapped = this.#mapped(fileURLToPath(url));
    if (mapped === null) return [];
    return offsets.flatMap(offset => {
      const line = lineOf(mapped.lineStarts, offset);
      const entry = mapped.map.findEntry(line, offset - mapped.lineStarts[line]!);
      if (!('originalSource' in entry)) return [];
      const file = relative(ROOT, resolve(mapped.directory, entry.originalSource));
      if (file.startsWith('..') || file.includes('node_modules')) return [];
      return [`${file}:${entry.originalLine}:${entry.originalColumn}`];
    });
  }

  /** Null: of no map, like the probe itself. */
  #mapped(file: string): Mapped | null {
    const known = this.#maps.get(file);
    if (known !== undefined) return known;
    const text = readFileSync(file, 'utf8');
    const link = /^\/\/# sourceMappingURL=(.+)$/m.exec(text);
    const built = join(ROOT, 'dist');
    const mapped =
      link === null
        ? null
        : {
            map: new SourceMap(JSON.parse(readFileSync(join(dirname(file), link[1]!), 'utf8'))),
            lineStarts: [0, ...Array.from(text.matchAll(/\n/g), ({index}) => index + 1)],
            // Maps name sources from where they were built.
            directory: built,
          };
    this.#maps.set(file, mapped);
    return mapped;
  }
}

function lineOf(starts: readonly number[], offset: number): number {
  let low = 0;
  let high = starts.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (starts[middle]! <= offset) low = middle;
    else high = middle - 1;
  }
  return low;
}
