/**
 * Stack traces as their authors know them: positions in the bundle's files become positions in the project's sources. Done
 * when something failed, never on the way of a call that succeeds.
 */
import {originalPositionFor, TraceMap} from '@jridgewell/trace-mapping';
import type {RealmError} from './guest/host-call.ts';
import {ERROR_STACK_CHARS_MAX} from './guest/limits.ts';
import {LOG_STACK_FRAMES_MAX, SOURCE_MAP_CHARS_MAX, SOURCE_MAPS_KEEP, STACK_FRAMES_SHOWN} from './limits.ts';

/** Sources of ours in a bundle, and of packages. */
const SDK_SOURCE = /^svc:/;
const PACKAGE_SOURCE = /(?:^|\/)node_modules\//;
const FRAME = /^ {4}at (?:(.*?) \()?([^()\s]+):(\d+):(\d+)\)?$/;
/** A frame of a stack that was printed, maybe as a member of something else. */
const LINE_FRAME = /^( +)at (?:([^(]*) \()?([^()\s]+):(\d+):(\d+)\)?(.*)$/;
const FRAME_IN_LINE = /\n +at /;

export class SourcePositions {
  readonly #mapOf: (path: string) => string | null;
  /** The one used last is the last. What has no map is not kept: user code names files as it likes. */
  readonly #maps = new Map<string, TraceMap | null>();

  /** @param mapOf the source map of a file of the bundle, as JSON text */
  constructor(mapOf: (path: string) => string | null) {
    this.#mapOf = mapOf;
  }

  /** `Uncaught Error: boom\n    at handler (../svc/file.ts:3:9)\n` */
  describe({name, message, stack}: RealmError): string {
    const title = name === '' ? `Uncaught ${message}` : `Uncaught ${name}: ${message}`;
    const frames = stack === null ? [] : this.#frames(stack);
    return [title, ...frames, ''].join('\n');
  }

  /** Where a position in the bundle comes from; null when it is not the project's. */
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

  /** The project's files that went into a file of the bundle. */
  sourcesOf(path: string): string[] {
    const sources = (this.#map(path)?.sources ?? []).filter(source => source !== null);
    return sources.filter(source => !SDK_SOURCE.test(source) && !PACKAGE_SOURCE.test(source));
  }

  /** The file that is the module itself, as far as its source map names it: `svc/messages.ts`. */
  fileOf(module: string): string {
    const isIt = (file: string) => file.replace(/\.[^./]+$/, '').endsWith(`/${module}`);
    const files = this.sourcesOf(`${module}.js`).filter(isIt);
    return files.sort((a, b) => a.length - b.length)[0] ?? `svc/${module}`;
  }

  /** Where the innermost frame of the project is, or else of a package it uses; null: there is none. */
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

  /** Console lines: frames in them get positions in the sources, and those of the kernel are left out. */
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

/** Null: it is no source map, which is no reason to keep back the error that is being told. */
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

/** `Object.handler` and `Function.handler [as _handler]` say no more than `handler`. */
function readable(name: string): string {
  return name.replace(/^(async )?(?:Object|Module|Function)\./, '$1').replace(/ \[as [^\]]+\]$/, '');
}
