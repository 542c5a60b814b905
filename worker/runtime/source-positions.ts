/**
 * Maps stack traces to their authors' files: positions in the bundle become positions in the project's sources. This
 * runs only after a failure, never for a call that succeeds.
 */
import {originalPositionFor, TraceMap} from '@jridgewell/trace-mapping';
import type {RealmError} from './guest/host-call.ts';
import {ERROR_STACK_CHARS_MAX} from './guest/limits.ts';
import {LOG_STACK_FRAMES_MAX, SOURCE_MAP_CHARS_MAX, SOURCE_MAPS_KEEP, STACK_FRAMES_SHOWN} from './limits.ts';

/** Our own sources in a bundle, and those of packages. */
const SDK_SOURCE = /^svc:/;
const PACKAGE_SOURCE = /(?:^|\/)node_modules\//;
const FRAME = /^ {4}at (?:(.*?) \()?([^()\s]+):(\d+):(\d+)\)?$/;
/** A frame of a printed stack, perhaps inside another value. */
const LINE_FRAME = /^( +)at (?:([^(]*) \()?([^()\s]+):(\d+):(\d+)\)?(.*)$/;
const FRAME_IN_LINE = /\n +at /;

export class SourcePositions {
  readonly #mapOf: (path: string) => string | null;
  /**
   * The most recently used one is last. Files without a map are not cached, because user code can name files freely.
   */
  readonly #maps = new Map<string, TraceMap | null>();

  /** @param mapOf returns the source map of a file of the bundle, as JSON text */
  constructor(mapOf: (path: string) => string | null) {
    this.#mapOf = mapOf;
  }

  /** `Uncaught Error: boom\n    at handler (../svc/file.ts:3:9)\n` */
  describe({name, message, stack}: RealmError): string {
    const title = name === '' ? `Uncaught ${message}` : `Uncaught ${name}: ${message}`;
    const frames = stack === null ? [] : this.#frames(stack);
    return [title, ...frames, ''].join('\n');
  }

  /** The source of a position in the bundle; null if it is not in the project. */
  find(path: string, line: number, column: number): {file: string; line: number; column: number} | null {
    const map = this.#map(path);
    if (map === null) return null;
    const {
      source,
      line: sourceLine,
      column: sourceColumn,
    } = originalPositionFor(map, {line, column: Math.max(0, column - 1)});
    if (source === null || SDK_SOURCE.test(source)) return null;
    return {file: source, line: sourceLine, column: sourceColumn + 1};
  }

  /** The project's files that are part of a bundled file. */
  sourcesOf(path: string): string[] {
    const sources = (this.#map(path)?.sources ?? []).filter(source => source !== null);
    return sources.filter(source => !SDK_SOURCE.test(source) && !PACKAGE_SOURCE.test(source));
  }

  /** The module's own file, as named by its source map: `svc/messages.ts`. */
  fileOf(module: string): string {
    const isIt = (file: string) => file.replace(/\.[^./]+$/, '').endsWith(`/${module}`);
    const files = this.sourcesOf(`${module}.js`).filter(isIt);
    return files.sort((a, b) => a.length - b.length)[0] ?? `svc/${module}`;
  }

  /** The innermost frame in the project, or otherwise in a package that it uses; null: there is none. */
  first(stack: string | null): {file: string; line: number} | null {
    let inPackage: {file: string; line: number} | null = null;
    for (const text of (stack ?? '').slice(0, ERROR_STACK_CHARS_MAX).split('\n')) {
      const match = FRAME.exec(text);
      const found = match === null ? null : this.find(match[2]!, Number(match[3]), Number(match[4]));
      if (found === null) continue;
      if (!PACKAGE_SOURCE.test(found.file)) return found;
      inPackage ??= found;
    }
    return inPackage;
  }

  /** Console lines: their stack frames get positions in the sources, and the kernel's frames are removed. */
  inLines(lines: string[]): string[] {
    if (!lines.some(line => FRAME_IN_LINE.test(line))) return lines;
    let framesLeft = LOG_STACK_FRAMES_MAX;
    const shown = (text: string): string[] => {
      const match = framesLeft > 0 ? LINE_FRAME.exec(text) : null;
      if (match === null) return [text];
      framesLeft--;
      const [, indent = '', name = '', path = '', line = '', column = '', after = ''] = match;
      if (SDK_SOURCE.test(path)) return after === '' ? [] : [indent + after.trimStart()];
      const found = this.find(path, Number(line), Number(column));
      return [found === null ? text : indent + frameText(name, found) + after];
    };
    return lines.map(line => (FRAME_IN_LINE.test(line) ? line.split('\n').flatMap(shown).join('\n') : line));
  }

  #frames(stack: string): string[] {
    const frames: string[] = [];
    for (const text of stack.slice(0, ERROR_STACK_CHARS_MAX).split('\n')) {
      const match = FRAME.exec(text);
      if (match === null) continue;
      const [, name = '', path = '', line = '', column = ''] = match;
      const found = this.find(path, Number(line), Number(column));
      if (found === null) continue; // the kernel's, or a package's without a map
      frames.push(`    ${frameText(name, found)}`);
      if (frames.length === STACK_FRAMES_SHOWN) break;
    }
    return frames;
  }

  #map(path: string): TraceMap | null {
    const known = this.#maps.get(path);
    if (known !== undefined) {
      this.#maps.delete(path);
      this.#maps.set(path, known);
      return known;
    }
    const text = this.#mapOf(path);
    if (text === null) return null;
    const map = text.length > SOURCE_MAP_CHARS_MAX ? null : readMap(text);
    this.#maps.set(path, map);
    const [oldest] = this.#maps.keys();
    if (this.#maps.size > SOURCE_MAPS_KEEP) this.#maps.delete(oldest!);
    return map;
  }
}

/** Null: it is not a source map. The original error must be reported nevertheless. */
function readMap(text: string): TraceMap | null {
  try {
    return new TraceMap(text);
  } catch {
    return null;
  }
}

function frameText(name: string, {file, line, column}: {file: string; line: number; column: number}): string {
  const at = `../${file}:${line}:${column}`;
  return name === '' ? `at ${at}` : `at ${readable(name)} (${at})`;
}

/** Shortens `Object.handler` and `Function.handler [as _handler]` to `handler`. */
function readable(name: string): string {
  return name.replace(/^(async )?(?:Object|Module|Function)\./, '$1').replace(/ \[as [^\]]+\]$/, '');
}
